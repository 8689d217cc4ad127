package testrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/slackdev"
)

// read has the store read through the door that the command line uses: the bot's socket, or the file once it has
// stopped.
func (w *world) read(ctx context.Context, fn func(control.Desk) error) error {
	desk, err := control.Open(ctx, control.Config{URL: "bolt:" + w.storePath(), Path: w.storePath(),
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("read the store: %w\n%s", err, w.program().LogTail())
	}
	return errors.Join(fn(desk), desk.Close())
}

// trail is the audit trail as it stands.
func (w *world) trail(ctx context.Context) (trail []*approvals.AuditEntry, err error) {
	err = w.read(ctx, func(desk control.Desk) error {
		return desk.ExportAudit(ctx, func(e *approvals.AuditEntry) error { trail = append(trail, e); return nil })
	})
	return trail, err
}

// request reads one request with its arguments and decisions.
func (w *world) request(ctx context.Context, id approvals.RequestID) (r *approvals.Request, err error) {
	err = w.read(ctx, func(desk control.Desk) error {
		var err error
		r, err = desk.Request(ctx, id)
		return err
	})
	return r, err
}

// heads are all requests of the store, oldest first.
func (w *world) heads(ctx context.Context) (all []*approvals.RequestHead, err error) {
	err = w.read(ctx, func(desk control.Desk) error {
		var cursor control.Cursor
		for more := true; more; {
			var page []*approvals.RequestHead
			var err error
			if page, more, err = desk.Requests(ctx, control.Query{}, cursor, 0); err != nil || len(page) == 0 {
				return err
			}
			all = append(all, page...)
			cursor = control.CursorAt(page[len(page)-1])
		}
		return nil
	})
	return all, err
}

// cardEvent is the metadata of a message that shows a request.
const cardEvent = "countersign_approval"

// requestOf returns the request that a message shows; empty for other messages.
func requestOf(m slackdev.Message) approvals.RequestID {
	if m.Metadata == nil || m.Metadata.EventType != cardEvent {
		return ""
	}
	id, _ := m.Metadata.EventPayload["request"].(string)
	return approvals.RequestID(id)
}

// messages are all of the workspace that everybody in a conversation sees, by their time.
func (w *world) messages() (all []slackdev.Message) {
	for _, c := range w.file.Channels {
		all = append(all, w.workspace.Messages(c.ID)...)
	}
	for _, p := range w.file.People {
		all = append(all, w.workspace.Messages(w.workspace.DM(p.ID))...)
	}
	slices.SortStableFunc(all, func(a, b slackdev.Message) int { return strings.Compare(a.TS, b.TS) })
	return all
}

// copies are the messages that show a request, the first one first.
func (w *world) copies(id approvals.RequestID) []slackdev.Message {
	return slices.DeleteFunc(w.messages(), func(m slackdev.Message) bool { return requestOf(m) != id })
}

// ofBot reports whether the bot wrote the message.
func (w *world) ofBot(m slackdev.Message) bool { return m.User == w.workspace.Config().App.BotUserID }

// person names whoever an audit entry or a decision is by.
func (w *world) person(id string) string {
	_, local, ok := strings.Cut(id, "/")
	if !ok {
		local = id
	}
	for name, p := range w.file.People {
		if p.ID == local {
			return name
		}
	}
	return local
}

// runOf returns the newest status of a run in the trail as one of testfile.RunWords, or what it does instead.
func runOf(trail []*approvals.AuditEntry, run approvals.RunID) string {
	for _, e := range slices.Backward(trail) {
		word, ok := strings.CutPrefix(string(e.Action), "run.")
		if e.Run == run && ok && e.Action != approvals.AuditInputQueued {
			return word
		}
	}
	return "not there"
}

// datum is a member of an entry's data, as text.
func datum(e *approvals.AuditEntry, name string) string {
	var data map[string]json.RawMessage
	if json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(data[name], &text) == nil {
		return text
	}
	return string(data[name])
}
