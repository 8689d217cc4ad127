package approvals_test

import (
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// TestInputThatIsTooOld has the values be filled in of a call whose gate asks nobody, and its turn come only when that
// is longer ago than the policy lets an approval be, or when a freeze has begun: it does not run because of them.
// People are asked about the completed call.
func TestInputThatIsTooOld(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		since func(b *bench, r *approvals.Request)
		runs  bool
	}{
		"in time": {func(*bench, *approvals.Request) {}, true},
		"too old": {func(b *bench, r *approvals.Request) {
			b.forge(r.ID, func(r *approvals.Request) { r.Settled = r.Settled.Add(-2 * r.Requirement.ValidFor) })
		}, false},
		"of a clock that was ahead": {func(b *bench, r *approvals.Request) {
			b.forge(r.ID, func(r *approvals.Request) { r.Settled = r.Settled.Add(ahead) })
		}, false},
		"a freeze has begun": {func(b *bench, r *approvals.Request) {
			during := frozen(-time.Minute, time.Hour)
			b.forge(r.ID, func(r *approvals.Request) { r.Requirement.Freeze = during.Freeze })
			b.policy.always(during)
		}, false},
		"a freeze that the policy has got since": {func(b *bench, _ *approvals.Request) {
			b.policy.always(frozen(-time.Minute, time.Hour))
		}, false},
		"a freeze that excepts them": {func(b *bench, _ *approvals.Request) {
			b.policy.always(frozen(-time.Minute, time.Hour, bob))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.agent(books(`{"table":"t1"}`), b.book())
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			r := b.pending(id)[0]
			if _, err := b.fill(r, bob, `{"date":"d","guests":1}`); err != nil {
				t.Fatal(err)
			}
			tt.since(b, r)
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			if ran := len(b.effects.all()) == 1; ran != tt.runs {
				t.Errorf("ran %t", ran)
			}
			if asked := b.pending(id); !tt.runs && (len(asked) != 1 || asked[0].Kind != agent.Confirm ||
				string(asked[0].Arguments) != `{"date":"d","guests":1,"table":"t1"}`) {
				t.Errorf("people are asked %+v", asked)
			}
		})
	}
}
