package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// TestAuditEntryFromTheFuture puts one entry into the trail that was written a year ahead: the workspace's time goes
// on as it did, and deadlines count.
func TestAuditEntryFromTheFuture(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		if err := approvals.AppendEntryAt(t.Context(), b.store, ws, time.Now().AddDate(1, 0, 0)); err != nil {
			t.Fatal(err)
		}
		b.policy.always(with(func(q *approvals.Requirement) {
			q.ExpiresIn, q.ValidFor = 300*time.Millisecond, 300*time.Millisecond
		}))
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.pending(id)[0]
		time.Sleep(1500 * time.Millisecond)
		page, err := b.service.Pending(t.Context(), approvals.PendingQuery{Workspace: ws})
		if err != nil || len(page.Requests) != 0 {
			t.Errorf("listed after its time: %d, %v", len(page.Requests), err)
		}
		b.refused(r, bob, approvals.Approve, approvals.ErrExpired)

		b.policy.always(with(func(q *approvals.Requirement) { q.ValidFor = 300 * time.Millisecond }))
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		id = b.submitAt(approvals.Place{Surface: "slack", Channel: "C1", Thread: "2.1"})
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r = b.must(b.pending(id)[0], bob, approvals.Approve, "")
		time.Sleep(time.Second)
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if got := b.request(r.ID); len(b.effects.all()) != 0 || got.Status != approvals.RequestStale ||
			got.Outcome != approvals.OutcomeNotRun {
			t.Errorf("an approval that was too old: %s, %q, effects %v", got.Status, got.Outcome, b.effects.all())
		}
		b.trail()
		b.stop()
		b.store.Close()
	})
}

// TestDeadlineSetByAWrongClock has a request wait until a year from now: its clock was ahead when it was asked. A
// worker that starts gives it the time it ever had.
func TestDeadlineSetByAWrongClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		b.stop()
		r := b.pending(id)[0]
		b.forge(r.ID, func(r *approvals.Request) {
			r.Created, r.Expires = r.Created.AddDate(1, 0, 0), r.Expires.AddDate(1, 0, 0)
			r.NextAct = r.Expires
		})
		b.start()
		time.Sleep(time.Second)
		if left := time.Until(b.request(r.ID).Expires); left > time.Hour {
			t.Errorf("it has %s left, of an hour", left)
		}
		time.Sleep(2 * time.Hour)
		if got := b.request(r.ID); got.Status != approvals.RequestExpired {
			t.Errorf("after two hours it is %s", got.Status)
		}
		b.stop()
		b.store.Close()
	})
}

// TestApprovalOfUnknownAgeIsAskedAgain has an approval be given in what is now the future.
func TestApprovalOfUnknownAgeIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, 365 * 24 * time.Hour} {
		b := newBench(t)
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.must(b.pending(id)[0], bob, approvals.Approve, "")
		b.forge(r.ID, func(r *approvals.Request) { r.Settled = r.Settled.Add(ahead) })
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if ran := len(b.effects.all()) == 1; ran != (ahead == 0) {
			t.Errorf("approved %s ahead: ran %v", ahead, ran)
		}
		b.stop()
	}
}

