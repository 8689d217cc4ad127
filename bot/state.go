package bot

import (
	"context"
	"errors"
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
	ids   map[approvals.NotificationID][]string // with the reactions that were taken away since
	since time.Time                             // of what was noted before, nothing is known
}

// uncertain reports whether an attempt may have been made before that was not recorded.
func (m *marking) uncertain(n *approvals.Notification) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, begun := m.ids[n.ID]
	return begun || n.Begun || n.Created.Before(m.since)
}

// begin notes that a reaction is about to be added.
func (m *marking) begin(id approvals.NotificationID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	const most = 10_000
	if len(m.ids) >= most {
		m.ids, m.since = nil, time.Now()
	}
	if m.ids == nil {
		m.ids = map[approvals.NotificationID][]string{}
	}
	m.ids[id] = nil
}

// doubt is begin for an attempt that may have been made before.
func (m *marking) doubt(id approvals.NotificationID) {
	m.mu.Lock()
	_, begun := m.ids[id]
	m.mu.Unlock()
	if !begun {
		m.begin(id)
	}
}

// clearedOf are the reactions that an earlier attempt has taken away since begin.
func (m *marking) clearedOf(id approvals.NotificationID) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ids[id]
}

// cleared notes that a reaction was taken away: an attempt that Slack slows down goes on where the last one ended.
func (m *marking) cleared(id approvals.NotificationID, mark string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, doubtful := m.ids[id]; doubtful {
		m.ids[id] = append(m.ids[id], mark)
	}
}

// undo takes back begin.
func (m *marking) undo(id approvals.NotificationID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.ids, id)
}

// stateMessage is the message that is to show how the run stands which the message asks for; empty where the app may
// not.
func (b *Bot) stateMessage(id identity, ts string) string {
	if b.closed.has(methodReact) || len(id.scopes) > 0 && !slices.Contains(id.scopes, stateScope) {
		return ""
	}
	return ts
}

// showState exchanges the reaction that shows how the run stood for the one that shows how it stands. It is a
// convenience: what Slack refuses is left as it is.
func (b *Bot) showState(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	m := n.Marked
	if m == nil || m.Message == "" || b.closed.has(methodReact) {
		return approvals.Delivery{}, nil
	}
	want, old := stateMarks[m.Status], []string{stateMarks[m.Shown]}
	doubted := b.marks.uncertain(n)
	if doubted {
		b.marks.doubt(n.ID)
		old = nil
		for _, mark := range stateMarks {
			old = append(old, mark)
		}
		slices.Sort(old)
	}
	for _, mark := range old {
		if mark == "" || mark == want || slices.Contains(b.marks.clearedOf(n.ID), mark) {
			continue
		}
		if err := b.react(ctx, methodUnreact, m, mark); err != nil {
			if later, ok := errors.AsType[*approvals.RetryError](err); ok && !doubted {
				later.Unsent = true // nothing was added
			}
			return approvals.Delivery{}, b.stateError(n, err)
		}
		b.marks.cleared(n.ID, mark)
	}
	if m.Shown == m.Status && !doubted {
		return approvals.Delivery{}, nil
	}
	b.marks.begin(n.ID)
	err := b.react(ctx, methodReact, m, want)
	if later, ok := errors.AsType[*approvals.RetryError](err); ok && !doubted {
		b.marks.undo(n.ID) // Slack has not taken it
		later.Unsent = true
	}
	return approvals.Delivery{}, b.stateError(n, err)
}

// stateError passes on what is worth another attempt.
func (b *Bot) stateError(n *approvals.Notification, err error) error {
	word, refused := refusal(err)
	if word == "missing_scope" {
		b.closed.add(methodReact)
		b.warn.once(methodReact, func() {
			b.log.Warn("how runs stand is not shown: the app lacks a scope", "scope", stateScope)
		})
	}
	if refused && !endsToken(word) {
		b.log.Debug("how a run stands is not shown", "run", n.Run, "reason", word)
		return nil
	}
	return err
}

// react adds a reaction to a message or takes it away. What is so already is no error.
func (b *Bot) react(ctx context.Context, method string, m *approvals.Marked, mark string) error {
	turn := paced{method: method, channel: m.Channel, what: m.Channel + " " + m.Message + " " + mark,
		cosmetic: true, apart: true}
	return b.paced(turn, func() error {
		form := url.Values{"channel": {m.Channel}, "timestamp": {m.Message}, "name": {mark}}
		_, err := b.client.call(ctx, method, b.client.token, form, nil)
		switch word, _ := refusal(err); word {
		case "already_reacted", "no_reaction":
			return nil
		}
		return err
	})
}
