package approvals_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
)

// asked is a bench with one pending request, and no worker.
func asked(t *testing.T, q approvals.Requirement) (*bench, *approvals.Request) {
	t.Helper()
	b := newBench(t)
	b.policy.always(q)
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	all := b.pending(id)
	if len(all) != 1 {
		t.Fatalf("%d requests; run %+v", len(all), b.run(id))
	}
	b.stop()
	return b, all[0]
}

// with returns the lenient requirement with changes.
func with(change func(*approvals.Requirement)) approvals.Requirement {
	q := lenient()
	change(&q)
	return q
}

func TestDecideAsksForTheRightPerson(t *testing.T) {
	t.Parallel()
	users := func(all ...approvals.UserID) approvals.Approvers { return approvals.Approvers{Users: all} }
	tests := []struct {
		name string
		q    approvals.Requirement
		by   approvals.UserID
		want error
	}{
		{"a member of the channel", lenient(), bob, nil},
		{"the requester, where that is allowed", lenient(), ann, nil},
		{"the requester, where it is not", with(func(q *approvals.Requirement) { q.SelfApproval = false }), ann,
			approvals.ErrUnauthorized},
		{"a guest of the channel", lenient(), guest, approvals.ErrUnauthorized},
		{"a guest named in the policy", with(func(q *approvals.Requirement) { askOf(q, users(guest, bob)) }), guest,
			approvals.ErrUnauthorized},
		{"a colleague who is not in the channel", lenient(), out, approvals.ErrUnauthorized},
		{"a colleague named in the policy", with(func(q *approvals.Requirement) { askOf(q, users(out)) }), out, nil},
		{"a member where the policy names others", with(func(q *approvals.Requirement) { askOf(q, users(cara)) }), bob,
			approvals.ErrUnauthorized},
		{"a member of the group", with(func(q *approvals.Requirement) {
			askOf(q, approvals.Approvers{Groups: []string{"S1"}})
		}), cara, nil},
		{"somebody else than the group", with(func(q *approvals.Requirement) {
			askOf(q, approvals.Approvers{Groups: []string{"S1"}})
		}), bob, approvals.ErrUnauthorized},
		{"somebody unknown", lenient(), user("ghost"), approvals.ErrUnauthorized},
		{"a person of another workspace", lenient(), approvals.NewUserID("T2", "bob"), approvals.ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, r := askedWithGroup(t, tt.q)
			got, err := b.decide(r, tt.by, approvals.Approve, "")
			if !errors.Is(err, tt.want) {
				t.Fatalf("have %v, want %v", err, tt.want)
			}
			wantStatus := approvals.RequestPending
			if tt.want == nil {
				wantStatus = approvals.RequestApproved
			}
			if now := b.request(r.ID); now.Status != wantStatus {
				t.Errorf("request is %s", now.Status)
			}
			unauthorized := errors.Is(tt.want, approvals.ErrUnauthorized)
			if n := b.count(approvals.AuditDecisionRefused); (n == 1) != unauthorized {
				t.Errorf("%d refusals audited", n)
			}
			if unauthorized && got == nil {
				t.Error("no request comes with the refusal")
			}
			may := b.service.MayDecide(t.Context(), r, tt.by)
			if !errors.Is(tt.want, approvals.ErrInvalid) && !errors.Is(may, tt.want) {
				t.Errorf("MayDecide says %v", may)
			}
		})
	}
}

func askedWithGroup(t *testing.T, q approvals.Requirement) (*bench, *approvals.Request) {
	t.Helper()
	b := newBench(t)
	b.people.setGroup("S1", cara)
	b.policy.always(q)
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	b.stop()
	return b, b.question(id)
}

func TestDecideInDirectConversation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.start()
	id := b.submitAt(approvals.Place{Surface: "slack", Channel: "D1", Thread: "1", Direct: true})
	r := b.question(id)
	b.refused(r, bob, approvals.Approve, approvals.ErrUnauthorized)
	b.must(r, ann, approvals.Approve, "")
	b.reaches(id, approvals.RunDone)
}

