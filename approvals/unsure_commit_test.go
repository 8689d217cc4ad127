package approvals_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// doubtful is a store of which one Update cannot tell whether it was committed.
type doubtful struct {
	approvals.Store
	committed bool // whether it was

	mu      sync.Mutex
	updates int // so far
	at      int // which one
}

func (d *doubtful) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	d.mu.Lock()
	d.updates++
	hit := d.updates == d.at
	d.mu.Unlock()
	if !hit {
		return d.Store.Update(ctx, fn)
	}
	if d.committed {
		if err := d.Store.Update(ctx, fn); err != nil {
			return err
		}
	}
	return approvals.ErrCommitUnknown
}

// Dispatch does nothing until the end: the test hands out the jobs.
func (d *doubtful) Dispatch(ctx context.Context, _ func(context.Context, approvals.Job) error) error {
	<-ctx.Done()
	return nil
}

// TestCommitOfUnknownOutcome goes through a run as often as it has transactions, and has another one's outcome be
// unknown each time. Nobody notices: whoever called finds out by reading.
func TestCommitOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, committed := range []bool{true, false} {
		for at := 1; ; at++ {
			n := 0
			t.Run(fmt.Sprintf("committed %v, transaction %d", committed, at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { n = runDoubtful(t, &doubtful{committed: committed, at: at}) })
			})
			if at >= n {
				break
			}
		}
	}
}

// runDoubtful takes a run from its submission to its answer and returns how many transactions that took.
func runDoubtful(t *testing.T, d *doubtful) int {
	b := newBench(t)
	d.Store = b.store
	b.serve(&mortal{Store: b.store})
	service, err := approvals.NewService(approvals.ServiceConfig{
		Store: d, Policy: b.policy, Directory: b.people, Agents: b.agents,
		Requesters: approvals.Approvers{ChannelMembers: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.service = service
	handle := b.handler(t.Context(), d)
	do := func(j approvals.Job) {
		t.Helper()
		if err := handle(j); err != nil {
			t.Fatalf("%s: %v", j.Kind, err)
		}
	}
	receipt, err := service.Submit(t.Context(), b.submission(ann, place, "please"))
	if err != nil || receipt.Outcome != approvals.SubmitStarted || receipt.Run == "" {
		t.Fatalf("submitted: %+v, %v", receipt, err)
	}
	do(runJob(receipt.Run))
	queued, err := service.Submit(t.Context(), b.submission(bob, place, "and this"))
	if err != nil || queued.Outcome != approvals.SubmitQueued || queued.Run != receipt.Run {
		t.Fatalf("queued: %+v, %v", queued, err)
	}
	do(deliverJob(place))
	r := b.must(b.pending(receipt.Run)[0], bob, approvals.Approve, "")
	do(runJob(receipt.Run))
	do(deliverJob(place))
	if got := b.run(receipt.Run); got.Status != approvals.RunDone {
		t.Errorf("the run is %s: %s", got.Status, got.Failure)
	}
	if got := b.request(r.ID); got.Outcome != approvals.OutcomeRan || len(got.Decisions) != 1 ||
		got.Decisions[0].By != bob {
		t.Errorf("the request: %q, %+v", got.Outcome, got.Decisions)
	}
	if all := b.requests(receipt.Run); len(all) != 1 {
		t.Errorf("%d requests: somebody was asked what became of a call", len(all))
	}
	if n := len(b.effects.all()); n != 1 {
		t.Errorf("%d effects", n)
	}
	next := b.activeIn(place.Thread)
	if _, err := service.CancelRun(t.Context(), ws, next, bob, ""); err != nil {
		t.Errorf("cancelled: %v", err)
	}
	b.trail()
	b.store.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.updates
}

// TestSlowToolsDelayNoOtherChannel has more slow tools at work in one channel than there are handlers for a group, and
// a run in another channel come to its answer meanwhile.
func TestSlowToolsDelayNoOtherChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		tools := b.tools()
		work := tools[1].Invoke
		tools[1].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			if string(c.Arguments) == `{"amount":1}` {
				time.Sleep(time.Hour)
			}
			return work(ctx, c)
		}
		b.agent(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
			switch told := outputs(req); {
			case len(told) > 0:
				return []agent.Item{agent.AssistantMessage("done")}, nil
			case lastText(req) == "slowly":
				return []agent.Item{call("c1", "note", `{"amount":1}`)}, nil
			}
			return []agent.Item{call("c1", "note", `{"amount":2}`)}, nil
		}), tools...)
		b.start()
		for i := range 24 {
			at := approvals.Place{Surface: "slack", Channel: "C1", Thread: fmt.Sprintf("%d.1", i)}
			if _, err := b.service.Submit(t.Context(), b.submission(ann, at, "slowly")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		other := b.submitAt(approvals.Place{Surface: "slack", Channel: "C2", Thread: "2.1"})
		time.Sleep(time.Minute)
		if got := b.run(other); got.Status != approvals.RunDone {
			t.Errorf("the run in the other channel is %s", got.Status)
		}
		time.Sleep(3 * time.Hour)
		b.stop()
		b.store.Close()
	})
}
