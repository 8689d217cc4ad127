package approvals_test

import (
	"testing"
	"time"

	"countersign/approvals"
)

// TestStaleRequestsLeadToWhatAsksNow has a call asked about three times, because its tool changes twice, while the
// clock is set back or forward in between. The records and the cards of the first two lead to the third.
func TestStaleRequestsLeadToWhatAsksNow(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-time.Hour, 0, time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			st := &later{Store: b.store}
			st.by.Store(int64(ahead))
			b.serve(st)
			q := lenient()
			q.ValidFor, q.ExpiresIn = 0, 0
			b.policy.always(q)
			b.model(asks(call("c1", "pay", `{"amount":5}`)))
			b.start()
			asked := []*approvals.Request{b.question(b.submit())}
			id := asked[0].Run
			for _, version := range []string{"2", "3"} {
				b.until("all is told", b.delivered)
				b.stop()
				st.by.Add(int64(by))
				tools := b.tools()
				tools[0].Version = version
				b.agent(asks(call("c1", "pay", `{"amount":5}`)), tools...)
				b.start()
				b.must(b.question(id), bob, approvals.Approve, "")
				b.until("the next question", func() bool {
					p := b.pending(id)
					return len(p) == 1 && p[0].Tool.Version == version
				})
				asked = append(asked, b.question(id))
			}
			now := asked[2].ID
			for i, r := range asked {
				got := b.request(r.ID)
				switch {
				case i == 2 && (got.AsksNow != "" || got.Replaced != nil):
					t.Errorf("what asks now leads to %q, %v", got.AsksNow, got.Replaced)
				case i == 2:
				case got.AsksNow != now:
					t.Errorf("%d. leads to %q, want %s", i+1, got.AsksNow, now)
				case got.Replaced == nil || got.Replaced.ID != asked[i+1].ID || !got.Replaced.Definition:
					t.Errorf("%d. was replaced by %+v, want %s", i+1, got.Replaced, asked[i+1].ID)
				}
			}
			b.until("the cards lead on", func() bool {
				return b.surface.leads(asked[0].ID) == now && b.surface.leads(asked[1].ID) == now
			})
			b.trail()
		})
	}
}

// TestStaleRequestsOfEarlierVersionsLeadOn takes from the records what earlier versions did not write.
func TestStaleRequestsOfEarlierVersionsLeadOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.model(asks(call("c1", "pay", `{"amount":5}`)))
	b.start()
	first := b.question(b.submit())
	tools := b.tools()
	tools[0].Version = "2"
	b.agent(asks(call("c1", "pay", `{"amount":5}`)), tools...)
	b.must(first, bob, approvals.Approve, "")
	b.until("the next question", func() bool {
		p := b.pending(first.Run)
		return len(p) == 1 && p[0].ID != first.ID
	})
	b.until("all is told", b.delivered)
	b.stop()
	b.forge(first.ID, func(r *approvals.Request) { r.AskedAgain = "" })
	if got, now := b.request(first.ID), b.question(first.Run).ID; got.AsksNow != now || got.Replaced.ID != now {
		t.Errorf("leads to %q, %+v, want %s", got.AsksNow, got.Replaced, now)
	}
}