func TestDecideRefusesUnfit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		q     approvals.Requirement
		spoil func(*approvals.Decision)
		want  error
	}{
		{"control", lenient(), func(*approvals.Decision) {}, nil},
		{"control: always", lenient(), func(d *approvals.Decision) { d.Verdict = approvals.AlwaysApprove }, nil},
		{"what was shown is something else", lenient(),
			func(d *approvals.Decision) { d.Digest[0]++ }, approvals.ErrStale},
		{"nothing was shown", lenient(), func(d *approvals.Decision) { d.Digest = agent.Digest{} }, approvals.ErrStale},
		{"no verdict", lenient(), func(d *approvals.Decision) { d.Verdict = "" }, approvals.ErrInvalid},
		{"a verdict of another kind of question", lenient(),
			func(d *approvals.Decision) { d.Verdict = approvals.Retry }, approvals.ErrInvalid},
		{"a standing answer that is not allowed", with(func(q *approvals.Requirement) { q.Always = nil }),
			func(d *approvals.Decision) { d.Verdict = approvals.AlwaysReject }, approvals.ErrInvalid},
		{"an endless reason", lenient(),
			func(d *approvals.Decision) { d.Reason = strings.Repeat("é", 2001) }, approvals.ErrInvalid},
		{"control: the longest reason", lenient(),
			func(d *approvals.Decision) { d.Reason = strings.Repeat("é", 2000) }, nil},
		{"no request", lenient(), func(d *approvals.Decision) { d.Request = "req_none" }, approvals.ErrNotFound},
		{"a request of another workspace", lenient(), func(d *approvals.Decision) {
			d.Workspace, d.By = "T2", approvals.NewUserID("T2", "bob")
		}, approvals.ErrNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, r := asked(t, tt.q)
			d := approvals.Decision{
				Workspace: ws, Request: r.ID, Digest: r.Digest,
				By: bob, Verdict: approvals.Approve, Via: "button",
			}
			tt.spoil(&d)
			got, err := b.service.Decide(t.Context(), d)
			if !errors.Is(err, tt.want) {
				t.Fatalf("have %v, want %v", err, tt.want)
			}
			if withRequest := tt.want == nil || errors.Is(tt.want, approvals.ErrStale); (got != nil) != withRequest {
				t.Errorf("request %v", got)
			}
			now := b.request(r.ID)
			if tt.want != nil && (now.Status != approvals.RequestPending || len(now.Decisions) != 0) {
				t.Errorf("request is %s with %d decisions", now.Status, len(now.Decisions))
			}
		})
	}
}

func TestDecideQuorum(t *testing.T) {
	t.Parallel()
	two := with(func(q *approvals.Requirement) { quorum(q, 2); q.SelfApproval = false })
	b, r := asked(t, two)
	if got := b.must(r, bob, approvals.Approve, ""); got.Status != approvals.RequestPending {
		t.Fatalf("settled by one of two: %s", got.Status)
	}
	b.refused(r, bob, approvals.Approve, approvals.ErrConflict) // one seat per person
	b.refused(r, bob, approvals.Reject, approvals.ErrConflict)
	b.refused(r, ann, approvals.Approve, approvals.ErrUnauthorized)
	got := b.must(r, cara, approvals.Approve, "")
	if got.Status != approvals.RequestApproved || got.Settler().By != cara {
		t.Errorf("%s by %v", got.Status, got.Settler())
	}
	late, err := b.decide(r, cara, approvals.Reject, "")
	if !errors.Is(err, approvals.ErrConflict) || late.Settler().By != cara {
		t.Errorf("late answer: %v, %v", late, err)
	}
}

func TestDecideDenyQuorum(t *testing.T) {
	t.Parallel()
	q := with(func(q *approvals.Requirement) { quorum(q, 2); q.DenyQuorum = 2 })
	b, r := asked(t, q)
	b.must(r, ann, approvals.Reject, "")
	b.must(r, bob, approvals.Approve, "")
	if got := b.must(r, cara, approvals.Reject, ""); got.Status != approvals.RequestRejected {
		t.Errorf("%s after two of two rejections", got.Status)
	}
}

