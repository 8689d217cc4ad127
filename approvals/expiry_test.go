package approvals_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// TestExpiryTellsTheModel has a request of a quorum of two expire after some have answered. The model reads that it
// expired, and that nobody rejected it only where nobody did. A run that ends with it leaves the same in the memory.
func TestExpiryTellsTheModel(t *testing.T) {
	t.Parallel()
	const nobody = "nobody answered the request for approval in time"
	const some = "too few people answered the request for approval in time"
	for _, tt := range []struct {
		name     string
		verdict  approvals.Verdict
		want     string
		rejected bool
		note     string
	}{
		{"nobody", "", nobody, false, "Nobody answered in time."},
		{"one of two", approvals.Approve, some, false, "Too few people answered in time."},
		{"one who declined", approvals.Reject, some, true, "Too few people answered in time."},
	} {
		for _, how := range []approvals.OnExpiry{approvals.ExpiryReject, approvals.ExpiryCancel} {
			t.Run(tt.name+", "+string(how), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t)
					b.people.persons[user("dan")] = approvals.Person{ID: user("dan"), Regular: true}
					b.people.channels["C1"] = append(b.people.channels["C1"], user("dan"))
					b.policy.always(with(func(q *approvals.Requirement) {
						quorum(q, 2)
						q.DenyQuorum, q.OnExpiry = 2, how
					}))
					var read string
					b.model(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
						for _, it := range req.Items {
							if it.Type == agent.ItemFunctionCallOutput {
								read = it.Output
							}
						}
						if read == "" {
							return []agent.Item{call("c1", "pay", `{"amount":5}`)}, nil
						}
						return []agent.Item{agent.AssistantMessage("I see")}, nil
					}))
					b.start()
					r := b.question(b.submit())
					if tt.verdict != "" {
						b.must(r, bob, tt.verdict, "")
					}
					time.Sleep(time.Hour + time.Second)
					b.submit() // which reads the memory of a run that was cancelled
					time.Sleep(time.Second)
					if got := b.request(r.ID); got.Status != approvals.RequestExpired || got.Note != tt.note {
						t.Errorf("it is %s: %q", got.Status, got.Note)
					}
					if !strings.Contains(read, tt.want) ||
						strings.Contains(read, "No person has rejected it") == tt.rejected {
						t.Errorf("the model reads %q", read)
					}
					b.stop()
					b.store.Close()
				})
			})
		}
	}
}
