package slackdev

import (
	"encoding/json"
	"slices"
	"time"
)

// Streams are messages that an app writes piece by piece:
// https://docs.slack.dev/reference/methods/chat.startStream, chat.appendStream and chat.stopStream.

// The states of a streamed message; any other message has none.
const (
	streamRunning = "in_progress"
	streamStopped = "stopped" // by a person
	streamOver    = "completed"
)

// stream is what a message keeps while it is streamed.
type stream struct {
	began  time.Time
	plan   bool // task_display_mode
	blocks []any
	tasks  map[string]map[string]any // by id
}

// The limits of a stream.
const (
	maxTaskText = 256  // of a task's title, which is not documented: the stricter reading of "plain text"
	maxChunks   = 100  // of one call; not documented either
	maxDetails  = 3000 // of a task's details and output
)

// chatStartStream begins a message. A conversation between an app and one person is always a thread there; in a channel
// Slack asks whom the message is for.
func (w *Workspace) chatStartStream(a args) (reply, error) {
	if err := a.required("channel"); err != nil {
		return nil, err
	}
	c, err := w.postable(a.str("channel"))
	if err != nil {
		return nil, err
	}
	if err := w.streamable(c, a); err != nil {
		return nil, err
	}
	thread, err := replyTarget(c, a)
	if err != nil {
		return nil, err
	}
	s := &stream{began: time.Now(), plan: a.str("task_display_mode") == "plan"}
	s.tasks = map[string]map[string]any{}
	m := w.fromDraft(draft{})
	m.stream, m.streaming = s, streamRunning
	if _, err := w.extend(m, a); err != nil {
		return nil, err
	}
	m.ThreadTS, m.UnfurlLinks, m.UnfurlMedia = thread, false, false
	w.add(c, m)
	w.emitMessage(c, m)
	return reply{"channel": c.ID, "ts": m.TS}, nil
}

func (w *Workspace) streamable(c *conversation, a args) error {
	mode := a.str("task_display_mode")
	switch {
	case w.cfg.NoStreams:
		return fail("unknown_method")
	case c.kind() == "mpim" || c.ExtShared: // which kinds it is about is not documented
		return fail("channel_type_not_supported")
	case mode != "" && mode != "timeline" && mode != "plan":
		why := "[ERROR] must be a valid enum value [json-pointer:/task_display_mode]"
		return invalid("invalid_arguments", []string{why})
	case c.im != "" && a.str("thread_ts") == "":
		return invalid("invalid_arguments", []string{"[ERROR] missing required field: thread_ts"})
	case c.im != "":
		return nil
	case a.str("recipient_user_id") == "":
		return fail("missing_recipient_user_id")
	case a.str("recipient_team_id") == "":
		return fail("missing_recipient_team_id")
	}
	if _, ok := w.users[a.str("recipient_user_id")]; !ok {
		return fail("user_not_found")
	}
	return nil
}

func (w *Workspace) chatAppendStream(a args) (reply, error) {
	c, m, err := w.streamed(a)
	if err != nil {
		return nil, err
	}
	if m.streaming == streamStopped {
		return nil, fail("stopped_by_user")
	}
	some, err := w.extend(m, a)
	switch {
	case err != nil:
		return nil, err
	case !some:
		return nil, fail("no_text")
	}
	m.Revision++
	return reply{"channel": c.ID, "ts": m.TS}, nil
}

