package slackdev

import (
	"context"
	"fmt"
)

// Delete takes back a message as a person: their own, or, as an administrator, anybody's. It raises message_deleted. A
// message that has replies leaves a mark of its own in its place, so that its thread goes on; see erase.
func (w *Workspace) Delete(ctx context.Context, user, channel, ts string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, c, err := w.writer(ctx, user, channel)
	if err != nil {
		return err
	}
	m, ok := c.byTS[ts]
	if !ok || m.User != user && !u.Admin {
		return fmt.Errorf("message %s of %s: %w", ts, user, ErrNoMessage)
	}
	w.erase(c, m)
	w.touch()
	return nil
}

// erase deletes a message. One with replies becomes what Slack calls a tombstone, and its thread goes on: its shape is
// in https://github.com/hackclub/toriel/pull/238, and that the event is then message_changed in
// https://github.com/openclaw/openclaw/pull/22035. w.mu is held.
func (w *Workspace) erase(c *conversation, m *Message) {
	before := w.messageObject(c, m, false)
	if !c.active(m.TS) {
		w.remove(m)
		w.emitDeleted(c, m, before)
		return
	}
	m.User, m.BotID, m.appID, m.clientMsgID = "USLACKBOT", "", "", ""
	m.Text, m.Blocks, m.Metadata, m.Deleted = "This message was deleted.", nil, nil, true
	m.Revision++
	w.emitChanged(c, m, before)
}
