package slackdev

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	maxPostText   = 40000
	maxUpdateText = 4000
	maxMarkdown   = 12000
	maxMetadata   = 16 << 10
)

// draft is the content of a message an app wants to store.
type draft struct {
	text     string
	blocks   json.RawMessage
	metadata *Metadata

	hasText, hasBlocks, hasMetadata bool
}

// readDraft checks text, blocks, markdown_text and metadata.
func (w *Workspace) readDraft(a args, maxText int) (draft, error) {
	d := draft{text: a.str("text"), hasText: a.has("text"), hasMetadata: a.has("metadata")}
	if err := w.readBlocks(a, &d); err != nil {
		return d, err
	}
	if md := a.str("markdown_text"); md != "" {
		if d.text != "" || d.blocks != nil {
			return d, fail("markdown_text_conflict")
		}
		if units(md) > maxMarkdown {
			return d, fail("msg_too_long")
		}
		d.text, d.hasText, d.hasBlocks = md, true, true
		d.blocks = encode([]any{map[string]any{"type": "markdown", "block_id": shortID(), "text": md}})
	}
	if units(d.text) > maxText {
		return d, fail("msg_too_long")
	}
	return d, readMetadata(a, &d)
}

func (w *Workspace) readBlocks(a args, d *draft) error {
	if !a.has("blocks") || a.values["blocks"] == "" {
		return nil
	}
	v, ok := a.nested("blocks")
	if !ok {
		return fail("invalid_blocks_format")
	}
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return fail("invalid_blocks_format")
	}
	d.hasBlocks = true
	if len(list) == 0 {
		return nil
	}
	if messages := w.kit.checkMessage(list); messages != nil {
		return invalid("invalid_blocks", messages)
	}
	if tables(list) > 1 {
		// One table per message, says docs.slack.dev/reference/block-kit/blocks/table-block, else invalid_attachments.
		return invalid("invalid_attachments", []string{"[ERROR] only_one_table_allowed"})
	}
	fillIDs(list)
	if blocksSize(list) > maxBlocksSize {
		return fail("msg_blocks_too_long")
	}
	d.blocks = encode(list)
	return nil
}

// readMetadata checks the event type and the shape of the payload.
func readMetadata(a args, d *draft) error {
	if !d.hasMetadata || a.values["metadata"] == "" {
		return nil
	}
	v, ok := a.nested("metadata")
	m, isObject := v.(map[string]any)
	if !ok || !isObject {
		return fail("invalid_metadata_format")
	}
	if len(encode(m)) > maxMetadata {
		return fail("metadata_too_large")
	}
	kind, payload := str(m["event_type"]), m["event_payload"]
	if kind == "" && (payload == nil || len(m) == 0) {
		return nil
	}
	object, isObject := payload.(map[string]any)
	if kind == "" || !isObject && payload != nil {
		return fail("invalid_metadata_format")
	}
	d.metadata = &Metadata{EventType: kind, EventPayload: object}
	return nil
}

func (w *Workspace) fromDraft(d draft) *Message {
	return &Message{
		User: w.cfg.App.BotUserID, BotID: w.cfg.App.BotID, appID: w.cfg.App.ID,
		Text: d.text, Blocks: d.blocks, Metadata: d.metadata, UnfurlLinks: true, UnfurlMedia: true,
	}
}

// postable finds the channel an app wants to write to; a person's id stands for
// the direct message with them.
func (w *Workspace) postable(id string) (*conversation, error) {
	if u, ok := w.users[id]; ok {
		if u.Deleted {
			return nil, fail("channel_not_found")
		}
		return w.openDM(id), nil
	}
	c, err := w.conversation(id)
	switch {
	case err != nil:
		return nil, err
	case c.Archived:
		return nil, fail("is_archived")
	case !c.BotMember && (w.cfg.Scopes == nil || w.needScope("chat:write.public") != nil):
		return nil, fail("not_in_channel")
	case c.AdminsPost:
		return nil, fail("restricted_action")
	}
	return c, nil
}

// empty reports whether a message has nothing to show. A text of white space alone is none, as apps have found:
// https://github.com/NousResearch/hermes-agent/pull/52672.
func (d draft) empty() bool { return strings.TrimSpace(d.text) == "" && d.blocks == nil }

func (w *Workspace) chatPostMessage(a args) (reply, error) {
	if err := a.required("channel"); err != nil {
		return nil, err
	}
	c, err := w.postable(a.str("channel"))
	if err != nil {
		return nil, err
	}
	d, err := w.readDraft(a, maxPostText)
	if err != nil {
		return nil, err
	}
	if d.empty() {
		return nil, fail("no_text")
	}
	threadTS, err := replyTarget(c, a)
	if err != nil {
		return nil, err
	}
	m := w.fromDraft(d)
	m.ThreadTS, m.Broadcast = threadTS, threadTS != "" && a.flag("reply_broadcast", false)
	m.UnfurlLinks, m.UnfurlMedia = a.flag("unfurl_links", true), a.flag("unfurl_media", true)
	w.add(c, m)
	w.emitMessage(c, m)
	return reply{"channel": c.ID, "ts": m.TS, "message": w.messageObject(c, m, true)}, nil
}

