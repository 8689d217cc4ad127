package approvals_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
)

// amount is the argument of pay in the request.
func amount(r *approvals.Request) (n float64) {
	var in struct {
		Amount float64 `json:"amount"`
	}
	if json.Unmarshal(r.Arguments, &in) != nil {
		return -1
	}
	return in.Amount
}

// byAmount demands two people of finance for payments of more than 100, and one of the channel for others.
func byAmount(r *approvals.Request) (approvals.Requirement, error) {
	q := lenient()
	q.SelfApproval = false
	if amount(r) > 100 {
		q.Policy = "money"
		q.Seats = approvals.Quorum(2, approvals.Approvers{Groups: []string{"finance"}})
	}
	return q, nil
}

// strictly makes pay take an amount that is a number, and nothing else.
func strictly(b *bench, m agent.Model) {
	tools := b.tools()
	tools[0].Validate = func(arguments json.RawMessage) error {
		var in struct {
			Amount *float64 `json:"amount"`
		}
		d := json.NewDecoder(strings.NewReader(string(arguments)))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil || in.Amount == nil {
			return errors.New("amount must be a number")
		}
		return nil
	}
	b.agent(m, tools...)
}

// edit changes the call of r.
func (b *bench) edit(r *approvals.Request, by approvals.UserID, arguments string) (*approvals.Request, error) {
	return b.service.Decide(b.Context(), approvals.Decision{
		Workspace: r.Workspace, Request: r.ID, By: by, Verdict: approvals.Edit, Digest: r.Digest, Via: "cli",
		Arguments: json.RawMessage(arguments),
	})
}

// edited is edit that must succeed; it returns the request about the changed call.
func (b *bench) edited(r *approvals.Request, by approvals.UserID, arguments string) *approvals.Request {
	b.Helper()
	old, err := b.edit(r, by, arguments)
	if err != nil {
		b.Fatal(err)
	}
	return b.request(old.SupersededBy)
}

// TestEdit changes a call, has the changed call approved, and runs that one and no other.
func TestEdit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.set(byAmount)
	strictly(b, asks(call("c1", "pay", `{"amount":5}`)))
	b.start()
	id := b.submit()
	asked := b.question(id)
	next := b.edited(asked, bob, `{ "amount": 20 }`)
	old := b.request(asked.ID)
	if old.Status != approvals.RequestSuperseded || old.Outcome != approvals.OutcomeNotRun ||
		old.SupersededBy != next.ID {
		t.Errorf("the first request is %s, %s, superseded by %q", old.Status, old.Outcome, old.SupersededBy)
	}
	if next.Status != approvals.RequestPending || next.Supersedes != asked.ID || next.Digest == asked.Digest {
		t.Errorf("the next one is %s and supersedes %q", next.Status, next.Supersedes)
	}
	if string(next.Arguments) != `{"amount":20}` || string(next.Original) != `{"amount":5}` ||
		string(old.Arguments) != `{"amount":5}` {
		t.Errorf("both versions: %s of %s", next.Arguments, next.Original)
	}
	if d := old.Decisions[0]; d.Verdict != approvals.Edit || d.Bound != next.Digest || d.Arguments != nil {
		t.Errorf("recorded %+v", d)
	}
	b.until("both cards", func() bool {
		return b.surface.status(asked.ID) == approvals.RequestSuperseded &&
			b.surface.status(next.ID) == approvals.RequestPending
	})
	b.refused(asked, cara, approvals.Approve, approvals.ErrStale)
	b.refused(next, bob, approvals.Approve, approvals.ErrUnauthorized)
	b.refused(next, ann, approvals.Approve, approvals.ErrUnauthorized)
	b.must(next, cara, approvals.Approve, "")
	want := "c1: A person changed the arguments of this call to {\"amount\":20}.\npay done"
	if got := b.reaches(id, approvals.RunDone).Output; got != want {
		t.Errorf("the model was told %q", got)
	}
	ran := b.effects.all()
	if len(ran) != 1 || ran[0].arguments != `{"amount":20}` {
		t.Errorf("ran %v", ran)
	}
	if got := b.request(next.ID).Outcome; got != approvals.OutcomeRan {
		t.Errorf("the outcome is %q", got)
	}
	if b.count(approvals.AuditRequestSuperseded) != 1 || b.count(approvals.AuditRequestCreated) != 2 {
		t.Error("the trail does not tell of the change")
	}
}