// TestVerifyComparesRecordsWithTheTrail forges records behind the trail's back, one at a time.
func TestVerifyComparesRecordsWithTheTrail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request func(*approvals.Request)
		effect  func(*approvals.EffectRecord)
		want    string
	}{
		"nothing":         {},
		"another decider": {request: func(r *approvals.Request) { r.Decisions[0].By = cara }, want: "decisions"},
		"another verdict": {request: func(r *approvals.Request) { r.Decisions[0].Verdict = approvals.AlwaysApprove },
			want: "decisions"},
		"one more": {request: func(r *approvals.Request) {
			r.Decisions = append(r.Decisions,
				r.Decisions[0])
		}, want: "decisions"},
		"one less": {request: func(r *approvals.Request) { r.Decisions = nil }, want: "decisions"},
		"another reason": {request: func(r *approvals.Request) { r.Decisions[0].Reason = "as you like" },
			want: "decisions"},
		"taken back": {request: func(r *approvals.Request) { r.Decisions[0].Void = "left" }, want: "decisions"},
		"another status": {request: func(r *approvals.Request) { r.Status = approvals.RequestRejected },
			want: "rejected"},
		"another call": {request: func(r *approvals.Request) { r.Digest[0]++ }, want: "another call"},
		"another demand": {request: func(r *approvals.Request) {
			r.Requirement.SelfApproval = !r.Requirement.SelfApproval
		}, want: "demands something else"},
		"another outcome": {request: func(r *approvals.Request) { r.Outcome = approvals.OutcomeNotRun },
			want: "not run"},
		"another output": {effect: func(e *approvals.EffectRecord) { e.Output.Text = "paid twice" },
			want: "output"},
		"never done":             {effect: func(e *approvals.EffectRecord) { e.Done = time.Time{} }, want: "done"},
		"begun more often":       {effect: func(e *approvals.EffectRecord) { e.Attempt++ }, want: "begun"},
		"another request":        {effect: func(e *approvals.EffectRecord) { e.Request = "" }, want: "another request"},
		"an effect nobody knows": {effect: func(e *approvals.EffectRecord) { e.ID += "x" }, want: "does not know"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := told(t)
			var id approvals.RequestID
			err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
				heads, _, err := tx.QueryRequests(approvals.RequestQuery{Workspace: ws, Limit: 1})
				if err != nil {
					return err
				}
				id = heads[0].ID
				effects, err := tx.EffectsOfRun(ws, heads[0].Run)
				if err != nil || c.effect == nil {
					return err
				}
				c.effect(effects[0])
				return tx.PutEffect(effects[0])
			})
			if err != nil {
				t.Fatal(err)
			}
			if c.request != nil {
				b.forge(id, c.request)
			}
			report, err := approvals.VerifyAudit(t.Context(), b.store, approvals.VerifyOptions{})
			bad, found := errors.AsType[*approvals.AuditError](err)
			switch {
			case c.want == "" && (err != nil ||
				report.Workspaces[0].Requests != 1 || report.Workspaces[0].GoneRequests != 0 ||
				report.Workspaces[0].Effects != 1 || report.Workspaces[0].GoneEffects != 0):
				t.Errorf("%+v, %v", report, err)
			case c.want != "" && (!found || !strings.Contains(bad.Reason, c.want)):
				t.Errorf("have %v, want %q", err, c.want)
			}
		})
	}
}

// TestVerifyKnowsWhatMayBeGone deletes a run with what belongs to it. Where the trail tells of that, the report counts
// the records; where it does not, the first of them is named.
func TestVerifyKnowsWhatMayBeGone(t *testing.T) {
	t.Parallel()
	for name, told := range map[string]bool{"with an entry": true, "behind the trail's back": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, request := deleted(t, told)
			report, err := approvals.VerifyAudit(t.Context(), b.store, approvals.VerifyOptions{})
			if !told {
				bad, found := errors.AsType[*approvals.AuditError](err)
				if !found || bad.Request != request || bad.Kind != approvals.FaultRecord || bad.Effect != "" {
					t.Errorf("have %v, want an error about request %s", err, request)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := report.Workspaces[0]
			if got.Requests != 0 || got.Effects != 0 || got.GoneRequests != 1 || got.GoneEffects != 1 {
				t.Errorf("%d requests and %d effects agree, %d and %d are gone; want 0, 0, 1 and 1",
					got.Requests, got.Effects, got.GoneRequests, got.GoneEffects)
			}
		})
	}
}

