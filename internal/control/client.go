package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"countersign/approvals"
)

// ErrNotRunning is returned by Dial when nobody listens: the bot does not run.
var ErrNotRunning = errors.New("the bot does not run")

// errOtherVersion explains an answer that cannot be right.
var errOtherVersion = errors.New("is it another version of the program?")

// Client is a Desk at the other end of the socket.
type Client struct {
	http *http.Client
	path string
}

var _ Desk = (*Client)(nil)

// botTime is how long the bot may take to say that it is there. Nobody else can have the file open, so it is waited for
// longer than a replica.
const botTime = 10 * time.Second

// Dial reaches the bot that has the store file open, or returns ErrNotRunning. A bot that does not answer is an error
// of another kind.
func Dial(ctx context.Context, store string) (*Client, error) {
	path, name, err := socketName(store)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return dialWithin(ctx, path, botTime)
	}
	last := fmt.Errorf("%w: no folder for its socket belongs to this user, or to the owner of the store, alone",
		ErrNotRunning)
	for _, folder := range runtimeFolders() {
		if ownedAlone(folder, ownersOf(store)...) != nil {
			continue // nobody can have put one there, or anybody could
		}
		client, err := dialWithin(ctx, filepath.Join(folder, name), botTime)
		if err == nil || !errors.Is(err, ErrNotRunning) {
			return client, err
		}
		last = err
	}
	return nil, last
}

// dialWithin reaches the bot that listens at the path and answers in time.
func dialWithin(ctx context.Context, path string, patience time.Duration) (*Client, error) {
	client, err := dialAt(ctx, path)
	if err != nil {
		return nil, err
	}
	err = client.alive(ctx, patience)
	switch {
	case err == nil:
		return client, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("the bot has not answered at %s for %s: it was stopped, or hangs; continue it, or "+
			"end it and start it again", path, patience)
	}
	return nil, err
}

// dialAt reaches the bot that listens at the path.
func dialAt(ctx context.Context, path string) (*Client, error) {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	probe, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	probe.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", path)
	}}
	return &Client{http: &http.Client{Transport: transport}, path: path}, nil
}

// Close is part of Desk. It releases connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// open sends a request and returns the answer's body.
func (c *Client) open(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://countersign"+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the bot: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &lostError{fmt.Errorf("ask the bot through %s: %w", c.path, err)}
	}
	if resp.StatusCode == http.StatusForbidden {
		defer resp.Body.Close()
		return nil, refusal(resp.Body)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("ask the bot: it answers %s; %w", resp.Status, errOtherVersion)
	}
	return resp.Body, nil
}

// refusal is the error that the bot has answered with.
func refusal(body io.Reader) error {
	var answer result
	if err := json.NewDecoder(io.LimitReader(body, 64<<10)).Decode(&answer); err != nil || answer.Error == nil {
		return fmt.Errorf("ask the bot: %w", ErrNoOperator)
	}
	return answer.Error.err()
}

func (c *Client) call(ctx context.Context, method, path string, body []byte, answer any) error {
	r, err := c.open(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := json.NewDecoder(r).Decode(answer); err != nil {
		return &lostError{fmt.Errorf("read the bot's answer: %w", err)}
	}
	return nil
}

// lostError is of a request whose answer did not come, or not whole: what the bot has done is not known.
type lostError struct{ error }

func (e *lostError) Unwrap() error { return e.error }

// Requests is part of Desk.
func (c *Client) Requests(ctx context.Context, q Query, after Cursor, limit int) (
	page []*approvals.RequestHead, more bool, err error,
) {
	var answer requestsAnswer
	path := "/v1/requests?" + after.on(q.values(), limit).Encode()
	if err := c.call(ctx, http.MethodGet, path, nil, &answer); err != nil {
		return nil, false, err
	}
	if err := answer.Error.err(); err != nil {
		return nil, false, err
	}
	for _, r := range answer.Requests {
		if !q.selects(r) { // a bot that does not know the question yet lists what is pending
			return nil, false, fmt.Errorf("ask the bot: it lists request %s, which was not asked for; %w",
				r.ID, errOtherVersion)
		}
	}
	return answer.Requests, answer.More, nil
}

// Decide is part of Desk. When the bot's answer gets lost, the request is read back; see ErrOutcomeUnknown.
func (c *Client) Decide(ctx context.Context, d approvals.Decision) (*approvals.Request, error) {
	body, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("send decision: %w", err)
	}
	var answer result
	err = c.call(ctx, http.MethodPost, "/v1/decisions", body, &answer)
	if lost, ok := errors.AsType[*lostError](err); ok {
		return c.outcome(ctx, d, lost)
	}
	if err != nil {
		return nil, err
	}
	return received(answer.Request, answer.Masked), answer.Error.err()
}

// Review is part of Desk. When the bot's answer gets lost, the request says whether it has been reviewed.
func (c *Client) Review(
	ctx context.Context, ws approvals.WorkspaceID, id approvals.RequestID, v approvals.Review,
) (*approvals.Request, error) {
	body, err := json.Marshal(review{ws, id, v})
	if err != nil {
		return nil, fmt.Errorf("send review: %w", err)
	}
	var answer result
	err = c.call(ctx, http.MethodPost, "/v1/reviews", body, &answer)
	if lost, ok := errors.AsType[*lostError](err); ok {
		return nil, fmt.Errorf("%w; whether the review is recorded is not known: \"countersign approvals show %s\" "+
			"says it", lost, id)
	}
	if err != nil {
		return nil, err
	}
	return received(answer.Request, answer.Masked), answer.Error.err()
}

// ExportAudit is part of Desk.
func (c *Client) ExportAudit(ctx context.Context, fn func(*approvals.AuditEntry) error) error {
	r, err := c.open(ctx, http.MethodGet, "/v1/audit/entries", nil)
	if err != nil {
		return err
	}
	defer r.Close()
	for d := json.NewDecoder(r); ; {
		var e approvals.AuditEntry
		switch err := d.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the bot broke off; its log says why: %w", err)
		}
		if err := fn(&e); err != nil {
			return err
		}
	}
}

// Backup is part of Desk.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	r, err := c.open(ctx, http.MethodGet, "/v1/backup", nil)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := io.Copy(w, r); err != nil {
		return fmt.Errorf("copy the store: the bot broke off; its log says why: %w", err)
	}
	return nil
}
