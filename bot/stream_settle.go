package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// streamEvent is the metadata type of a stream that has ended without an answer.
const streamEvent = "countersign_progress"

// streamMetadata marks a stream of the run that says how it ended.
func streamMetadata(run approvals.RunID) slack.SlackMetadata {
	return slack.SlackMetadata{EventType: streamEvent, EventPayload: map[string]any{"run": string(run)}}
}

// settleStreams ends what shows the run of a notification that is about to be delivered, so that nothing half is left
// that looks like an answer. It returns the message whose place the answer takes; empty: the answer is posted.
func (b *Bot) settleStreams(ctx context.Context, n *approvals.Notification) (ts string, err error) {
	if n.Streams == 0 || n.Copy != "" {
		return "", nil
	}
	r, err := b.service.Run(ctx, n.Workspace, n.Run)
	if errors.Is(err, approvals.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find the run of a stream: %w", err)
	}
	if !r.Status.Ended() && (n.Kind != approvals.NotifyCard || r.Status != approvals.RunWaiting) {
		return "", nil // it goes on
	}
	all, err := b.streamsOf(ctx, n, r)
	if err != nil {
		return "", err
	}
	for i, s := range all {
		if s.closed || s.ts == "" {
			continue
		}
		if last := i == len(all)-1; last && n.Kind == approvals.NotifyAnswer {
			return s.ts, b.endStream(ctx, s)
		}
		if err := b.closeStream(ctx, s, s.cutOff(), s.closing()); err != nil {
			return "", err
		}
	}
	return "", nil
}

// streamsOf returns the streams of the run, in order: those of this process, which write nothing any more, and, should
// others have begun some, those that are found in the thread.
func (b *Bot) streamsOf(ctx context.Context, n *approvals.Notification, r *approvals.Run) ([]*stream, error) {
	all, sought := b.streams.of(r.ID, n.Streams)
	unknown := len(all) < n.Streams
	for _, s := range all {
		if err := s.stopWriting(ctx, r.Status.Ended()); err != nil {
			return nil, err
		}
		unknown = unknown || s.ts == "" && !s.closed
	}
	if !unknown || sought {
		return all, nil
	}
	b.doubts.add(n.ID) // whoever began it may have posted the answer too
	found, err := b.findStreams(ctx, n, r)
	if word, refused := refusal(err); refused {
		b.log.Warn("cannot look for what was shown of a run", "run", r.ID, "channel", n.Place.Channel, "reason", word)
		return all, nil
	}
	if err == nil {
		b.streams.found(r.ID, found, n.Streams)
	}
	return found, err
}