// TestDecideOutOfReach has people decline, fewer than the deny quorum, until those who are left are too few to approve.
func TestDecideOutOfReach(t *testing.T) {
	t.Parallel()
	type answer struct {
		by approvals.UserID
		v  approvals.Verdict
	}
	no, yes := approvals.Reject, approvals.Approve
	named := func(all ...approvals.UserID) func(*approvals.Requirement) {
		return func(q *approvals.Requirement) {
			q.Seats = approvals.Quorum(2, approvals.Approvers{Users: all})
			q.DenyQuorum = 2
		}
	}
	for _, tt := range []struct {
		name    string
		change  func(*approvals.Requirement)
		answers []answer
		want    approvals.RequestStatus
	}{
		{"one of two declines", named(ann, bob), []answer{{bob, no}}, approvals.RequestRejected},
		{"one of three declines", named(ann, bob, cara), []answer{{bob, no}}, approvals.RequestPending},
		{"one of three declines, one approves", named(ann, bob, cara),
			[]answer{{bob, no}, {ann, yes}}, approvals.RequestPending},
		{"one approves, the other declines", named(ann, bob),
			[]answer{{ann, yes}, {bob, no}}, approvals.RequestRejected},
		{"one approves, the other has not answered", named(ann, bob), []answer{{ann, yes}}, approvals.RequestPending},
		{"who is left is no regular person", named(ann, bob, guest), []answer{{bob, no}}, approvals.RequestRejected},
		{"who is left is the requester", func(q *approvals.Requirement) {
			named(ann, bob, cara)(q)
			q.SelfApproval = false
		}, []answer{{bob, no}}, approvals.RequestRejected},
		{"who is left is in the channel", func(q *approvals.Requirement) { quorum(q, 2); q.DenyQuorum = 2 },
			[]answer{{bob, no}}, approvals.RequestPending},
		{"all of the channel are needed", func(q *approvals.Requirement) { quorum(q, 3); q.DenyQuorum = 2 },
			[]answer{{bob, no}}, approvals.RequestRejected},
		{"who declines for ever binds nobody", named(ann, bob),
			[]answer{{bob, approvals.AlwaysReject}}, approvals.RequestRejected},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, r := asked(t, with(tt.change))
			var got *approvals.Request
			for _, a := range tt.answers {
				got = b.must(r, a.by, a.v, "")
			}
			if got.Status != tt.want || (got.Note != "") != (tt.want == approvals.RequestRejected) {
				t.Fatalf("%s, %q; want %s", got.Status, got.Note, tt.want)
			}
			if d := got.Settler(); tt.want == approvals.RequestRejected && (d == nil || d.By != bob) {
				t.Errorf("settled by %v", d)
			}
			if tt.want == approvals.RequestRejected && b.run(r.Run).Status != approvals.RunQueued {
				t.Errorf("the run is %s", b.run(r.Run).Status)
			}
			if tt.want == approvals.RequestRejected && approvals.Standing(got) {
				t.Error("the answer of fewer than it takes counts for later calls")
			}
		})
	}
}

// TestDecideOutOfReachUnknown declines while the directory answers nothing about who is left: the answer counts, and
// the request waits.
func TestDecideOutOfReachUnknown(t *testing.T) {
	t.Parallel()
	q := with(func(q *approvals.Requirement) {
		q.Seats = approvals.Quorum(2, approvals.Approvers{Users: []approvals.UserID{bob}, Groups: []string{"S1"}})
		q.DenyQuorum = 2
	})
	b, r := askedWithGroup(t, q)
	b.people.failGroups(errors.New("down"))
	if got := b.must(r, bob, approvals.Reject, ""); got.Status != approvals.RequestPending || len(got.Decisions) != 1 {
		t.Errorf("%s with %d answers", got.Status, len(got.Decisions))
	}
}

