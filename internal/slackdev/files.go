package slackdev

import (
	"context"
	"net/http"
	"strconv"
	"strings"
)

// File is something that a person attaches to a message.
type File struct {
	ID      string // F…; made up when empty
	Name    string
	Type    string // MIME type; text/plain when empty
	Content []byte
	// URL is where a file is kept that is not in Slack ("external"); empty for the others.
	URL string
	// Size is what the message says of the size; the length of Content when zero.
	Size int64
}

// PostFiles is Post for a message with files. The files stand in its "files"
// (https://docs.slack.dev/reference/objects/file-object) and it has the subtype file_share
// (https://docs.slack.dev/reference/events/message/file_share); app_mention has the files and no subtype.
func (w *Workspace) PostFiles(
	ctx context.Context, user, channel, text, threadTS string, files ...File,
) (string, error) {
	w.mu.Lock()
	for i := range files {
		setDefault(&files[i].ID, w.ids.next("F"))
		setDefault(&files[i].Type, "text/plain")
		setDefault(&files[i].Size, int64(len(files[i].Content)))
		w.files[files[i].ID] = &files[i]
	}
	w.mu.Unlock()
	return w.say(ctx, user, channel, text, threadTS, files)
}

// fileObjects are files as messages show them.
func (w *Workspace) fileObjects(files []File) []any {
	var out []any
	for _, f := range files {
		address, external := f.URL, f.URL != ""
		if !external {
			address = w.URL() + "files-pri/" + w.cfg.Team.ID + "-" + f.ID + "/" + f.Name
		}
		mode := "hosted"
		if external {
			mode = "external"
		}
		out = append(out, map[string]any{
			"id": f.ID, "name": f.Name, "title": f.Name, "mimetype": f.Type, "size": f.Size, "mode": mode,
			"is_external": external, "url_private": address, "url_private_download": address, "file_access": "visible",
		})
	}
	return out
}

// serveFile is a file's private address. Whoever has no token with files:read is sent to a page to sign in at, as
// https://docs.slack.dev/messaging/working-with-files says of addresses that are asked for without one.
func (w *Workspace) serveFile(rw http.ResponseWriter, r *http.Request) {
	_, id, _ := strings.Cut(r.PathValue("id"), "-")
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	w.mu.Lock()
	f, ok := w.files[id]
	allowed := strings.EqualFold(scheme, "Bearer") && token == w.cfg.BotToken && !w.revoked &&
		w.needScope("files:read") == nil
	w.fetched = append(w.fetched, id)
	w.touch()
	w.mu.Unlock()
	switch {
	case !allowed:
		http.Redirect(rw, r, "/?redir=%2Ffiles-pri%2F"+id, http.StatusFound)
	case !ok:
		http.Error(rw, "file not found", http.StatusNotFound)
	default:
		rw.Header().Set("Content-Type", f.Type)
		rw.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(f.Name))
		rw.Write(f.Content)
	}
}

// Fetched lists the ids of the files whose private address was asked for, in order.
func (w *Workspace) Fetched() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.fetched...)
}