// chatStopStream ends the stream. What it brings goes below what is there: nothing of that is replaced.
func (w *Workspace) chatStopStream(a args) (reply, error) {
	c, m, err := w.streamed(a)
	if err != nil {
		return nil, err
	}
	if m.streaming == streamStopped {
		return nil, fail("message_not_in_streaming_state")
	}
	d, err := w.readDraft(args{values: only(a.values, "blocks", "metadata")}, maxPostText)
	if err != nil {
		return nil, err
	}
	if _, err := w.extend(m, a); err != nil {
		return nil, err
	}
	if d.blocks != nil {
		var list []any
		if json.Unmarshal(d.blocks, &list) != nil {
			return nil, fail("invalid_blocks_format")
		}
		if err := w.grow(m, slices.Concat(m.stream.blocks, list)); err != nil {
			return nil, err
		}
	}
	if d.hasMetadata {
		m.Metadata = d.metadata
	}
	m.streaming = streamOver
	m.Revision++
	return reply{"channel": c.ID, "ts": m.TS, "message": w.messageObject(c, m, true)}, nil
}

func only(values map[string]any, keys ...string) map[string]any {
	out := map[string]any{}
	for _, k := range keys {
		if v, ok := values[k]; ok {
			out[k] = v
		}
	}
	return out
}

// streamed finds the message that is being streamed, or was stopped by a person. Slack ends a stream about five minutes
// after it began, however much is appended: https://github.com/slackapi/node-slack-sdk/issues/2702.
func (w *Workspace) streamed(a args) (*conversation, *Message, error) {
	c, m, err := w.ownMessage(a, "message_not_owned_by_app")
	if err != nil {
		return nil, nil, err
	}
	if m.streaming == streamRunning && time.Since(m.stream.began) >= w.cfg.StreamLife {
		m.streaming = streamOver
		m.Revision++
	}
	if m.streaming == "" || m.streaming == streamOver {
		return nil, nil, fail("message_not_in_streaming_state")
	}
	return c, m, nil
}

// extend adds what the call brings, and reports whether it brings anything.
func (w *Workspace) extend(m *Message, a args) (some bool, err error) {
	chunks, err := readChunks(a)
	if err != nil || len(chunks) == 0 {
		return false, err
	}
	s := m.stream
	blocks, tasks := slices.Clone(s.blocks), map[string]map[string]any{}
	for _, chunk := range chunks {
		if blocks, err = w.chunk(s, blocks, tasks, chunk); err != nil {
			return false, err
		}
	}
	if err := w.grow(m, blocks); err != nil {
		return false, err
	}
	for id, t := range tasks {
		s.tasks[id] = t
	}
	return true, nil
}

func readChunks(a args) ([]map[string]any, error) {
	var out []map[string]any
	if md := a.str("markdown_text"); md != "" {
		if a.has("chunks") && a.values["chunks"] != "" {
			return nil, fail("invalid_arguments")
		}
		out = append(out, map[string]any{"type": "markdown_text", "text": md})
	}
	v, ok := a.nested("chunks")
	list, isList := v.([]any)
	switch {
	case !ok, v != nil && !isList, len(list) > maxChunks:
		return nil, fail("invalid_chunks")
	}
	for _, item := range list {
		chunk, ok := item.(map[string]any)
		if !ok {
			return nil, fail("invalid_chunks")
		}
		out = append(out, chunk)
	}
	return out, nil
}

// chunk adds one chunk to blocks. A task that was told before changes in its place.
func (w *Workspace) chunk(
	s *stream, blocks []any, tasks map[string]map[string]any, chunk map[string]any,
) ([]any, error) {
	switch chunk["type"] {
	case "markdown_text":
		text := str(chunk["text"])
		if text == "" || units(text) > maxMarkdown {
			return nil, fail("invalid_chunks")
		}
		if n := len(blocks); n > 0 {
			if last, _ := blocks[n-1].(map[string]any); last["type"] == "markdown" {
				return append(blocks[:n-1:n-1], map[string]any{
					"type": "markdown", "block_id": last["block_id"], "text": str(last["text"]) + text,
				}), nil
			}
		}
		return append(blocks, map[string]any{"type": "markdown", "block_id": shortID(), "text": text}), nil
	case "blocks":
		list, _ := chunk["blocks"].([]any)
		if len(list) == 0 || len(list) > maxMessageBlocks {
			return nil, fail("invalid_chunks")
		}
		if messages := w.kit.checkMessage(list); messages != nil {
			return nil, invalid("invalid_blocks", messages)
		}
		for _, b := range list { // whether Slack keeps the app's own ids here is not documented: the stricter reading
			b.(map[string]any)["block_id"] = shortID()
		}
		fillIDs(list)
		return append(blocks, list...), nil
	case "task_update":
		return s.task(blocks, tasks, chunk)
	case "plan_update":
		if n := units(str(chunk["title"])); n == 0 || n > maxTaskText {
			return nil, fail("invalid_chunks")
		}
		return s.planned(blocks, func(p map[string]any) { p["title"] = chunk["title"] }), nil
	}
	return nil, fail("invalid_chunks")
}