// TestDecideOutOfReachTogether lets the two who are needed answer at once, in every order.
func TestDecideOutOfReachTogether(t *testing.T) {
	t.Parallel()
	for range 30 {
		b, r := asked(t, with(func(q *approvals.Requirement) {
			q.Seats = approvals.Quorum(2, approvals.Approvers{Users: []approvals.UserID{ann, bob, cara}})
			q.DenyQuorum = 3
		}))
		var people sync.WaitGroup
		for u, v := range map[approvals.UserID]approvals.Verdict{
			ann: approvals.Reject, bob: approvals.Reject, cara: approvals.Approve,
		} {
			people.Go(func() {
				if _, err := b.decide(r, u, v, ""); err != nil && !errors.Is(err, approvals.ErrConflict) {
					t.Error(err)
				}
			})
		}
		people.Wait()
		if got := b.request(r.ID); got.Status != approvals.RequestRejected || got.Note == "" {
			t.Fatalf("%s, %q after two of three declined", got.Status, got.Note)
		}
	}
}

func TestOneRejectionSettles(t *testing.T) {
	t.Parallel()
	b, r := asked(t, with(func(q *approvals.Requirement) { quorum(q, 2) }))
	b.must(r, ann, approvals.Approve, "")
	if got := b.must(r, bob, approvals.Reject, "no"); got.Status != approvals.RequestRejected {
		t.Errorf("%s", got.Status)
	}
}

func TestDecideIsRepeatable(t *testing.T) {
	t.Parallel()
	b, r := asked(t, lenient())
	d := approvals.Decision{
		ID: "dec_click", Workspace: ws, Request: r.ID, Digest: r.Digest,
		By: bob, Verdict: approvals.Approve, Via: "button",
	}
	first, err := b.service.Decide(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.service.Decide(t.Context(), d)
	if err != nil || again.Version != first.Version || len(again.Decisions) != 1 {
		t.Errorf("again: %+v, %v", again, err)
	}
	d.Verdict = approvals.Reject
	if _, err := b.service.Decide(t.Context(), d); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("the id of another answer: %v", err)
	}
	if n := b.count(approvals.AuditDecision); n != 1 {
		t.Errorf("%d decisions audited", n)
	}
}