// deleted is a bench whose run was deleted, and that run's request.
func deleted(t *testing.T, tell bool) (*bench, approvals.RequestID) {
	t.Helper()
	b := told(t)
	var head *approvals.RequestHead
	err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
		heads, _, err := tx.QueryRequests(approvals.RequestQuery{Workspace: ws, Limit: 1})
		if err != nil {
			return err
		}
		head = heads[0]
		return errors.Join(tx.DeleteRun(ws, head.Run), tx.DeleteRequest(ws, head.ID))
	})
	if err == nil && tell {
		err = approvals.TellDeletion(t.Context(), b.store, head)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b, head.ID
}

// TestVerifyAgainstAHeadKeptElsewhere cuts the trail off, and writes its end anew: the chain holds, the head is gone.
func TestVerifyAgainstAHeadKeptElsewhere(t *testing.T) {
	t.Parallel()
	b := told(t)
	report, err := b.service.VerifyAudit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := approvals.VerifyOptions{Head: report.Workspaces[0].Head}
	if report, err := approvals.VerifyAudit(t.Context(), b.store, kept); err != nil || !report.HeadFound {
		t.Errorf("control: %v, %v", report.HeadFound, err)
	}
	b.submitAt(approvals.Place{Surface: "slack", Channel: "C1", Thread: "2.1"})
	if _, err := approvals.VerifyAudit(t.Context(), b.store, kept); err != nil {
		t.Errorf("with more behind it: %v", err)
	}
	for name, change := range map[string]func([]*approvals.AuditEntry) []*approvals.AuditEntry{
		"an actor, and everything behind hashed anew": func(all []*approvals.AuditEntry) []*approvals.AuditEntry {
			all[2].Actor = string(cara)
			return approvals.Relink(all)
		},
	} {
		forged := tampered{b.store, change}
		if _, err := approvals.VerifyAudit(t.Context(), forged, approvals.VerifyOptions{}); err != nil {
			t.Errorf("%s: it shows without a head, so this shows nothing: %v", name, err)
		}
		if _, err := approvals.VerifyAudit(t.Context(), forged, kept); err == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
}

// TestLeaversVoteDoesNotCount has one of two approvers lose the right to decide before the other answers.
func TestLeaversVoteDoesNotCount(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(b *bench){
		"deactivated":      func(b *bench) { b.people.deactivate(bob) },
		"left the channel": func(b *bench) { b.people.leaves("C1", bob) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := asked(t, with(func(q *approvals.Requirement) { quorum(q, 2) }))
			b.must(r, bob, approvals.Approve, "")
			leave(b)
			got := b.must(r, cara, approvals.Approve, "")
			if got.Status != approvals.RequestPending {
				t.Fatalf("it is %s by %+v", got.Status, got.Decisions)
			}
			if got.Decisions[0].Void == "" || b.count(approvals.AuditDecisionVoided) != 1 {
				t.Errorf("the vote that does not count: %+v", got.Decisions[0])
			}
			if got := b.must(r, ann, approvals.Approve, ""); got.Status != approvals.RequestApproved {
				t.Errorf("with a third person it is %s", got.Status)
			}
			b.trail()
		})
	}
}

// TestReturnedVoterMayVoteAgain has somebody whose vote was taken back come back.
func TestReturnedVoterMayVoteAgain(t *testing.T) {
	t.Parallel()
	b, r := asked(t, with(func(q *approvals.Requirement) { quorum(q, 2) }))
	b.must(r, bob, approvals.Approve, "")
	b.refused(r, bob, approvals.Approve, approvals.ErrConflict)
	b.people.deactivate(bob)
	b.must(r, cara, approvals.Approve, "")
	b.people.mu.Lock()
	b.people.persons[bob] = approvals.Person{ID: bob, Regular: true}
	b.people.mu.Unlock()
	if got := b.must(r, bob, approvals.Approve, ""); got.Status != approvals.RequestApproved {
		t.Errorf("it is %s", got.Status)
	}
	b.trail()
}

