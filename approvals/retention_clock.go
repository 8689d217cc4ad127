package approvals

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"
)

// A clock that is ahead makes everything look old. So nothing is deleted while the store's time is in doubt, and the
// audit trail has to vouch for it: see trusts.
const (
	// longestPause is for how long a store may have no audit entry before its time is in doubt.
	longestPause = 7 * 24 * time.Hour
	// vouchFor is for how long the trail must have gone on behind such a pause before the time counts as right.
	vouchFor = 3 * 24 * time.Hour
	// traceEvery is how often a sweep leaves an entry in a trail that has no other: a bot that is idle, and runs, makes
	// no pause.
	traceEvery = 24 * time.Hour
)

// trusts reports whether the store's time is good enough to delete by it, and says so when it is not:
//
//   - The store itself has not found its clock to be wrong since it was opened (Clock.UncertainSince).
//   - Within the last three days the audit trail does not go on behind a pause of more than seven. A clock that was set
//     ahead while the bot was stopped looks like that, and so does a bot that was stopped for so long. Its operators
//     then have three days to notice.
func (s *oldSweep) trusts(ctx context.Context) (bool, error) {
	if c, ok := s.store.(Clock); ok && !c.UncertainSince().IsZero() {
		s.alert(ctx, "the clock was found to be wrong", "since", c.UncertainSince(),
			"until", "the program is started again with the right time")
		return false, nil
	}
	var newest, pauseFrom, pauseTo time.Time
	err := s.view(ctx, func(tx Tx) (err error) {
		s.now = tx.Now()
		newest, pauseFrom, pauseTo, err = pauseOf(tx, s.ws, s.now)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("age of the audit trail: %w", err)
	}
	sure := pauseTo.Sub(pauseFrom) <= longestPause
	if !sure {
		s.alert(ctx, "the store has no record of a long time before now: it was not used, or the clock is ahead",
			"from", pauseFrom, "to", pauseTo, "until", pauseTo.Add(vouchFor))
	}
	if s.now.Sub(newest) < traceEvery {
		return sure, nil
	}
	return sure, s.leaveTrace(ctx, sure)
}

func (s *oldSweep) alert(ctx context.Context, why string, facts ...any) {
	s.log.ErrorContext(ctx, "ALERT: retention deletes nothing now: "+why,
		append([]any{"workspace", s.ws}, facts...)...)
}

// leaveTrace puts an entry into the trail that says that there was nothing else to say.
func (s *oldSweep) leaveTrace(ctx context.Context, sure bool) error {
	kind := "sure"
	if !sure {
		kind = "in doubt"
	}
	return update(ctx, s.store, s.ws, func(c *txn) error {
		return c.audit(entry{Action: AuditRetention, Actor: system, Data: auditData{Kind: kind}})
	})
}

// pauseOf returns when the newest entry of the trail was written, and between which entries of the trail, or the newest
// and now, the instant lies that was vouchFor ago. Both are zero when the trail is younger than that. Entries of a time
// that has not come yet are left out: the clock was ahead when they were written, and is right again.
func pauseOf(tx Tx, ws WorkspaceID, now time.Time) (newest, from, to time.Time, err error) {
	head, err := auditHead(tx, ws)
	if err != nil || head.Seq == 0 {
		return newest, from, to, err
	}
	at := func(n int) time.Time { // of the n-th entry
		page, failed := tx.AuditEntries(ws, uint64(n), 1)
		if err = errors.Join(err, failed); err != nil || len(page) == 0 {
			return now
		}
		return page[0].At
	}
	// first returns the number of the first entry behind the n-th that is so, or one more than there are.
	first := func(n int, is func(time.Time) bool) int {
		return n + 1 + sort.Search(int(head.Seq)-n, func(i int) bool { return err == nil && is(at(n+1+i)) })
	}
	vouched, past := now.Add(-vouchFor), 0
	for err == nil {
		next := first(past, func(t time.Time) bool { return t.After(vouched) })
		if next > past+1 {
			from = at(next - 1)
		}
		if next > int(head.Seq) {
			return head.At, from, now, err
		}
		if to = at(next); !to.After(now) {
			break
		}
		past = first(next, func(t time.Time) bool { return !t.After(now) }) - 1
	}
	if from.IsZero() {
		to = from
	}
	return head.At, from, to, err
}