// TestRepeatedWithOtherWords: a form was recorded, whoever sent it saw no confirmation, and sends it once more with
// other words or terms. They learn that the first ones stand, and the trail knows that they tried.
func TestRepeatedWithOtherWords(t *testing.T) {
	t.Parallel()
	wide, narrow := &approvals.GrantTerms{Scope: approvals.ScopeThread}, &approvals.GrantTerms{
		Scope: approvals.ScopeThread, TTL: time.Hour,
	}
	for name, tt := range map[string]struct {
		verdict approvals.Verdict
		first   approvals.Decision
		change  func(*approvals.Decision)
	}{
		"reason": {
			verdict: approvals.Reject, first: approvals.Decision{Reason: "the amount is wrong"},
			change: func(d *approvals.Decision) { d.Reason = "the payee is wrong" },
		},
		"terms of a grant": {
			verdict: approvals.AlwaysApprove, first: approvals.Decision{Grant: wide},
			change: func(d *approvals.Decision) { d.Grant = narrow },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := asked(t, with(func(q *approvals.Requirement) {
				q.Always = []approvals.Scope{approvals.ScopeRun, approvals.ScopeThread}
			}))
			d := tt.first
			d.ID, d.Workspace, d.Request, d.Digest = "dec_form", ws, r.ID, r.Digest
			d.By, d.Verdict, d.Via = bob, tt.verdict, "modal"
			for range 2 {
				if _, err := b.service.Decide(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			tt.change(&d)
			got, err := b.service.Decide(t.Context(), d)
			if !errors.Is(err, approvals.ErrConflict) || !strings.Contains(err.Error(), "as it was sent first") {
				t.Errorf("with another one: %v", err)
			}
			if len(got.Decisions) != 1 || got.Decisions[0].Reason != tt.first.Reason ||
				!cmp.Equal(got.Decisions[0].Grant, tt.first.Grant) {
				t.Errorf("decisions: %+v", got.Decisions)
			}
			if n := b.count(approvals.AuditDecisionRefused); n != 1 {
				t.Errorf("%d refused answers audited", n)
			}
		})
	}
}

func TestDecideNeedsThePolicyOfThenAndNow(t *testing.T) {
	t.Parallel()
	onlyCara := with(func(q *approvals.Requirement) { askOf(q, approvals.Approvers{Users: []approvals.UserID{cara}}) })
	t.Run("the policy has become stricter about people", func(t *testing.T) {
		t.Parallel()
		b, r := asked(t, lenient())
		b.policy.always(onlyCara)
		b.refused(r, bob, approvals.Approve, approvals.ErrUnauthorized)
		b.must(r, cara, approvals.Approve, "")
	})
	t.Run("a laxer policy does not widen an old request", func(t *testing.T) {
		t.Parallel()
		b, r := asked(t, onlyCara)
		b.policy.always(lenient())
		b.refused(r, bob, approvals.Approve, approvals.ErrUnauthorized)
	})
	t.Run("the quorum has grown", func(t *testing.T) {
		t.Parallel()
		b, r := asked(t, lenient())
		b.policy.always(with(func(q *approvals.Requirement) { quorum(q, 2) }))
		if got := b.must(r, bob, approvals.Approve, ""); got.Status != approvals.RequestPending {
			t.Fatalf("settled by one: %s", got.Status)
		}
		if got := b.must(r, cara, approvals.Approve, ""); got.Status != approvals.RequestApproved {
			t.Errorf("%s", got.Status)
		}
	})
	t.Run("the quorum has shrunk", func(t *testing.T) {
		t.Parallel()
		b, r := asked(t, with(func(q *approvals.Requirement) { quorum(q, 2) }))
		b.policy.always(lenient())
		if got := b.must(r, bob, approvals.Approve, ""); got.Status != approvals.RequestPending {
			t.Fatalf("settled by one of the two that were asked for: %s", got.Status)
		}
		if got := b.must(r, cara, approvals.Approve, ""); got.Status != approvals.RequestApproved {
			t.Errorf("%s", got.Status)
		}
	})
	t.Run("the smaller deny quorum rejects", func(t *testing.T) {
		t.Parallel()
		two := with(func(q *approvals.Requirement) { q.DenyQuorum = 2 })
		for _, policies := range [][2]approvals.Requirement{{two, lenient()}, {lenient(), two}} {
			b, r := asked(t, policies[0])
			b.policy.always(policies[1])
			if got := b.must(r, bob, approvals.Reject, ""); got.Status != approvals.RequestRejected {
				t.Errorf("%s", got.Status)
			}
		}
	})
	t.Run("an earlier voice no longer counts", func(t *testing.T) {
		t.Parallel()
		two := with(func(q *approvals.Requirement) { quorum(q, 2) })
		b, r := asked(t, two)
		b.must(r, bob, approvals.Approve, "")
		b.policy.always(with(func(q *approvals.Requirement) {
			q.Seats = approvals.Quorum(2, approvals.Approvers{Users: []approvals.UserID{ann, cara}})
		}))
		if got := b.must(r, cara, approvals.Approve, ""); got.Status != approvals.RequestPending {
			t.Fatalf("bob is no approver any more, and counted: %s", got.Status)
		}
		if got := b.must(r, ann, approvals.Approve, ""); got.Status != approvals.RequestApproved {
			t.Errorf("%s", got.Status)
		}
	})
	t.Run("standing answers are no longer allowed", func(t *testing.T) {
		t.Parallel()
		b, r := asked(t, lenient())
		b.policy.always(with(func(q *approvals.Requirement) { q.Always = nil }))
		b.refused(r, bob, approvals.AlwaysApprove, approvals.ErrInvalid)
		b.must(r, bob, approvals.Approve, "")
	})
}

func TestDecideFailsClosed(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, spoil := range map[string]func(*bench){
		"the directory does not answer": func(b *bench) { b.people.fail(broken) },
		"the policy fails": func(b *bench) {
			b.policy.set(func(*approvals.Request) (approvals.Requirement, error) {
				return approvals.Requirement{}, broken
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := asked(t, lenient())
			spoil(b)
			got, err := b.decide(r, bob, approvals.Approve, "")
			if !errors.Is(err, approvals.ErrUnavailable) || got != nil {
				t.Fatalf("have %v, %v", got, err)
			}
			if now := b.request(r.ID); now.Status != approvals.RequestPending {
				t.Errorf("request is %s", now.Status)
			}
			if n := b.count(approvals.AuditDecisionRefused); n != 1 {
				t.Errorf("%d refusals audited", n)
			}
		})
	}
}

// TestDecideRacesSettleOnce forces two answers into each other: both have been judged outside the transaction when
// the first commits.
func TestDecideRacesSettleOnce(t *testing.T) {
	t.Parallel()
	b, r := asked(t, lenient())
	gate := &meeting{Store: b.mortal, seats: 2}
	gate.all.Add(2)
	b.serve(gate)
	errs := make([]error, 2)
	got := make([]*approvals.Request, 2)
	var both sync.WaitGroup
	for i, by := range []approvals.UserID{bob, cara} {
		both.Go(func() {
			got[i], errs[i] = b.decide(r, by, []approvals.Verdict{approvals.Approve, approvals.Reject}[i], "")
		})
	}
	both.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("one must win: %v, %v", errs[0], errs[1])
	}
	for i, err := range errs {
		if err == nil {
			continue
		}
		winner := got[i].Settler()
		if !errors.Is(err, approvals.ErrConflict) || winner == nil || winner.By == []approvals.UserID{bob, cara}[i] {
			t.Errorf("the loser is told %v by %v", err, winner)
		}
	}
	if n := b.count(approvals.AuditDecision); n != 1 {
		t.Errorf("%d decisions recorded", n)
	}
}

// meeting is a store whose first updates wait for each other before they begin.
type meeting struct {
	approvals.Store
	mu    sync.Mutex
	seats int
	all   sync.WaitGroup
}

func (m *meeting) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	m.mu.Lock()
	waits := m.seats > 0
	if waits {
		m.seats--
	}
	m.mu.Unlock()
	if waits {
		m.all.Done()
		m.all.Wait()
	}
	return m.Store.Update(ctx, fn)
}