// stopWriting returns once nothing more is written to the stream. While the run only waits it ends by itself.
func (s *stream) stopWriting(ctx context.Context, now bool) error {
	if now {
		s.b.streams.mu.Lock()
		select {
		case <-s.quit:
		default:
			close(s.quit)
		}
		s.b.streams.mu.Unlock()
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// findStreams looks for streams of the run in its thread.
func (b *Bot) findStreams(ctx context.Context, n *approvals.Notification, r *approvals.Run) (all []*stream, err error) {
	turn := paced{method: methodReplies, channel: n.Place.Channel, what: "streams " + string(n.ID)}
	var there []postedMessage
	err = b.paced(turn, func() error {
		there, err = b.client.own(ctx, n.Place.Channel, b.roots.of(n.Place.Channel, n.Place.Thread), r.Created)
		return err
	})
	if err != nil {
		return nil, err
	}
	over := make(chan struct{})
	close(over)
	for _, m := range there { // in the order in which they stand
		run, _ := m.Metadata.EventPayload["run"].(string)
		closed := m.Metadata.EventType == streamEvent && run == string(r.ID)
		if !closed && !m.halfStream() {
			continue
		}
		s := &stream{
			b: b, run: approvals.FollowedRun{Workspace: r.Workspace, Run: r.ID, Place: n.Place}, ts: m.TS,
			number: len(all) + 1, closed: closed, tasks: newTasks(), done: over, quit: over,
		}
		for _, block := range m.Blocks {
			if block.Task != "" && block.Status == taskStatus[approvals.CallRunning] {
				s.left = append(s.left, cutOff(block.Task, block.Title))
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// halfStream reports whether the message is a stream that does not say how it ended. Slack takes no metadata at the
// start of one, and does not say whether it keeps the ids of a stream's blocks; so it is known by its first words, and
// by having no metadata yet: everything else that the bot posts has some. A thread has one run at a time, and those
// before it have settled their streams.
func (m postedMessage) halfStream() bool {
	if m.Metadata.EventType != "" || len(m.Blocks) == 0 {
		return false
	}
	for _, e := range m.Blocks[0].Elements {
		if text, _ := e.Text.(string); text == wordsStreamLead || text == wordsStreamLeadBefore {
			return true
		}
	}
	return false
}

// closeStream ends a stream with words about how it ended, below what is there. Where Slack has ended it already, the
// words take the place of what is there.
func (b *Bot) closeStream(ctx context.Context, s *stream, last []any, words string) error {
	end := smallPrint(words)
	if !s.ended {
		err := b.stopStream(ctx, s, last, end)
		switch word, _ := refusal(err); {
		case err == nil:
			s.ended, s.closed = true, true
			return nil
		case gone(err):
			s.closed = true
			return nil
		case !streamEnded(word):
			return err
		}
		s.ended = true
	}
	p := post{
		text: phrase{words}, blocks: []slack.Block{end},
		metadata: streamMetadata(s.run.Run),
	}
	err := b.repost(ctx, s.run.Place.Channel, s.ts, p)
	if err == nil || gone(err) {
		s.closed = true
		return nil
	}
	return err
}

// endStream makes a stream an ordinary message, which can be changed.
func (b *Bot) endStream(ctx context.Context, s *stream) error {
	if s.ended {
		return nil
	}
	err := b.stopStream(ctx, s, nil, nil)
	if word, _ := refusal(err); err != nil && !streamEnded(word) && !gone(err) {
		return err
	}
	s.ended = true
	return nil
}

// streamEnded reports whether Slack says that a message is not streamed any more.
func streamEnded(word string) bool {
	return word == "message_not_in_streaming_state" || word == "stopped_by_user"
}

func (b *Bot) stopStream(ctx context.Context, s *stream, last []any, end slack.Block) error {
	form := url.Values{"channel": {s.run.Place.Channel}, "ts": {s.ts}}
	if end != nil {
		raw, err := encodeBlocks([]slack.Block{end})
		if err != nil {
			return err
		}
		form.Set("blocks", string(raw))
		if raw, err = json.Marshal(streamMetadata(s.run.Run)); err != nil {
			return fmt.Errorf("encode metadata: %w", err)
		}
		form.Set("metadata", string(raw))
	}
	if len(last) > 0 {
		raw, err := json.Marshal(last)
		if err != nil {
			return fmt.Errorf("encode chunks: %w", err)
		}
		form.Set("chunks", string(raw))
	}
	turn := paced{method: methodStopStream, channel: s.run.Place.Channel, what: "stop " + s.ts}
	return b.paced(turn, func() error {
		_, err := b.client.call(ctx, methodStopStream, b.client.token, form, nil)
		return err
	})
}

// answer delivers what an agent has answered: in the place of what was shown of it, or as messages of its own.
func (b *Bot) answer(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	posts := textPosts(n, answerEvent, wordsEmptyAnswer)
	ts, err := b.settleStreams(ctx, n)
	if err != nil && !leftAlone(err) {
		return approvals.Delivery{}, err
	}
	posts[0].instead = ts
	return b.deliver(ctx, n, posts)
}

// leftAlone reports whether a stream that could not be ended is left as it is: Slack will not have it otherwise.
func leftAlone(err error) bool {
	_, refused := refusal(err)
	return refused
}

// showSession shows, where the agent's session is not shown already, that it works: Slack has a stop button then.
func (b *Bot) showSession(ctx context.Context, p approvals.Place, end approvals.FollowEnd) {
	if p.Direct {
		return // see statuses
	}
	status := "processing"
	switch end {
	case approvals.FollowWaiting:
		status = "suspended"
	case approvals.FollowOver, approvals.FollowAnswered:
		status = "active"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	b.setStatus(ctx, methodSessionStatus, p, status, "")
}