// TestEditRefused has nobody change a call who may not, to nothing that the tool does not take.
func TestEditRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.set(byAmount)
	strictly(b, asks(call("c1", "pay", `{"amount":5}`)))
	b.start()
	id := b.submit()
	asked := b.question(id)
	for _, tt := range []struct {
		why       string
		by        approvals.UserID
		arguments string
		want      error
	}{
		{"the requester decides nothing here", ann, `{"amount":6}`, approvals.ErrUnauthorized},
		{"a guest", guest, `{"amount":6}`, approvals.ErrUnauthorized},
		{"not of the channel", out, `{"amount":6}`, approvals.ErrUnauthorized},
		{"nothing", bob, "", approvals.ErrInvalid},
		{"no object", bob, "6", approvals.ErrInvalid},
		{"the same", bob, `{ "amount": 5.0 }`, approvals.ErrInvalid},
		{"a key twice", bob, `{"amount":6,"amount":7}`, approvals.ErrInvalid},
		{"a key in another case", bob, `{"amount":6,"Amount":7}`, approvals.ErrInvalid},
		{"another type", bob, `{"amount":"6"}`, approvals.ErrInvalid},
		{"an unknown field", bob, `{"amount":6,"to":"x"}`, approvals.ErrInvalid},
		{"too long", bob, `{"amount":6` + strings.Repeat(" ", 256<<10) + `}`, approvals.ErrInvalid},
	} {
		if _, err := b.edit(asked, tt.by, tt.arguments); !errors.Is(err, tt.want) {
			t.Errorf("%s: have %v, want %v", tt.why, err, tt.want)
		}
	}
	other := *asked
	other.Digest[0]++
	if _, err := b.edit(&other, bob, `{"amount":6}`); !errors.Is(err, approvals.ErrStale) {
		t.Errorf("another digest: %v", err)
	}
	_, err := b.service.Decide(t.Context(), approvals.Decision{
		Workspace: ws, Request: asked.ID, By: bob, Verdict: approvals.Approve, Digest: asked.Digest, Via: "cli",
		Arguments: json.RawMessage(`{"amount":6}`),
	})
	if !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("an approval with arguments: %v", err)
	}
	if got := b.request(asked.ID); got.Status != approvals.RequestPending || len(got.Decisions) != 0 {
		t.Errorf("the request is %s with %d decisions", got.Status, len(got.Decisions))
	}
	if _, err := b.edit(asked, bob, `{"amount":6}`); err != nil {
		t.Errorf("the control: %v", err)
	}
}

// TestEditKeepsWhatWasDemanded lowers an amount under which one person would do: the two people of finance whom the
// original amount asks for are still needed.
func TestEditKeepsWhatWasDemanded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.set(byAmount)
	b.people.setGroup("finance", bob, cara, out)
	b.people.channels["C1"] = append(b.people.channels["C1"], out)
	strictly(b, asks(call("c1", "pay", `{"amount":5000}`)))
	b.start()
	id := b.submit()
	next := b.edited(b.question(id), bob, `{"amount":5}`)
	if next.Requirement.Policy != "default" || len(next.Inherited) != 1 || next.Inherited[0].Policy != "money" {
		t.Fatalf("demanded %s and %v", next.Requirement.Policy, next.Inherited)
	}
	b.refused(next, bob, approvals.Approve, approvals.ErrUnauthorized)
	if got := b.must(next, cara, approvals.Approve, ""); got.Status != approvals.RequestPending {
		t.Fatalf("one person sufficed: %s", got.Status)
	}
	b.must(next, out, approvals.Approve, "")
	b.reaches(id, approvals.RunDone)
	if ran := b.effects.all(); len(ran) != 1 || ran[0].arguments != `{"amount":5}` {
		t.Errorf("ran %v", ran)
	}
}

// TestEditThatNobodyCouldApprove is refused with the reason, and the request stays as it is.
func TestEditThatNobodyCouldApprove(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.set(byAmount)
	b.people.setGroup("finance", bob, cara) // bob edits, so that one is left of two
	strictly(b, asks(call("c1", "pay", `{"amount":5}`)))
	b.start()
	asked := b.question(b.submit())
	_, err := b.edit(asked, bob, `{"amount":5000}`)
	const why = `policy "money" needs 2 approvers, and 1 can be asked`
	if !errors.Is(err, approvals.ErrInvalid) || !strings.Contains(err.Error(), why) {
		t.Errorf("have %v", err)
	}
	if got := b.request(asked.ID); got.Status != approvals.RequestPending {
		t.Errorf("the request is %s", got.Status)
	}
}

