package approvals_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/rapidtest"
)

// rushed is a machine in which people answer the same requests in every way there is: by clicks and in batches, as one
// of two who are needed, before and after the escalation, and while time ends the request, somebody cancels the run, a
// grant is revoked or a worker goes on. Some of it happens at the same time.
type rushed struct {
	*machine
	mu    sync.Mutex // for what acts note
	batch int
	late  approvals.UserID // who may answer only after the escalation, and then each call alone
}

// act is something that was drawn and is still to be done.
type act func() error

func newRushed(outer *testing.T, t *rapid.T) *rushed {
	m := &rushed{machine: newMachine(outer, t)}
	dan := withDan(m.bench)
	m.late = dan
	m.deciders = []approvals.UserID{ann, bob, cara, dan, guest}
	m.policy.always(with(func(q *approvals.Requirement) {
		q.Always = generous().Always
		q.Seats = approvals.Quorum(rapid.IntRange(1, 2).Draw(t, "seats"),
			approvals.Approvers{Users: []approvals.UserID{ann, bob, cara}})
		q.Escalation = approvals.Escalation{
			After: 5 * time.Minute, To: approvals.Approvers{Users: []approvals.UserID{dan}},
		}
		q.DenyQuorum = rapid.IntRange(1, 2).Draw(t, "rejections")
		q.ExpiresIn, q.ValidFor = 10*time.Minute, 15*time.Minute
		q.OnExpiry = rapid.SampledFrom([]approvals.OnExpiry{approvals.ExpiryReject, approvals.ExpiryCancel}).
			Draw(t, "expiry")
	}))
	return m
}

// refusal reports whether an error is an answer that people can be given: somebody or something was first.
func refusal(err error) bool {
	for _, fine := range []error{
		errDead, approvals.ErrConflict, approvals.ErrUnauthorized, approvals.ErrExpired, approvals.ErrStale,
		approvals.ErrEnded, approvals.ErrNotBatched,
	} {
		if errors.Is(err, fine) {
			return true
		}
	}
	return false
}

// drawAct draws something to do with the requests and runs there are.
func (m *rushed) drawAct(t *rapid.T) act {
	all := m.all()
	if len(all) == 0 {
		t.Skip("nothing to act on")
	}
	if open := slices.DeleteFunc(slices.Clone(all), func(r *approvals.Request) bool {
		return r.Status != approvals.RequestPending
	}); len(open) > 0 && rapid.IntRange(0, 9).Draw(t, "late") > 0 {
		all = open
	}
	r := rapid.SampledFrom(all).Draw(t, "request")
	by := rapid.SampledFrom(m.deciders).Draw(t, "by")
	switch rapid.SampledFrom([]string{
		"decide", "decide", "decide", "batch", "batch", "expire", "cancel", "revoke", "work",
	}).Draw(t, "act") {
	case "batch":
		return m.drawBatch(t, all, by)
	case "expire":
		return func() error {
			m.step(expireJob(r.ID)) //nolint:errcheck // whatever it says, the records must hold
			return m.service.Expire(m.Context(), ws, r.ID)
		}
	case "cancel":
		if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
			t.Skip("not cancelled")
		}
		return func() error {
			_, err := m.service.CancelRun(m.Context(), ws, r.Run, by, "enough")
			return err
		}
	case "revoke":
		return m.drawRevocation(t, by)
	case "work":
		return func() error {
			m.step(runJob(r.Run)) //nolint:errcheck // as above
			return nil
		}
	}
	verdict := rapid.SampledFrom([]approvals.Verdict{
		approvals.Approve, approvals.Approve, approvals.AlwaysApprove, approvals.AlwaysApprove, approvals.Reject,
		approvals.AlwaysReject,
	}).Draw(t, "verdict")
	if r.Kind == agent.OutcomeUnknown {
		verdict = approvals.MarkDone
	}
	m.batch++
	d := approvals.Decision{ID: approvals.DecisionID(fmt.Sprint("one_", m.batch)), Workspace: ws, Request: r.ID,
		By: by, Verdict: verdict, Reason: "because", Digest: r.Digest, Via: "button"}
	if verdict == approvals.AlwaysApprove && r.Kind == agent.Confirm && rapid.Bool().Draw(t, "grant") {
		d.Grant = &approvals.GrantTerms{Scope: approvals.ScopeThread, Uses: rapid.IntRange(0, 2).Draw(t, "uses")}
	}
	return func() error {
		_, err := m.service.Decide(m.Context(), d)
		m.took(d, err)
		if errors.Is(err, approvals.ErrInvalid) && d.By == m.late && d.Verdict != approvals.Approve {
			return nil
		}
		return err
	}
}

// took notes an answer that was taken.
func (m *rushed) took(d approvals.Decision, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.acked[d.ID] = d
	}
}

func (m *rushed) drawBatch(t *rapid.T, all []*approvals.Request, by approvals.UserID) act {
	m.batch++
	b := approvals.Batch{ID: approvals.DecisionID(fmt.Sprint("batch_", m.batch)), Workspace: ws, By: by,
		Verdict: rapid.SampledFrom([]approvals.Verdict{approvals.Approve, approvals.Reject}).Draw(t, "verdict"),
		Reason:  "because", Via: "button"}
	for _, r := range rapid.SliceOfN(rapid.SampledFrom(all), 1, 4).Draw(t, "requests") {
		b.Requests = append(b.Requests, approvals.BatchItem{Request: r.ID, Digest: r.Digest})
	}
	times := rapid.IntRange(1, 2).Draw(t, "times")
	return func() error {
		for range times {
			answers, err := m.service.DecideAll(m.Context(), b)
			if err != nil {
				return err
			}
			for _, a := range answers {
				d := approvals.Decision{ID: b.ID + "/" + approvals.DecisionID(a.ID), Request: a.ID, By: b.By,
					Verdict: b.Verdict}
				if m.took(d, a.Err); a.Err != nil && !refusal(a.Err) {
					return a.Err
				}
			}
		}
		return nil
	}
}

