package approvals_test

import (
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestQuorumsOfOneTurn asks about two calls of one turn, which the same people approve: one takes one of them, the other
// three. Both are asked about, whichever comes first.
func TestQuorumsOfOneTurn(t *testing.T) {
	t.Parallel()
	for _, order := range [][]agent.Item{
		{call("c1", "look", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)},
		{call("c2", "pay", `{"amount":2}`), call("c1", "look", `{"amount":1}`)},
	} {
		t.Run(order[0].Name+" first", func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
				q := lenient()
				if r.Tool.Name == "pay" {
					quorum(&q, 3)
				}
				return q, nil
			})
			b.model(asks(order...))
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			if n := len(b.pending(id)); n != 2 {
				step(deliverJob(place))
				t.Errorf("%d of 2 calls are asked about; notices %q", n, b.surface.texts(approvals.NotifyNotice))
			}
			b.stop()
		})
	}
}
