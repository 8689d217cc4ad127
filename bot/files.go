package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/approvals"
	"countersign/internal/visible"
)

// attachment is a file in a message. See https://docs.slack.dev/reference/objects/file-object.
type attachment struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Type     string `json:"mimetype"`
	Size     int64  `json:"size"`
	URL      string `json:"url_private"`
	Mode     string `json:"mode"` // tombstone: deleted
	External bool   `json:"is_external"`
}

// mostAttached is how many files of a message are spoken of.
const mostAttached = 20

// files returns what is attached to a message.
func files(all []attachment) []approvals.File {
	if len(all) > mostAttached {
		all = all[:mostAttached]
	}
	var out []approvals.File
	for _, a := range all {
		name := a.Name
		if name == "" {
			name = a.Title
		}
		f := approvals.File{
			ID: label(a.ID, 40), Name: label(name, 100), Type: label(a.Type, 100), Size: a.Size, URL: a.URL,
		}
		if a.External || a.Mode == "tombstone" || a.Mode == "hidden_by_limit" {
			f.URL = ""
		}
		out = append(out, f)
	}
	return out
}

// fileHelp says to somebody who sent files and no words that nothing came of it.
func fileHelp(all []approvals.File) phrase {
	if len(all) == 0 {
		return nil
	}
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.String()
	}
	return wordsFilesAlone(strings.Join(names, ", "))
}

// textTypes are the types of files that are read beside text/*.
var textTypes = []string{
	"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
	"application/javascript", "application/x-javascript", "application/typescript", "application/sql",
	"application/x-sh", "application/x-shellscript", "application/csv", "application/x-ndjson",
}

func isText(kind string) bool {
	kind, _, err := mime.ParseMediaType(kind)
	return err == nil && (strings.HasPrefix(kind, "text/") || slices.Contains(textTypes, kind))
}

// scopeFiles is asked for optionally: without it files are named and not read.
const scopeFiles = "files:read"

// ReadFile fetches a small text file that somebody attached. See approvals.Reader and
// https://docs.slack.dev/messaging/working-with-files: the address takes the bot token, which goes to Slack's own hosts
// alone and follows no redirection; without the right Slack answers with a page to sign in at.
func (b *Bot) ReadFile(ctx context.Context, ws approvals.WorkspaceID, f approvals.File, most int) (string, error) {
	id, err := b.client.inWorkspace(ctx, ws)
	if err != nil {
		return "", fmt.Errorf("read file: %w", err)
	}
	cannot := func(why string) (string, error) { return "", &approvals.UnreadableError{Why: why} }
	address, err := url.Parse(f.URL)
	switch {
	case f.URL == "" || err != nil:
		return cannot(wordsFileGone)
	case !isText(f.Type):
		return cannot(wordsFileNotText)
	case f.Size > int64(most):
		return cannot(wordsFileTooLong(most >> 10))
	case len(id.scopes) > 0 && !slices.Contains(id.scopes, scopeFiles):
		b.warn.once(scopeFiles, func() {
			b.log.Warn("files are not read: the Slack app lacks a scope", "scope", scopeFiles)
		})
		return cannot(wordsFileNoRight)
	case !b.hooks.fileHost(address):
		return cannot(wordsFileNotSlack)
	}
	text, err := b.hooks.fetch(ctx, b.client.token, address, most)
	switch {
	case errors.Is(err, errTooMuch):
		return cannot(wordsFileTooLong(most >> 10))
	case errors.Is(err, errRefused):
		return cannot(wordsFileRefused)
	case err != nil:
		return "", fmt.Errorf("read file: %w", err)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return cannot(wordsFileNotText)
	}
	text, _ = visible.Text(strings.ReplaceAll(text, "\r\n", "\n"), visible.Source)
	return text, nil
}

var (
	errTooMuch = errors.New("too long")
	errRefused = errors.New("not handed out")
)

// fileHost reports whether Slack keeps files at the address, or the server that the Web API was configured to be.
func (h *hookSender) fileHost(u *url.URL) bool {
	if u.User != nil {
		return false
	}
	if u.Scheme == h.api.Scheme && u.Host == h.api.Host {
		return true
	}
	return u.Scheme == "https" && (u.Host == "files.slack.com" || u.Host == "files.slack-gov.com")
}

// fetch reads a file of at most the given number of bytes. Its errors hold no address.
func (h *hookSender) fetch(ctx context.Context, token string, address *url.URL, most int) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return "", errRefused
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := h.client.Do(req)
	if err != nil {
		return "", withoutAddress(err)
	}
	defer resp.Body.Close()
	if after, limit := limited(statusError(resp)); limit {
		return "", &approvals.RetryError{After: after, Err: errors.New("asked by Slack to wait")}
	}
	switch {
	case resp.StatusCode >= 500:
		return "", fmt.Errorf("HTTP %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK || signIn(resp):
		return "", errRefused
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	switch {
	case err != nil:
		return "", withoutAddress(err)
	case len(raw) > most:
		return "", errTooMuch
	}
	return string(raw), nil
}

// signIn reports whether the answer is Slack's page for people who are not signed in, in place of a file. Files
// themselves come as something to be saved.
func signIn(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "text/html" && resp.Header.Get("Content-Disposition") == ""
}
