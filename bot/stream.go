package bot

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"countersign/approvals"
)

// What streams take of what Slack allows an app in a workspace: 20 starts and 20 ends a minute, 100 additions. Several
// processes may share that; and each stream that becomes an answer takes one update, of which cards need theirs.
const (
	mostStreams      = 6  // at once
	mostStreamStarts = 12 // a minute
	streamShare      = 700 * time.Millisecond
	rememberedRuns   = 1000
)

// streams shows runs while they are under way, in messages that Slack lets an app write piece by piece:
// https://docs.slack.dev/reference/methods/chat.startStream. It is decoration. What Slack does not take is left, and
// the answer comes from the outbox as ever: it takes the place of the last of these messages, or is posted.
type streams struct {
	after time.Duration // how long a run works before something of it is shown
	every time.Duration // how far apart additions to a stream are at least

	mu     sync.Mutex
	open   int
	starts []time.Time // within the last minute
	runs   map[approvals.RunID][]*stream
	sought map[approvals.RunID]int // how many there were when the thread was looked through
	order  []approvals.RunID       // oldest first
}

func newStreams() *streams {
	return &streams{after: 700 * time.Millisecond, every: time.Second, runs: map[approvals.RunID][]*stream{},
		sought: map[approvals.RunID]int{}}
}

var _ approvals.Follower = (*Bot)(nil)

// Follow shows a run while it is under way, where and while the workspace has room for that. See approvals.Follower.
func (b *Bot) Follow(r approvals.FollowedRun, f *approvals.Feed) bool {
	if !b.mayStream(r.Place) || !b.streams.enter() {
		return false
	}
	s := &stream{b: b, run: r, feed: f, quit: make(chan struct{}), done: make(chan struct{}), tasks: newTasks()}
	if !b.work.along(s.follow) {
		b.streams.leave()
		return false
	}
	return true
}

// mayStream reports whether a stream in the place has a chance, as far as is known, and takes nothing from cards.
func (b *Bot) mayStream(p approvals.Place) bool {
	if p.Surface != "slack" || p.Thread == "" || b.closed.has(methodStartStream) || b.closed.has(streamIn(p.Channel)) {
		return false
	}
	for _, method := range []string{methodStartStream, methodAppendStream, methodStopStream, methodUpdate} {
		if !b.pace.free(method) {
			return false
		}
	}
	return true
}

// streamIn names a conversation in which Slack has refused a stream.
func streamIn(channel string) string { return methodStartStream + " " + channel }

// enter takes one of the places for streams that are under way.
func (s *streams) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= mostStreams || s.recent(time.Now()) >= mostStreamStarts {
		return false
	}
	s.open++
	return true
}

func (s *streams) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

// recent counts the starts of the last minute. s.mu is held.
func (s *streams) recent(now time.Time) int {
	s.starts = slices.DeleteFunc(s.starts, func(at time.Time) bool { return now.Sub(at) >= countedFor })
	return len(s.starts)
}

// begins counts a start, or reports that there were too many.
func (s *streams) begins() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.recent(now) >= mostStreamStarts {
		return false
	}
	s.starts = append(s.starts, now)
	return true
}

// pause is how far apart additions to one stream are now.
func (s *streams) pause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.every, time.Duration(s.open)*min(streamShare, s.every))
}

// remember notes a stream that has been counted with its run, so that the delivery of what the run comes to finds it.
func (s *streams) remember(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(one.run.Run, append(s.runs[one.run.Run], one))
}

// keep notes the streams of a run. s.mu is held.
func (s *streams) keep(id approvals.RunID, all []*stream) {
	if _, known := s.runs[id]; !known {
		if len(s.order) >= rememberedRuns {
			delete(s.runs, s.order[0])
			delete(s.sought, s.order[0])
			s.order = s.order[1:]
		}
		s.order = append(s.order, id)
	}
	s.runs[id] = all
}

// found notes the streams that a thread has of a run which has begun so many.
func (s *streams) found(id approvals.RunID, all []*stream, begun int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(id, all)
	s.sought[id] = begun
}

// of returns the streams of the run that this process knows, in order, and whether the thread was looked through since
// so many have begun.
func (s *streams) of(id approvals.RunID, begun int) (all []*stream, sought bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.runs[id]), s.sought[id] >= begun
}

// free reports whether nothing slows the method down in the workspace.
func (p *pacing) free(method string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, ok := p.lanes[method]
	return !ok || l.distance.gap == 0 && !time.Now().Before(l.until)
}

// along runs f while the bot runs, without a bound on its time. It never blocks, and reports whether f will run.
func (w *work) along(f func(context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil {
		return false
	}
	ctx := w.ctx
	w.running.Go(func() { w.guard(func() { f(ctx) }) })
	return true
}

// streamRefused remembers a refusal: of the method, of the conversation, or of this one message.
func (b *Bot) streamRefused(channel string, err error) {
	word, refused := refusal(err)
	switch {
	case errors.Is(err, context.Canceled):
	case refused && statusOff(word):
		b.closed.add(methodStartStream)
		b.warn.once(methodStartStream, func() {
			b.log.Warn("answers come in one piece: Slack refuses to stream them. "+streamAdvice(word),
				"method", methodStartStream, "reason", word, "scope", missing(err))
		})
	case refused && streamless(word):
		b.closed.add(streamIn(channel))
		b.log.Info("answers come in one piece in a conversation: Slack does not stream there",
			"channel", channel, "reason", word)
	default:
		b.log.Debug("a run is not shown while it is under way", "channel", channel, "error", err)
	}
}

// streamAdvice says what to do about a refusal of the method.
func streamAdvice(word string) string {
	if word == "missing_scope" {
		return "Update the app from manifest.yaml and install it again"
	}
	return "Nothing has to be done: they are complete"
}

// streamless reports whether a refusal is about the conversation.
func streamless(word string) bool {
	switch word {
	case "channel_type_not_supported", "missing_recipient_team_id", "missing_recipient_user_id", "user_not_found",
		"team_not_found", "messages_tab_disabled", "restricted_action", "restricted_action_read_only_channel",
		"restricted_action_thread_only_channel", "restricted_action_non_threadable_channel",
		"restricted_action_thread_locked", "not_in_channel", "is_archived", "channel_not_found":
		return true
	}
	return false
}