// TestDecideAsksAgainWhenOthersDecide has a vote arrive of somebody whose rights were not looked up before.
func TestDecideAsksAgainWhenOthersDecide(t *testing.T) {
	t.Parallel()
	two := with(func(q *approvals.Requirement) { quorum(q, 2) })
	b, r := asked(t, two)
	b.policy.always(with(func(q *approvals.Requirement) { quorum(q, 2); q.Policy, q.ValidFor = "newer", time.Minute }))
	hook := &before{Store: b.mortal}
	b.serve(b.mortal)
	other := b.service
	hook.do = func() {
		_, err := other.Decide(t.Context(), approvals.Decision{
			Workspace: ws, Request: r.ID, By: ann, Verdict: approvals.Approve, Digest: r.Digest, Via: "cli",
		})
		if err != nil {
			t.Error(err)
		}
	}
	b.serve(hook)
	if got := b.must(r, bob, approvals.Approve, ""); got.Status != approvals.RequestApproved {
		t.Errorf("%s after two of two", got.Status)
	}
}

// before is a store that does something once, right before an update begins.
type before struct {
	approvals.Store
	mu sync.Mutex
	do func()
}

func (s *before) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	s.mu.Lock()
	do := s.do
	s.do = nil
	s.mu.Unlock()
	if do != nil {
		do()
	}
	return s.Store.Update(ctx, fn)
}