// TestEditAgain counts everybody who has changed a call among those who stand behind it.
func TestEditAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.set(byAmount)
	strictly(b, asks(call("c1", "pay", `{"amount":5}`)))
	b.people.persons[out] = approvals.Person{ID: out, Regular: true}
	b.people.channels["C1"] = append(b.people.channels["C1"], out)
	b.start()
	id := b.submit()
	first := b.edited(b.question(id), bob, `{"amount":6}`)
	second := b.edited(first, cara, `{"amount":7}`)
	if diff := cmp.Diff([]approvals.UserID{bob, cara}, second.Editors); diff != "" {
		t.Errorf("editors:\n%s", diff)
	}
	if string(second.Original) != `{"amount":5}` {
		t.Errorf("the model's version is %s", second.Original)
	}
	for _, u := range []approvals.UserID{ann, bob, cara} {
		b.refused(second, u, approvals.Approve, approvals.ErrUnauthorized)
	}
	b.refused(second, out, approvals.AlwaysApprove, approvals.ErrInvalid)
	b.must(second, out, approvals.Approve, "")
	b.reaches(id, approvals.RunDone)
	if ran := b.effects.all(); len(ran) != 1 || ran[0].arguments != `{"amount":7}` {
		t.Errorf("ran %v", ran)
	}
}

// TestEditorApproves lets the editor approve where the policy allows self-approval, with an answer of its own: the
// change alone approves nothing.
func TestEditorApproves(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	strictly(b, asks(call("c1", "pay", `{"amount":5}`)))
	b.start()
	id := b.submit()
	next := b.edited(b.question(id), bob, `{"amount":6}`)
	if len(next.Decisions) != 0 || len(b.effects.all()) != 0 {
		t.Error("the change counted as an approval")
	}
	b.must(next, bob, approvals.Approve, "")
	b.reaches(id, approvals.RunDone)
}

// TestEditRejected tells the model that the call was rejected, and runs neither version.
func TestEditRejected(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	strictly(b, asks(call("c1", "pay", `{"amount":5}`)))
	b.start()
	id := b.submit()
	next := b.edited(b.question(id), bob, `{"amount":6}`)
	b.must(next, cara, approvals.Reject, "no")
	if got := b.reaches(id, approvals.RunDone).Output; !strings.Contains(got, "rejected") {
		t.Errorf("the model was told %q", got)
	}
	if len(b.effects.all()) != 0 {
		t.Error("something ran")
	}
}

// TestEditedCallAskedAgain has the approval of a changed call not hold any more when its turn comes. What is asked
// again is the changed call, of the same people as before, and not of its editor.
func TestEditedCallAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.people.setGroup("finance", bob, cara, out)
	b.people.channels["C1"] = append(b.people.channels["C1"], out)
	b.policy.set(byAmount)
	strictly(b, asks(call("c1", "pay", `{"amount":5000}`)))
	handle := b.step()
	id := b.submit()
	if err := handle(runJob(id)); err != nil {
		t.Fatal(err)
	}
	next := b.edited(b.question(id), bob, `{"amount":5}`)
	b.must(next, cara, approvals.Approve, "")
	b.must(next, out, approvals.Approve, "")
	b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) { // stricter when its turn comes
		q, err := byAmount(r)
		q.Seats = approvals.Quorum(1, approvals.Approvers{Users: []approvals.UserID{cara, out, user("dan")}})
		quorum(&q, 3)
		return q, err
	})
	b.people.persons[user("dan")] = approvals.Person{ID: user("dan"), Regular: true}
	if err := handle(runJob(id)); err != nil {
		t.Fatal(err)
	}
	if got := b.request(next.ID); got.Status != approvals.RequestStale {
		t.Fatalf("the approval is %s", got.Status)
	}
	again := b.question(id)
	if string(again.Arguments) != `{"amount":5}` || string(again.Original) != `{"amount":5000}` ||
		again.AskedDigest != again.Digest {
		t.Errorf("asked about %s of %s", again.Arguments, again.Original)
	}
	if diff := cmp.Diff([]approvals.UserID{bob}, again.Editors); diff != "" {
		t.Errorf("editors:\n%s", diff)
	}
	if len(again.Inherited) != 1 || again.Inherited[0].Policy != "money" {
		t.Errorf("inherited %v", again.Inherited)
	}
}

// TestEditSurvivesRestart closes and opens the store at every step.
func TestEditSurvivesRestart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.set(byAmount)
	strictly(b, asks(call("c1", "pay", `{"amount":5}`)))
	b.start()
	id := b.submit()
	asked := b.question(id)
	b.reopen()
	next := b.edited(asked, bob, `{"amount":6}`)
	b.reopen()
	b.must(next, cara, approvals.Approve, "")
	b.reopen()
	b.start()
	b.reaches(id, approvals.RunDone)
	if ran := b.effects.all(); len(ran) != 1 || ran[0].arguments != `{"amount":6}` {
		t.Errorf("ran %v", ran)
	}
	b.trail()
}

