package bot

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"time"

	"countersign/approvals"
)

// stateScope is what it takes to show how a run stands. It is optional: without it nothing is shown.
const stateScope = "reactions:write"

// stateMarks are the reactions that show how a run stands, on the message that asked for it.
var stateMarks = map[approvals.RunStatus]string{
	approvals.RunRunning:   "hourglass_flowing_sand",
	approvals.RunWaiting:   "raised_hand",
	approvals.RunDone:      "white_check_mark",
	approvals.RunFailed:    "x",
	approvals.RunCancelled: "no_entry_sign",
}

// marking remembers which reactions may be on a message without anybody having recorded that.
type marking struct {
	mu    sync.Mutex
	ids   map[approvals.NotificationID]bool
	since time.Time // of what was noted before, nothing is known
	off   bool      // Slack has refused for want of the scope
}

// uncertain reports whether an attempt may have been made before that was not recorded.
func (m *marking) uncertain(n *approvals.Notification) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids[n.ID] || n.Created.Before(m.since)
}

// begin notes that a reaction is about to be added.
func (m *marking) begin(id approvals.NotificationID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	const most = 10_000
	if m.ids == nil || len(m.ids) >= most {
		m.ids, m.since = map[approvals.NotificationID]bool{}, time.Now()
	}
	m.ids[id] = true
}

func (m *marking) switchedOff() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.off
}

// switchOff reports whether it was on.
func (m *marking) switchOff() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.off
	m.off = true
	return !was
}

// stateMessage is the message that is to show how the run stands which the message asks for; empty where the app may
// not.
func (b *Bot) stateMessage(id identity, ts string) string {
	if b.marks.switchedOff() || len(id.scopes) > 0 && !slices.Contains(id.scopes, stateScope) {
		return ""
	}
	return ts
}

// showState exchanges the reaction that shows how the run stood for the one that shows how it stands. It is a
// convenience: what Slack refuses is left as it is.
func (b *Bot) showState(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	m := n.Marked
	if m == nil || m.Message == "" || b.marks.switchedOff() {
		return approvals.Delivery{}, nil
	}
	want, old := stateMarks[m.Status], []string{stateMarks[m.Shown]}
	if b.marks.uncertain(n) {
		old = nil
		for _, mark := range stateMarks {
			old = append(old, mark)
		}
		slices.Sort(old)
	}
	for _, mark := range old {
		if mark == "" || mark == want {
			continue
		}
		if err := b.react(ctx, methodUnreact, m, mark); err != nil {
			return approvals.Delivery{}, b.stateError(n, err)
		}
	}
	if m.Shown == m.Status && !b.marks.uncertain(n) {
		return approvals.Delivery{}, nil
	}
	b.marks.begin(n.ID)
	return approvals.Delivery{}, b.stateError(n, b.react(ctx, methodReact, m, want))
}

// stateError passes on what is worth another attempt.
func (b *Bot) stateError(n *approvals.Notification, err error) error {
	word, refused := refusal(err)
	if word == "missing_scope" && b.marks.switchOff() {
		b.log.Warn("how runs stand is not shown: the app lacks a scope", "scope", stateScope)
	}
	if refused {
		b.log.Debug("how a run stands is not shown", "run", n.Run, "reason", word)
		return nil
	}
	return err
}

// react adds a reaction to a message or takes it away. What is so already is no error.
func (b *Bot) react(ctx context.Context, method string, m *approvals.Marked, mark string) error {
	err := b.paced(method, m.Channel, func() error {
		form := url.Values{"channel": {m.Channel}, "timestamp": {m.Message}, "name": {mark}}
		_, err := b.client.call(ctx, method, b.client.token, form, nil)
		return err
	})
	switch word, _ := refusal(err); word {
	case "already_reacted", "no_reaction":
		return nil
	}
	return err
}