// TestUnreachableConversationBlindsNoList has one channel and one group of which nothing can be found out: the list
// shows the rest, and says how many are missing.
func TestUnreachableConversationBlindsNoList(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	b.submit()
	other := b.submitAt(approvals.Place{Surface: "slack", Channel: "C2", Thread: "2.1"})
	b.question(other)
	b.until("both", func() bool {
		page, err := b.service.Pending(b.Context(), approvals.PendingQuery{Workspace: ws, Viewer: bob})
		return err == nil && len(page.Requests) == 2
	})
	for _, mine := range []bool{true, false} {
		q := approvals.PendingQuery{Workspace: ws, Viewer: bob, Mine: mine}
		b.people.failChannel("C2", errors.New("ratelimited"))
		page, err := b.service.Pending(t.Context(), q)
		if err != nil || len(page.Requests) != 1 || page.Unjudged != 1 {
			t.Errorf("mine %v, one channel without an answer: %d listed, %d not judged, %v", mine, len(page.Requests),
				page.Unjudged, err)
		}
		b.people.failChannel("C2", approvals.ErrNotFound)
		page, err = b.service.Pending(t.Context(), q)
		if err != nil || len(page.Requests) != 1 || page.Unjudged != 0 {
			t.Errorf("mine %v, a channel that is gone: %d listed, %d not judged, %v",
				mine, len(page.Requests), page.Unjudged, err)
		}
		b.people.failChannel("C2", nil)
	}
}

// TestQueueIsNoBurdenToTheRun puts fifty messages of 100 KiB behind a run: its record stays small, and the next run
// starts with no more than one submission may hold.
func TestQueueIsNoBurdenToTheRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		in := b.submission(bob, place, fmt.Sprintf("%02d", i)+strings.Repeat("x", 100<<10-2))
		if got, err := b.service.Submit(t.Context(), in); err != nil || got.Outcome != approvals.SubmitQueued {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	record, err := json.Marshal(b.run(id))
	if err != nil || len(record) > 10<<10 {
		t.Errorf("the run's record has %d bytes, %v", len(record), err)
	}
	for i := range 50 {
		if _, err := b.service.CancelRun(t.Context(), ws, id, b.run(id).Requester, ""); err != nil {
			t.Fatal(err)
		}
		id = b.activeIn(place.Thread)
		r := b.run(id)
		if len(r.Input) > 100<<10 || !strings.HasPrefix(r.Input, fmt.Sprintf("%02d", i)) || r.Queued != 49-i {
			t.Fatalf("run %d starts with %d bytes, %d wait", i, len(r.Input), r.Queued)
		}
	}
}

// reading is a store that counts what is read of saved states and sessions, and refuses to have a state read whole
// inside a write transaction.
type reading struct {
	approvals.Store
	t         testing.TB
	bytes     atomic.Int64
	unbounded atomic.Int64 // whole states read in write transactions
}

func (r *reading) View(ctx context.Context, fn func(approvals.Tx) error) error {
	return r.Store.View(ctx, func(tx approvals.Tx) error { return fn(&readingTx{Tx: tx, r: r}) })
}

func (r *reading) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	return r.Store.Update(ctx, func(tx approvals.Tx) error { return fn(&readingTx{Tx: tx, r: r, write: true}) })
}

type readingTx struct {
	approvals.Tx
	r     *reading
	write bool
}

func (tx *readingTx) State(w approvals.WorkspaceID, run approvals.RunID) (json.RawMessage, []json.RawMessage, error) {
	if tx.write {
		tx.r.unbounded.Add(1)
	}
	return tx.Tx.State(w, run)
}

func (tx *readingTx) SessionTail(w approvals.WorkspaceID, p approvals.Place, n int) ([]json.RawMessage, int, error) {
	chunks, older, err := tx.Tx.SessionTail(w, p, n)
	for _, c := range chunks {
		tx.r.bytes.Add(int64(len(c)))
	}
	return chunks, older, err
}