// task enters a task_update.
func (s *stream) task(
	blocks []any, tasks map[string]map[string]any, chunk map[string]any,
) ([]any, error) {
	id, title, status := str(chunk["id"]), str(chunk["title"]), str(chunk["status"])
	if id == "" || title == "" || units(title) > maxTaskText ||
		!slices.Contains([]string{"pending", "in_progress", "complete", "error"}, status) ||
		units(str(chunk["details"])+str(chunk["output"])) > maxDetails {
		return nil, fail("invalid_chunks")
	}
	card := map[string]any{
		"type": "task_card", "block_id": shortID(), "task_id": id, "title": title, "status": status,
	}
	for _, key := range []string{"details", "output"} {
		if text := str(chunk[key]); text != "" {
			card[key] = plainRichText(text)
		}
	}
	known := s.tasks[id] != nil || tasks[id] != nil
	tasks[id] = card
	if s.plan {
		return s.planned(blocks, func(p map[string]any) {
			all, _ := p["tasks"].([]any)
			p["tasks"] = put(slices.Clone(all), card, id)
		}), nil
	}
	if !known {
		return append(blocks, card), nil
	}
	return put(slices.Clone(blocks), card, id), nil
}

// put replaces the task card of the id, or appends it.
func put(all []any, card map[string]any, id string) []any {
	for i, b := range all {
		if old, _ := b.(map[string]any); old["task_id"] == id {
			card["block_id"] = old["block_id"]
			all[i] = card
			return all
		}
	}
	return append(all, card)
}

// planned changes the plan, which stands where it first came.
func (s *stream) planned(blocks []any, change func(map[string]any)) []any {
	for i, b := range blocks {
		if old, _ := b.(map[string]any); old["type"] == "plan" {
			p := map[string]any{}
			for k, v := range old {
				p[k] = v
			}
			change(p)
			blocks = slices.Clone(blocks)
			blocks[i] = p
			return blocks
		}
	}
	p := map[string]any{"type": "plan", "block_id": shortID(), "title": "Plan"}
	change(p)
	return append(blocks, p)
}

func plainRichText(text string) map[string]any {
	return map[string]any{"type": "rich_text", "elements": []any{map[string]any{
		"type": "rich_text_section", "elements": []any{map[string]any{"type": "text", "text": text}},
	}}}
}

// grow sets the blocks of a stream, unless they are too many or too long.
func (w *Workspace) grow(m *Message, blocks []any) error {
	switch {
	case len(blocks) > maxMessageBlocks:
		return fail("msg_blocks_too_many")
	case blocksSize(blocks) > maxBlocksSize:
		return fail("msg_blocks_too_long")
	}
	c := &checker{}
	if uniqueBlocks(c, "/blocks", blocks); len(c.messages) > 0 {
		return invalid("invalid_blocks", c.messages)
	}
	m.stream.blocks = blocks
	m.Blocks = nil
	if len(blocks) > 0 {
		m.Blocks = encode(blocks)
	}
	return nil
}

// Streaming says how a streamed message stands: "in_progress", "stopped" by a person, or "completed"; empty for any
// other message.
func (m Message) Streaming() string {
	return m.streaming
}