// TestEditRefusedInWords says what is wrong with the arguments, and nothing of the run's insides.
func TestEditRefusedInWords(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	strictly(b, asks(call("c1", "pay", `{"amount":5}`)))
	b.start()
	r := b.question(b.submit())
	_, err := b.edit(r, bob, `[1]`)
	want := "decide request " + string(r.ID) + ": invalid: arguments must be a JSON object"
	if err == nil || err.Error() != want {
		t.Errorf("have %v, want %s", err, want)
	}
}

// TestNoStandingAnswerToAnEditedCallAskedAgain: the model has not written the call, so an answer for all calls does not
// fit it, also when the approval of the changed call has lapsed and the run asks about it once more.
func TestNoStandingAnswerToAnEditedCallAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	strictly(b, asks(call("c1", "pay", `{"amount":5000}`)))
	handle := b.step()
	id := b.submit()
	if err := handle(runJob(id)); err != nil {
		t.Fatal(err)
	}
	next := b.edited(b.question(id), bob, `{"amount":5}`)
	b.refused(next, cara, approvals.AlwaysApprove, approvals.ErrInvalid)
	b.must(next, cara, approvals.Approve, "")
	b.forge(next.ID, func(r *approvals.Request) { r.Settled = r.Settled.Add(-2 * r.Requirement.ValidFor) })
	if err := handle(runJob(id)); err != nil {
		t.Fatal(err)
	}
	again := b.question(id)
	b.refused(again, cara, approvals.AlwaysApprove, approvals.ErrInvalid)
	b.refused(again, cara, approvals.AlwaysReject, approvals.ErrInvalid)
	b.must(again, cara, approvals.Approve, "")
	if err := handle(runJob(id)); err != nil {
		t.Fatal(err)
	}
	if got := b.effects.all(); len(got) != 1 || got[0].arguments != `{"amount":5}` {
		t.Errorf("ran %v", got)
	}
	b.trail()
}

// TestEditGivesNoMoreTime: the changed call has no more time than the policy of the earlier one gives, where its own
// gives more.
func TestEditGivesNoMoreTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	withDan(b)
	b.people.setGroup("finance", bob, cara, out, user("dan"))
	b.people.channels["C1"] = append(b.people.channels["C1"], out)
	b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
		q, err := byAmount(r)
		if q.ExpiresIn = 4 * time.Hour; amount(r) > 100 {
			q.ExpiresIn = time.Hour
		}
		return q, err
	})
	strictly(b, asks(call("c1", "pay", `{"amount":5000}`)))
	b.start()
	next := b.edited(b.question(b.submit()), bob, `{"amount":6}`)
	if got := next.Expires.Sub(next.Created); got > time.Hour || next.Original == nil {
		t.Errorf("the changed call may be answered for %s; it was %s", got, next.Original)
	}
}

// TestEditBack: a call that is changed back stands as the model wrote it.
func TestEditBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	strictly(b, asks(call("c1", "pay", `{"amount":5}`)))
	b.start()
	next := b.edited(b.question(b.submit()), bob, `{"amount":6}`)
	back := b.edited(next, bob, `{"amount":5}`)
	if next.Original == nil || back.Original != nil || string(back.Arguments) != `{"amount":5}` {
		t.Errorf("changed back: %s of %s", back.Arguments, back.Original)
	}
}

// TestDelegateEditsForBoth: when somebody changes a call for another person, neither decides about it.
func TestDelegateEditsForBoth(t *testing.T) {
	t.Parallel()
	q := named(1, bob, cara)
	q.SelfApproval = false
	b, r := waitingFor(t, q, onLeave(user("dan"), bob)...)
	next := b.edited(r, user("dan"), `{"amount":6}`)
	if !slices.Equal(next.Editors, []approvals.UserID{user("dan"), bob}) {
		t.Errorf("editors: %v", next.Editors)
	}
	b.refused(next, bob, approvals.Approve, approvals.ErrUnauthorized)
	b.must(next, cara, approvals.Approve, "") // control
}

// TestEditForNobody: a change is refused where nobody is named by both the earlier policy and the changed call's.
func TestEditForNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
		q := lenient()
		q.Policy, q.Seats = "small", approvals.Quorum(1, approvals.Approvers{Users: []approvals.UserID{bob}})
		if amount(r) > 100 {
			q.Policy, q.Seats = "large", approvals.Quorum(1, approvals.Approvers{Users: []approvals.UserID{cara}})
		}
		return q, nil
	})
	strictly(b, asks(call("c1", "pay", `{"amount":5}`)))
	b.start()
	asked := b.question(b.submit())
	_, err := b.edit(asked, bob, `{"amount":500}`)
	if !errors.Is(err, approvals.ErrInvalid) || !strings.Contains(err.Error(), "must be named by") {
		t.Errorf("have %v", err)
	}
	b.edited(asked, bob, `{"amount":6}`) // control
}