// replyTarget checks thread_ts. A parent that does not exist (any more) makes
// Slack post outside the thread without an error:
// https://github.com/slackapi/python-slack-events-api/issues/87.
func replyTarget(c *conversation, a args) (string, error) {
	ts := a.str("thread_ts")
	if a.has("thread_ts") && ts == "" && a.values["thread_ts"] != "" {
		return "", fail("invalid_thread_ts") // a number, which lost its digits
	}
	parent, ok := c.byTS[ts]
	switch {
	case ts == "" || !ok:
		return "", nil
	case parent.ThreadTS != "" && parent.ThreadTS != parent.TS:
		return "", fail("cannot_reply_to_message")
	}
	return ts, nil
}

func (w *Workspace) chatPostEphemeral(a args) (reply, error) {
	if err := a.required("channel", "user"); err != nil {
		return nil, err
	}
	c, err := w.postable(a.str("channel"))
	if err != nil {
		return nil, err
	}
	user := a.str("user")
	if !slices.Contains(c.Members, user) {
		return nil, fail("user_not_in_channel")
	}
	d, err := w.readDraft(a, maxPostText)
	if err != nil {
		return nil, err
	}
	if d.empty() {
		return nil, fail("no_text")
	}
	thread := a.str("thread_ts")
	if thread != "" && !c.active(thread) {
		// The page of the method about thread_ts: "Ephemeral messages in threads are only shown if there is already an
		// active thread." There is no error: nobody sees the message, and the app is not told.
		return reply{"message_ts": w.ids.ts()}, nil
	}
	m := w.addEphemeral(user, c.ID, thread, d)
	return reply{"message_ts": m.TS}, nil
}

// active reports whether there is a thread: whether the message ts has a reply.
func (c *conversation) active(ts string) bool {
	return slices.ContainsFunc(c.messages, func(m *Message) bool { return m.ThreadTS == ts && m.TS != ts })
}

func (w *Workspace) chatUpdate(a args) (reply, error) {
	c, m, err := w.ownMessage(a, "cant_update_message")
	if err != nil {
		return nil, err
	}
	switch {
	case c.Archived:
		return nil, fail("is_inactive")
	case m.streaming == streamRunning && time.Since(m.stream.began) < w.cfg.StreamLife:
		return nil, fail("streaming_state_conflict")
	}
	d, err := w.readDraft(a, maxUpdateText)
	if err != nil {
		return nil, err
	}
	if d.empty() {
		return nil, fail("no_text")
	}
	before := w.messageObject(c, m, true)
	w.revise(m, d)
	w.emitChanged(c, m, before)
	return reply{"channel": c.ID, "ts": m.TS, "text": m.Text, "message": w.messageObject(c, m, true)}, nil
}

// revise replaces the content of a message. Text without blocks removes the
// blocks; metadata stays unless it is given.
func (w *Workspace) revise(m *Message, d draft) {
	if d.hasText {
		m.Text = d.text
	}
	m.Blocks = d.blocks
	if d.hasMetadata {
		m.Metadata = d.metadata
	}
	m.Edited = true
	m.Revision++
}

func (w *Workspace) chatDelete(a args) (reply, error) {
	c, m, err := w.ownMessage(a, "cant_delete_message")
	if err != nil {
		return nil, err
	}
	w.erase(c, m)
	return reply{"channel": c.ID, "ts": m.TS}, nil
}

// ownMessage finds the app's message that channel and ts name.
func (w *Workspace) ownMessage(a args, denied string) (*conversation, *Message, error) {
	if err := a.required("channel", "ts"); err != nil {
		return nil, nil, err
	}
	c, err := w.conversation(a.str("channel"))
	if err != nil {
		return nil, nil, err
	}
	m, ok := c.byTS[a.str("ts")]
	switch {
	case !ok:
		return nil, nil, fail("message_not_found")
	case m.BotID != w.cfg.App.BotID:
		return nil, nil, fail(denied)
	}
	return c, m, nil
}

func (w *Workspace) chatGetPermalink(a args) (reply, error) {
	if err := a.required("channel", "message_ts"); err != nil {
		return nil, err
	}
	c, err := w.conversation(a.str("channel"))
	if err != nil {
		return nil, err
	}
	m, ok := c.byTS[a.str("message_ts")]
	if !ok {
		return nil, fail("message_not_found")
	}
	link := fmt.Sprintf(
		"https://%s.slack.com/archives/%s/p%s", w.cfg.Team.Domain, c.ID, strings.ReplaceAll(m.TS, ".", ""))
	if m.ThreadTS != "" && m.ThreadTS != m.TS {
		link += "?thread_ts=" + m.ThreadTS + "&cid=" + c.ID
	}
	return reply{"channel": c.ID, "permalink": link}, nil
}