// TestLongThreadIsNotReadWhole has a thread of 500 runs of 64 KiB: a mention there reads what the agent is told, not
// all of it.
func TestLongThreadIsNotReadWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	chunk, err := json.Marshal([]agent.Item{agent.UserMessage(strings.Repeat("long ago ", 7<<10))})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
			for j := range 10 {
				if err := tx.AppendSession(ws, place, fmt.Sprintf("run_%d_%d", i, j), chunk); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	st := &reading{Store: b.store, t: t}
	id := b.submit()
	if err := b.handler(t.Context(), st)(runJob(id)); err != nil {
		t.Fatal(err)
	}
	b.reaches(id, approvals.RunWaiting)
	if n := st.bytes.Load(); n == 0 || n > 400_000 {
		t.Errorf("%d bytes of memory read, an agent is told 400,000 at most", n)
	}
}

// TestCancelReadsNoLongStateInItsTransaction ends runs with a long saved state.
func TestCancelReadsNoLongStateInItsTransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	st := &reading{Store: b.store, t: t}
	b.serve(&mortal{Store: b.store})
	service, err := approvals.NewService(approvals.ServiceConfig{
		Store: st, Policy: b.policy, Directory: b.people, Agents: b.agents,
		Requesters: approvals.Approvers{ChannelMembers: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.CancelRun(t.Context(), ws, id, ann, ""); err != nil {
		t.Fatal(err)
	}
	if st.unbounded.Load() != 0 {
		t.Error("the whole state was read while the only writer waits")
	}
}

// TestOutageIsToldOnceAndFillsNoTrail has a directory that does not answer for a long time.
func TestOutageIsToldOnceAndFillsNoTrail(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := b.step()
	id := b.submit()
	b.people.fail(errors.New("no line"))
	entries := func() int { return len(b.trail()) }
	for n := range 6 {
		job := runJob(id)
		job.Attempts = n
		if err := step(job); err == nil {
			t.Fatal("the run went on without a directory")
		}
	}
	before := entries()
	for n := range 20 {
		job := runJob(id)
		job.Attempts = 6 + n
		if err := step(job); err == nil {
			t.Fatal("the run went on without a directory")
		}
	}
	if after := entries(); after != before {
		t.Errorf("twenty attempts have left %d entries", after-before)
	}
	var said []string
	err := b.store.View(t.Context(), func(tx approvals.Tx) error {
		all, err := tx.Notifications(ws, place, "", 100)
		for _, n := range all {
			said = append(said, n.Text)
		}
		return err
	})
	if err != nil || len(said) != 1 || !strings.Contains(said[0], "has to wait") {
		t.Errorf("people read %q, %v", said, err)
	}
	b.people.fail(nil)
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	if r := b.run(id); r.Status != approvals.RunWaiting || r.Waits != "" {
		t.Errorf("afterwards the run is %s, %q", r.Status, r.Waits)
	}
}

// TestOutputIsKeptUntilItCanBeWritten has the disk be full when a call has finished: its output is recorded as soon as
// there is space, and nobody is asked what became of it.
func TestOutputIsKeptUntilItCanBeWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		st := &replica{Store: b.store}
		tools := b.tools()
		work := tools[0].Invoke
		tools[0].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			out, err := work(ctx, c)
			st.fail(errors.New("no space left on device"))
			return out, err
		}
		b.agent(asks(call("c1", "pay", `{}`)), tools...)
		id := b.submit()
		alone := &exclusiveReplica{st}
		handle := b.handler(t.Context(), alone)
		if err := handle(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.must(b.pending(id)[0], bob, approvals.Approve, "")
		ended := make(chan error, 1)
		go func() { ended <- handle(runJob(id)) }()
		time.Sleep(5 * time.Minute)
		st.fail(nil)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if got := b.run(id); got.Status != approvals.RunDone || b.request(r.ID).Outcome != approvals.OutcomeRan {
			t.Errorf("the run is %s, the call %q", got.Status, b.request(r.ID).Outcome)
		}
		if n := len(b.effects.all()); n != 1 {
			t.Errorf("%d effects", n)
		}
		b.store.Close()
	})
}

