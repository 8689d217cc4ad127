package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// The bounds of what a stream shows; Slack takes 50 blocks and about 13,200 characters. Past them the rest is seen with
// the answer.
const (
	streamBlocks = 40
	streamUnits  = 9_000
	streamAhead  = 32 << 10 // bytes that wait to be shown
)

// stream is one message that shows a run. Its own goroutine, follow, is the only one that changes it until done.
type stream struct {
	b    *Bot
	run  approvals.FollowedRun
	feed *approvals.Feed
	quit chan struct{} // closed when the run has come to something that is about to be delivered
	done chan struct{} // closed when nothing more is written

	number int    // within the run; zero before it has begun
	ts     string // empty: nobody knows whether there is a message
	ended  bool   // Slack does not take additions any more
	closed bool   // it says how it ended
	failed bool   // nothing more can be shown

	how    approvals.FollowEnd // once the feed is closed
	unsent []any               // chunks that Slack has put off
	left   []any               // task updates for what another process has shown as running
	text   string              // that waits to be shown
	item   string              // which the text belongs to
	blocks int
	units  int
	tasks  *tasks
}

// follow reads the feed until it is closed, and shows what comes at a pace that Slack takes. Calls to Slack are made
// beside, so that the feed does not fill up meanwhile.
func (s *stream) follow(ctx context.Context) {
	defer close(s.done)
	defer s.b.streams.leave()
	timer := time.NewTimer(s.b.streams.after)
	defer timer.Stop()
	updates, due := s.feed.C(), false
	var sending chan error
	var chunks []any
	for {
		if due && sending == nil && !s.failed {
			if chunks = s.take(false); len(chunks) > 0 {
				due, sending = false, make(chan error, 1)
				go func(to chan error) { to <- s.safely(func() error { return s.send(ctx, chunks) }) }(sending)
			}
		}
		select {
		case u, ok := <-updates:
			if !ok {
				if sending != nil {
					s.sent(<-sending, chunks)
				}
				s.settled(ctx)
				return
			}
			s.hear(u)
		case err := <-sending:
			timer.Reset(max(s.sent(err, chunks), s.b.streams.pause()))
			sending = nil
		case <-timer.C:
			due = true
		case <-s.quit:
			wait(sending)
			return
		case <-ctx.Done():
			wait(sending)
			return
		}
	}
}

// safely turns a panic into an error: what is sent runs on a goroutine of its own.
func (s *stream) safely(f func() error) (err error) {
	err = errors.New("a stream panicked")
	s.b.work.guard(func() { err = f() })
	return err
}

// wait waits for a call that is under way, which has its own time limit.
func wait(sending chan error) {
	if sending != nil {
		<-sending
	}
}

// hear takes an update.
func (s *stream) hear(u approvals.RunUpdate) {
	switch {
	case u.Kind == approvals.UpdateCall:
		s.tasks.hear(u)
	case len(s.text) > streamAhead:
	default:
		if u.Item != s.item && s.text != "" {
			s.text += "\n\n"
		}
		s.item, s.text = u.Item, s.text+u.Text
	}
}

// sent notes how a call with the chunks went, and returns how long to wait before the next one.
func (s *stream) sent(err error, chunks []any) time.Duration {
	if err == nil {
		return 0
	}
	if later, ok := errors.AsType[*approvals.RetryError](err); ok && s.ts != "" {
		s.unsent = chunks
		return later.After
	}
	s.failed = true
	return 0
}

// settled ends the message as its run has: an answer takes its place when it is delivered.
func (s *stream) settled(ctx context.Context) {
	s.how = s.feed.End()
	if s.ts != "" {
		s.b.showSession(ctx, s.run.Place, s.how)
	}
	if s.ts == "" || s.how == approvals.FollowAnswered {
		return
	}
	last := append(s.take(true), s.tasks.cutOff()...)
	if s.failed {
		last = nil
	}
	if err := s.b.closeStream(ctx, s, last, s.closing()); err != nil {
		s.b.log.Debug("a stream was left open", "run", s.run.Run, "error", err)
	}
}

// closing says how a stream ended that no answer took the place of.
func (s *stream) closing() string {
	if s.how == approvals.FollowWaiting {
		return wordsStreamWaits(s.tasks.waiting())
	}
	return wordsStreamUnfinished
}

