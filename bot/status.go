package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"countersign/approvals"
)

// statusAfter is how long a run works before people are shown that it does.
const statusAfter = 2 * time.Second

// statusAgain is how long after it was said that a run works it is said again: after two minutes Slack takes it away.
const statusAgain = 100 * time.Second

// shownStatus is what a conversation shows of its run, and in words whom that waits for.
type shownStatus struct {
	kind  approvals.ActivityKind
	words string
}

// statuses shows in direct conversations that a run works, or waits for somebody: see
// https://docs.slack.dev/reference/methods/assistant.threads.setStatus and agents.sessions.setStatus. It is decoration:
// what Slack does not take is left, and nothing waits for it. Nothing is kept of a run that nobody works on.
type statuses struct {
	mu    sync.Mutex
	lanes map[approvals.Place]*statusLane
}

// statusLane brings one conversation to what it should show, one call after the other.
type statusLane struct {
	want, have shownStatus
	sending    bool
	said       time.Time   // when Slack was told last
	lapsing    bool        // what it shows is to be said again
	timer      *time.Timer // until it has worked for long enough to say so, or to say so again
	early      string      // whom it waits for, where a card stood there before the run was heard to wait
}

func newStatuses() *statuses { return &statuses{lanes: map[approvals.Place]*statusLane{}} }

var _ approvals.Watcher = (*Bot)(nil)

// Watch shows what a run does. See approvals.Watcher.
func (b *Bot) Watch(a approvals.Activity) {
	if !a.Place.Direct {
		return
	}
	s := b.statuses
	s.mu.Lock()
	defer s.mu.Unlock()
	lane, ok := s.lanes[a.Place]
	if !ok {
		lane = &statusLane{have: shownStatus{kind: approvals.ActivityOver}}
		if a.Resumed { // it may show that it waits, and for whom, since an earlier time
			lane.have = shownStatus{approvals.ActivityWaiting, wordsSomebody}
		}
		s.lanes[a.Place] = lane
	}
	if lane.timer != nil {
		lane.timer.Stop()
		lane.timer = nil
	}
	early := lane.early
	lane.early = ""
	if a.Kind == approvals.ActivityWorking && lane.have.kind == approvals.ActivityOver {
		lane.timer = time.AfterFunc(statusAfter, func() { b.showStatus(a.Place, lane, a.Kind) })
		return
	}
	want := shownStatus{kind: a.Kind}
	if a.Kind == approvals.ActivityWaiting {
		want.words = early
	}
	b.statusWanted(a.Place, lane, want)
}

func (b *Bot) showStatus(p approvals.Place, lane *statusLane, kind approvals.ActivityKind) {
	b.statuses.mu.Lock()
	defer b.statuses.mu.Unlock()
	if b.statuses.lanes[p] == lane && lane.timer != nil {
		lane.timer, lane.lapsing = nil, lane.have.kind == kind
		b.statusWanted(p, lane, shownStatus{kind: kind})
	}
}

// statusWanted has the lane go to what is wanted. b.statuses.mu is held.
func (b *Bot) statusWanted(p approvals.Place, lane *statusLane, want shownStatus) {
	lane.want = want
	if lane.sending {
		return
	}
	lane.sending = b.work.beside(func(ctx context.Context) { b.sendStatus(ctx, p, lane) })
	if !lane.sending {
		delete(b.statuses.lanes, p)
	}
}

// sendStatus makes calls until the conversation shows what is wanted.
func (b *Bot) sendStatus(ctx context.Context, p approvals.Place, lane *statusLane) {
	s := b.statuses
	for {
		s.mu.Lock()
		from, to := lane.have, lane.want
		if from == to && !lane.lapsing {
			lane.sending = false
			switch {
			case lane.timer != nil:
			case to.kind == approvals.ActivityWorking:
				lane.timer = time.AfterFunc(time.Until(lane.said.Add(statusAgain)), func() {
					b.showStatus(p, lane, to.kind)
				})
			default:
				delete(s.lanes, p)
			}
			s.mu.Unlock()
			return
		}
		lane.have, lane.said, lane.lapsing = to, time.Now(), false
		s.mu.Unlock()
		b.changeStatus(ctx, p, from, to)
	}
}