// TestRefusedOutputEndsTheExecution has the store refuse an output for good, which only a defect of it can do: the run
// does not wait for ever, and people are asked what became of the call.
func TestRefusedOutputEndsTheExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		st := &replica{Store: b.store}
		tools := b.tools()
		work := tools[0].Invoke
		tools[0].Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			out, err := work(ctx, c)
			st.fail(approvals.ErrInvalid)
			return out, err
		}
		b.agent(asks(call("c1", "pay", `{}`)), tools...)
		id := b.submit()
		handle := b.handler(t.Context(), &exclusiveReplica{st})
		if err := handle(runJob(id)); err != nil {
			t.Fatal(err)
		}
		b.must(b.pending(id)[0], bob, approvals.Approve, "")
		ended := make(chan error, 1)
		go func() { ended <- handle(runJob(id)) }()
		select {
		case <-ended:
		case <-time.After(time.Hour):
			t.Error("it still waits after an hour")
		}
		st.fail(nil)
		if err := handle(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if open := b.pending(id); len(open) != 1 || open[0].Kind != agent.OutcomeUnknown {
			t.Errorf("people are asked %d questions", len(open))
		}
		b.store.Close()
	})
}

// exclusiveReplica is a replica that is alone.
type exclusiveReplica struct{ *replica }

func (exclusiveReplica) Exclusive() bool { return true }

// TestDeadLetters has a notification that can never be delivered: it holds up nothing, is listed, and is shown when it
// is sent again.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refuse := true
	b.surface.intercept = func(n *approvals.Notification) error {
		if refuse && n.Kind == approvals.NotifyCard {
			return fmt.Errorf("%w: channel_not_found", approvals.ErrUndeliverable)
		}
		return nil
	}
	b.start()
	id := b.submit()
	r := b.question(id)
	b.until("the notice behind it", func() bool { return len(b.surface.texts(approvals.NotifyNotice)) == 1 })
	dead, err := b.service.DeadLetters(t.Context(), ws, "", 0)
	if err != nil || len(dead) != 1 || dead[0].Request != r.ID || !strings.Contains(dead[0].Why, "channel_not_found") {
		t.Fatalf("dead letters %+v, %v", dead, err)
	}
	b.surface.mu.Lock()
	refuse = false
	b.surface.mu.Unlock()
	if n, err := b.service.Replay(t.Context(), ws, dead[0].ID, "ntf_other"); n != 1 || err != nil {
		t.Fatalf("%d replayed, %v", n, err)
	}
	b.until("the card", func() bool { return b.surface.status(r.ID) == approvals.RequestPending })
	if dead, err := b.service.DeadLetters(t.Context(), ws, "", 0); err != nil || len(dead) != 0 {
		t.Errorf("dead letters afterwards: %d, %v", len(dead), err)
	}
	if b.count(approvals.AuditReplayed) != 1 {
		t.Error("not audited")
	}
}

// TestTimersOfSettledRequestsAreGone leaves no job behind that has nothing to do.
func TestTimersOfSettledRequestsAreGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		id := b.submit()
		time.Sleep(time.Second)
		r := b.pending(id)[0]
		if r.NextAct.IsZero() {
			t.Fatal("no timer: this shows nothing")
		}
		b.must(r, bob, approvals.Approve, "")
		time.Sleep(time.Second)
		b.stop()
		b.policy.always(with(func(q *approvals.Requirement) { q.ExpiresIn = time.Hour }))
		time.Sleep(2 * time.Hour)
		timers := 0
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- b.store.Dispatch(ctx, func(_ context.Context, j approvals.Job) error {
				if j.Kind == approvals.JobTimer {
					timers++
				}
				return nil
			})
		}()
		time.Sleep(time.Second)
		cancel()
		if err := <-done; err != nil || timers != 0 {
			t.Errorf("%d timers of settled requests are left, %v", timers, err)
		}
		b.store.Close()
	})
}