// take returns what is to be shown next as chunks; all of it at the end.
func (s *stream) take(all bool) (chunks []any) {
	chunks = append(s.unsent, s.tasks.chunks(&s.blocks, streamBlocks)...)
	s.unsent = nil
	if s.blocks >= streamBlocks || s.units >= streamUnits {
		return chunks
	}
	n := showable(s.text, all)
	text := strings.Trim(readable(s.text[:n]), "\n")
	s.text = s.text[n:]
	if strings.TrimSpace(text) == "" {
		return chunks
	}
	for _, piece := range split(text, maxElement, answerBytes) {
		if s.blocks >= streamBlocks || s.units+units(piece) > streamUnits {
			s.units = streamUnits
			break
		}
		s.units += units(piece)
		chunks = append(chunks, s.chunk(paragraph(phrase{piece})))
	}
	return chunks
}

// chunk is a block for a stream.
func (s *stream) chunk(block slack.Block) any {
	s.blocks++
	return map[string]any{"type": "blocks", "blocks": []slack.Block{block}}
}

// showable returns how much of a text that is still being written can be shown: whole lines, or of a long line whole
// words. What is shown cannot be changed, and what belongs together is rendered together.
func showable(text string, all bool) int {
	const enough = 300
	if all {
		return len(text)
	}
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	if len(text) < enough {
		return 0
	}
	return strings.LastIndexByte(text, ' ') + 1
}

// send begins the message with the chunks, or adds them.
func (s *stream) send(ctx context.Context, chunks []any) error {
	if s.number == 0 {
		return s.begin(ctx, chunks)
	}
	form := url.Values{"channel": {s.run.Place.Channel}, "ts": {s.ts}}
	err := s.b.streamCall(ctx, methodAppendStream, s, form, chunks, nil)
	switch word, refused := refusal(err); {
	case word == "message_not_in_streaming_state" || word == "stopped_by_user":
		s.ended = true
	case refused:
		s.b.log.Debug("nothing more is streamed", "run", s.run.Run, "reason", word)
	}
	return err
}

// begin records that there will be a message, and begins it.
func (s *stream) begin(ctx context.Context, chunks []any) error {
	p := s.run.Place
	to, err := s.b.streamFor(ctx, s.run)
	if err != nil {
		s.b.streamRefused(p.Channel, err)
		return err
	}
	if !s.b.streams.begins() {
		return errors.New("too many streams have begun within a minute")
	}
	if !s.b.mayStream(p) {
		return errors.New("what else is to be said goes first")
	}
	number, err := s.b.service.BeginStream(ctx, s.run.Workspace, s.run.Run, s.run.Epoch)
	if err != nil {
		return err
	}
	s.number = number
	s.b.streams.remember(s)
	chunks = append([]any{s.chunk(smallPrint(wordsStreamLead))}, chunks...)
	form := url.Values{"channel": {p.Channel}, "thread_ts": {p.Thread}, "task_display_mode": {"timeline"}}
	for name, value := range to {
		form.Set(name, value)
	}
	var begun struct {
		TS string `json:"ts"`
	}
	err = s.b.streamCall(ctx, methodStartStream, s, form, chunks, &begun)
	s.ts = begun.TS
	if err != nil {
		_, refused := refusal(err)
		_, later := errors.AsType[*approvals.RetryError](err)
		s.closed = refused || later // then there is no message
		s.b.streamRefused(p.Channel, err)
		return err
	}
	s.b.showSession(ctx, p, "")
	return nil
}

// streamFor says whom Slack is told the message is for, or why nothing is streamed to that place.
func (b *Bot) streamFor(ctx context.Context, r approvals.FollowedRun) (map[string]string, error) {
	id, err := b.client.inWorkspace(ctx, r.Workspace)
	if err != nil {
		return nil, err
	}
	if r.Place.Direct {
		return nil, nil
	}
	if id.enterprise != "" || id.team == "" || !isUserID(r.Requester.Local()) {
		return nil, slack.SlackErrorResponse{Err: "missing_recipient_team_id"} // it is not known which team's they are
	}
	c, err := b.client.Channel(ctx, r.Workspace, r.Place.Channel, time.Time{})
	switch {
	case err != nil:
		return nil, err
	case c.Shared:
		return nil, slack.SlackErrorResponse{Err: "channel_type_not_supported"}
	}
	return map[string]string{"recipient_user_id": r.Requester.Local(), "recipient_team_id": id.team}, nil
}

// streamCall makes a call of the stream methods and tells the pacing how it went. Nothing waits for a turn in here.
func (b *Bot) streamCall(
	ctx context.Context, method string, s *stream, form url.Values, chunks []any, out any,
) error {
	if len(chunks) > 0 {
		raw, err := json.Marshal(chunks)
		if err != nil {
			return fmt.Errorf("encode chunks: %w", err)
		}
		form.Set("chunks", string(raw))
	}
	turn := paced{method: method, channel: s.run.Place.Channel, what: string(s.run.Run), cosmetic: true}
	return b.paced(turn, func() error {
		_, err := b.client.call(ctx, method, b.client.token, form, out)
		return err
	})
}