// changeStatus makes the calls from one status to the next.
func (b *Bot) changeStatus(ctx context.Context, p approvals.Place, from, to shownStatus) {
	switch {
	case to.kind == approvals.ActivityWorking:
		b.setStatus(ctx, methodThreadStatus, p, wordsStatusLine, wordsLoading)
	case to.words != "":
		loading, err := json.Marshal([]string{label(wordsIt+to.words, maxLoading)})
		if err != nil {
			panic(fmt.Sprintf("encode text: %v", err))
		}
		b.setStatus(ctx, methodThreadStatus, p, to.words, string(loading))
	case from.kind == approvals.ActivityWorking || from.words != "":
		b.setStatus(ctx, methodThreadStatus, p, "", "")
	}
	switch {
	case to.kind == from.kind:
	case to.kind == approvals.ActivityWaiting:
		b.setStatus(ctx, methodSessionStatus, p, "suspended", "")
	case to.kind == approvals.ActivityWorking: // then Slack shows a stop button
		b.setStatus(ctx, methodSessionStatus, p, "processing", "")
	case to.kind == approvals.ActivityOver:
		b.setStatus(ctx, methodSessionStatus, p, "active", "")
	}
}

// setStatus makes one call. A method that Slack refuses for good is not called for a while.
func (b *Bot) setStatus(ctx context.Context, method string, p approvals.Place, status, loading string) {
	if b.closed.has(method) {
		return
	}
	form := url.Values{"channel_id": {p.Channel}, "thread_ts": {p.Thread}, "status": {status}}
	if loading != "" {
		form.Set("loading_messages", loading)
	}
	err := b.patiently(ctx, method, p.Channel, func() error {
		_, err := b.client.call(ctx, method, b.client.token, form, nil)
		return err
	})
	word, refused := refusal(err)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
	case refused && statusOff(word):
		b.closed.add(method)
		b.warn.once(method, func() {
			b.log.Warn("a status is not shown: Slack refuses it", "method", method, "reason", word)
		})
	default:
		b.log.Debug("a status was not shown", "method", method, "error", err)
	}
}

// statusOff reports whether a refusal is about the method and not about one conversation.
func statusOff(word string) bool {
	switch word {
	case "feature_disabled", "missing_scope", "unknown_method", "method_deprecated", "not_allowed_token_type",
		"no_permission", "not_authorized", "access_denied":
		return true
	}
	return false
}

// beside runs f while the bot runs, unless too much runs already. It never blocks, and reports whether f will run.
func (w *work) beside(f func(context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx == nil {
		return false
	}
	select {
	case w.follow <- struct{}{}:
	default:
		return false
	}
	ctx := w.ctx
	w.running.Go(func() {
		defer func() { <-w.follow }()
		ctx, cancel := context.WithTimeout(ctx, followTime)
		defer cancel()
		w.guard(func() { f(ctx) })
	})
	return true
}

// settleStatus clears what a direct conversation shows, behind a message that may be the last of a run which nobody was
// at work on when it ended, as one that is cancelled while it waits.
func (b *Bot) settleStatus(n *approvals.Notification) {
	about := n.Kind == approvals.NotifyAnswer || n.Kind == approvals.NotifyNotice
	if !n.Place.Direct || !about || n.Copy != "" || b.closed.has(methodSessionStatus) {
		return
	}
	b.work.beside(func(ctx context.Context) {
		run, err := b.service.Run(ctx, n.Workspace, n.Run)
		if err == nil && run.Status.Ended() {
			b.Watch(approvals.Activity{
				Workspace: n.Workspace, Run: n.Run, Place: n.Place, Kind: approvals.ActivityOver, Resumed: true,
			})
		}
	})
}