func (m *rushed) drawRevocation(t *rapid.T, by approvals.UserID) act {
	grants, _, err := m.service.Grants(m.Context(), ws, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	if len(grants) == 0 {
		t.Skip("nothing to revoke")
	}
	g := rapid.SampledFrom(grants).Draw(t, "grant")
	return func() error {
		_, err := m.service.RevokeGrant(m.Context(), approvals.Revocation{Workspace: ws, Grant: g.ID, By: by,
			Reason: "because", Via: "button"})
		return err
	}
}

// one does one thing, and rush some at the same time.
func (m *rushed) one(t *rapid.T) { m.do(t, m.drawAct(t)) }

func (m *rushed) rush(t *rapid.T) {
	m.do(t, rapid.SliceOfN(rapid.Custom(m.drawAct), 2, 5).Draw(t, "acts")...)
}

func (m *rushed) do(t *rapid.T, acts ...act) {
	errs := make([]error, len(acts))
	var all sync.WaitGroup
	for i, a := range acts {
		all.Go(func() { errs[i] = a() })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil && !refusal(err) {
			t.Fatal(err)
		}
	}
}

// check is what must hold at every moment.
func (m *rushed) check(t *rapid.T) {
	m.machine.check(t)
	if fault := settledOnce(m.all(), m.entries()); fault != "" {
		t.Fatal(fault)
	}
}

// settledOnce says what is wrong with how requests ended: one has two ends, an answer was taken after it, or it was
// approved by too few people.
func settledOnce(all []*approvals.Request, trail []*approvals.AuditEntry) string {
	ended := map[approvals.RequestID]approvals.AuditAction{}
	for _, e := range trail {
		before := ended[e.Request]
		status, moved := approvals.RequestActions[e.Action]
		switch {
		case e.Action == approvals.AuditDecision && before != "":
			return fmt.Sprintf("I6: %s has an answer behind its end, %s", e.Request, before)
		case !moved || status == approvals.RequestPending:
		case before == approvals.AuditRequestApproved && status == approvals.RequestStale: // its call never began
		case before != "":
			return fmt.Sprintf("I6: %s ended twice, with %s and %s", e.Request, before, e.Action)
		default:
			ended[e.Request] = e.Action
		}
	}
	for _, r := range all {
		if ended[r.ID] != approvals.AuditRequestApproved || r.Kind != agent.Confirm || r.Standing() != nil {
			continue
		}
		people := map[approvals.UserID]bool{}
		for _, d := range r.Decisions {
			if d.Void == "" && d.Verdict.Affirms() {
				people[d.By] = true
			}
		}
		if len(people) < len(r.Requirement.Seats) {
			return fmt.Sprintf("I2: %s was approved by %d of %d", r.ID, len(people), len(r.Requirement.Seats))
		}
	}
	return ""
}

// TestMachineOfManyAnswersControl: histories in which a request ends twice, has an answer behind its end, or is
// approved by too few, are found out.
func TestMachineOfManyAnswersControl(t *testing.T) {
	t.Parallel()
	const id = approvals.RequestID("req_1")
	by := func(people ...approvals.UserID) (all []approvals.Decision) {
		for _, u := range people {
			all = append(all, approvals.Decision{By: u, Verdict: approvals.Approve})
		}
		return all
	}
	for name, c := range map[string]struct {
		actions   []approvals.AuditAction
		decisions []approvals.Decision
		sound     bool
	}{
		"sound": {[]approvals.AuditAction{approvals.AuditDecision, approvals.AuditDecision,
			approvals.AuditRequestApproved, approvals.AuditRequestStale}, by(bob, cara), true},
		"two ends": {[]approvals.AuditAction{approvals.AuditRequestApproved, approvals.AuditRequestExpired},
			by(bob, cara), false},
		"an answer too late": {[]approvals.AuditAction{approvals.AuditRequestCancelled, approvals.AuditDecision},
			by(bob), false},
		"too few":    {[]approvals.AuditAction{approvals.AuditRequestApproved}, by(bob), false},
		"one of two": {[]approvals.AuditAction{approvals.AuditRequestApproved}, by(bob, bob), false},
	} {
		var trail []*approvals.AuditEntry
		for _, a := range c.actions {
			trail = append(trail, &approvals.AuditEntry{Action: a, Request: id})
		}
		r := &approvals.Request{RequestHead: approvals.RequestHead{ID: id, Kind: agent.Confirm,
			Status: approvals.RequestApproved, Decisions: c.decisions,
			Requirement: with(func(q *approvals.Requirement) { quorum(q, 2) })}}
		if fault := settledOnce([]*approvals.Request{r}, trail); (fault == "") != c.sound {
			t.Errorf("%s: %q", name, fault)
		}
	}
}

// TestMachineOfManyAnswers is TestMachine about requests that several ways of ending meet.
func TestMachineOfManyAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(outer *testing.T) {
		rapidtest.CheckFew(struct{ rapid.TB }{outer}, sequences(5), func(t *rapid.T) {
			m := newRushed(outer, t)
			defer func() {
				m.stop()
				m.store.Close()
			}()
			t.Repeat(map[string]func(*rapid.T){
				"submit": m.submit, "time passes": m.pass, "rest": m.settle, "crash": m.doomed, "": m.check,
				"one": m.one, "one 2": m.one, "one 3": m.one, "rush": m.rush, "rush 2": m.rush, "work": m.work,
			})
		})
	})
}
