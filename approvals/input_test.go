package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
)

// booking is what book takes.
type booking struct {
	Date   string `json:"date" doc:"when to come"`
	Guests int    `json:"guests"`
	Table  string `json:"table"`
}

// book is a tool of which people fill in date and guests.
func (b *bench) book() agent.Tool {
	tool := agent.NewTool("book", "Books a table.", func(context.Context, booking) (string, error) { return "", nil })
	tool.Proposed = []string{"date", "guests"}
	tool.Invoke = func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
		b.effects.add(c)
		return agent.ToolOutput{Text: "booked"}, nil
	}
	return tool
}

// books is a model that books with these arguments.
func books(arguments string) agent.Model { return asks(call("c1", "book", arguments)) }

// fill gives the values that r asks for.
func (b *bench) fill(r *approvals.Request, by approvals.UserID, input string) (*approvals.Request, error) {
	return b.service.Decide(b.Context(), approvals.Decision{
		Workspace: r.Workspace, Request: r.ID, By: by, Verdict: approvals.ProvideInput, Digest: r.Digest, Via: "cli",
		Input: json.RawMessage(input),
	})
}

// TestInput has a person fill in one value and change another, and runs the completed call.
func TestInput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.agent(books(`{"guests":2,"table":"t1"}`), b.book())
	b.start()
	id := b.submit()
	q := b.question(id)
	want := []string{"date (string, required): when to come", "guests (integer, required); proposed by the model: 2"}
	var got []string
	for _, f := range q.Fields {
		got = append(got, f.String())
	}
	if diff := cmp.Diff(want, got); diff != "" || q.Kind != agent.FieldsRequired {
		t.Fatalf("asked %s:\n%s", q.Kind, diff)
	}
	for _, wrong := range []approvals.Verdict{
		approvals.Approve, approvals.AlwaysApprove, approvals.MarkDone, approvals.ProvideResult,
	} {
		b.refused(q, bob, wrong, approvals.ErrInvalid)
	}
	if _, err := b.fill(q, bob, `{"guests": 4, "date":"2026-12-01"}`); err != nil {
		t.Fatal(err)
	}
	told := b.reaches(id, approvals.RunDone).Output
	completed := `{"date":"2026-12-01","guests":4,"table":"t1"}`
	if !strings.Contains(told, "A person changed the arguments of this call to "+completed) {
		t.Errorf("the model was told %q", told)
	}
	if ran := b.effects.all(); len(ran) != 1 || ran[0].arguments != completed {
		t.Errorf("ran %v", ran)
	}
	done := b.request(q.ID)
	if d := done.Settler(); done.Status != approvals.RequestApproved || done.Outcome != approvals.OutcomeRan ||
		string(d.Input) != `{"date":"2026-12-01","guests":4}` || d.Bound == (agent.Digest{}) {
		t.Errorf("%s, %s: %+v", done.Status, done.Outcome, d)
	}
	allowed := false
	err := approvals.ExportAudit(t.Context(), b.store, "", func(e *approvals.AuditEntry) error {
		if strings.Contains(string(e.Data), "2026-12-01") {
			t.Errorf("the trail holds a value: %s", e.Data)
		}
		allowed = allowed || e.Action == approvals.AuditEffectIntent && e.Request == q.ID
		return nil
	})
	if err != nil || !allowed {
		t.Errorf("the trail does not say what allowed the effect, %v", err)
	}
	b.trail()
}

// TestInputTakesProposals confirms what the model proposes, false and 0 included, without a value of its own.
func TestInputTakesProposals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.agent(books(`{"date":"today","guests":0,"table":""}`), b.book())
	b.start()
	id := b.submit()
	if _, err := b.fill(b.question(id), bob, `{}`); err != nil {
		t.Fatal(err)
	}
	if told := b.reaches(id, approvals.RunDone).Output; told != "c1: booked" {
		t.Errorf("the model was told %q", told)
	}
}

// TestInputRefused takes no value that the tool does not, and none for a field that nobody asked for.
func TestInputRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.agent(books(`{"table":"t1"}`), b.book())
	b.start()
	q := b.question(b.submit())
	for _, tt := range []struct {
		why, input string
		by         approvals.UserID
		want       error
	}{
		{"a guest", `{"date":"d","guests":1}`, guest, approvals.ErrUnauthorized},
		{"nothing", ``, bob, approvals.ErrInvalid},
		{"a required field is missing", `{"date":"d"}`, bob, approvals.ErrInvalid},
		{"a required field is empty", `{"date":" ","guests":1}`, bob, approvals.ErrInvalid},
		{"a required field is null", `{"date":null,"guests":1}`, bob, approvals.ErrInvalid},
		{"a number as text", `{"date":"d","guests":"1"}`, bob, approvals.ErrInvalid},
		{"a fraction", `{"date":"d","guests":1.5}`, bob, approvals.ErrInvalid},
		{"a field that is the model's", `{"date":"d","guests":1,"table":"t2"}`, bob, approvals.ErrInvalid},
		{"an unknown field", `{"date":"d","guests":1,"x":1}`, bob, approvals.ErrInvalid},
		{"a field twice", `{"date":"d","guests":1,"guests":2}`, bob, approvals.ErrInvalid},
	} {
		if _, err := b.fill(q, tt.by, tt.input); !errors.Is(err, tt.want) {
			t.Errorf("%s: have %v, want %v", tt.why, err, tt.want)
		}
	}
	if got := b.request(q.ID); got.Status != approvals.RequestPending || len(b.effects.all()) != 0 {
		t.Errorf("the request is %s", got.Status)
	}
	if _, err := b.fill(q, bob, `{"date":"d","guests":1}`); err != nil {
		t.Errorf("the control: %v", err)
	}
}

// TestInputThenApproval asks about the completed call where its gate does, and not the person who completed it.
func TestInputThenApproval(t *testing.T) {
	t.Parallel()
	for _, approve := range []bool{true, false} {
		b := newBench(t)
		b.policy.always(with(func(q *approvals.Requirement) { q.SelfApproval = false }))
		tool := b.book()
		tool.NeedsApproval = agent.AlwaysAsk
		b.agent(books(`{"guests":2,"table":"t1"}`), tool)
		b.start()
		id := b.submit()
		first := b.question(id)
		if _, err := b.fill(first, bob, `{"date":"d"}`); err != nil {
			t.Fatal(err)
		}
		b.until("the second question", func() bool { return len(b.requests(id)) == 2 && len(b.pending(id)) == 1 })
		second := b.question(id)
		if second.Kind != agent.Confirm || string(second.Arguments) != `{"date":"d","guests":2,"table":"t1"}` ||
			string(second.Original) != `{"guests":2,"table":"t1"}` || second.Supersedes != first.ID {
			t.Fatalf("asked %s about %s of %s, after %s",
				second.Kind, second.Arguments, second.Original, second.Supersedes)
		}
		if got := b.request(first.ID); got.SupersededBy != second.ID || got.Settler().Bound != second.Digest {
			t.Errorf("bound to %s, followed by %s", got.Settler().Bound, got.SupersededBy)
		}
		b.refused(second, bob, approvals.Approve, approvals.ErrUnauthorized)
		b.refused(second, ann, approvals.Approve, approvals.ErrUnauthorized)
		verdict, outcome, runs := approvals.Reject, approvals.OutcomeNotRun, 0
		if approve {
			verdict, outcome, runs = approvals.Approve, approvals.OutcomeRan, 1
		}
		b.must(second, cara, verdict, "")
		b.reaches(id, approvals.RunDone)
		if got := len(b.effects.all()); got != runs {
			t.Errorf("%s: ran %d times", verdict, got)
		}
		for _, r := range []*approvals.Request{first, second} {
			if got := b.request(r.ID).Outcome; got != outcome {
				t.Errorf("%s: the outcome of %s is %q", verdict, r.Kind, got)
			}
		}
		b.trail()
	}
}

// TestInputByWhomThePolicyNames has nobody fill in values that they could not decide about.
func TestInputByWhomThePolicyNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.people.setGroup("large", cara)
	b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
		q := lenient()
		var in booking
		if json.Unmarshal(r.Arguments, &in) == nil && in.Guests > 10 {
			q.Seats = approvals.Quorum(1, approvals.Approvers{Groups: []string{"large"}})
		}
		return q, nil
	})
	b.agent(books(`{"table":"t1"}`), b.book())
	b.start()
	id := b.submit()
	q := b.question(id)
	if _, err := b.fill(q, bob, `{"date":"d","guests":11}`); !errors.Is(err, approvals.ErrUnauthorized) {
		t.Errorf("have %v", err)
	}
	if _, err := b.fill(q, cara, `{"date":"d","guests":11}`); err != nil {
		t.Errorf("the control: %v", err)
	}
	b.reaches(id, approvals.RunDone)
}

// TestInputRejectedAndExpired tells the model what happened, and runs nothing.
func TestInputRejectedAndExpired(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.agent(books(`{"table":"t1"}`), b.book())
	b.start()
	id := b.submit()
	b.must(b.question(id), bob, approvals.Reject, "too late")
	if told := b.reaches(id, approvals.RunDone).Output; !strings.Contains(told, `a person rejected it`) {
		t.Errorf("the model was told %q", told)
	}
	b.policy.always(with(func(q *approvals.Requirement) { q.ExpiresIn = 1 }))
	id = b.submit()
	if told := b.reaches(id, approvals.RunDone).Output; !strings.Contains(told, "nobody filled in its missing values") {
		t.Errorf("the model was told %q", told)
	}
	if len(b.effects.all()) != 0 {
		t.Error("something ran")
	}
}

// TestInputOfMoreThanOneCall fills in each of two calls of a turn by itself: none answers for the other.
func TestInputOfMoreThanOneCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.agent(asks(call("c1", "book", `{"table":"t1"}`), call("c2", "book", `{"table":"t2"}`)), b.book())
	b.start()
	id := b.submit()
	b.until("both questions", func() bool { return len(b.pending(id)) == 2 })
	for _, q := range b.pending(id) {
		if n := len(b.effects.all()); n > 1 {
			t.Errorf("%d calls ran", n)
		}
		if _, err := b.fill(q, bob, `{"date":"d","guests":1}`); err != nil {
			t.Fatal(err)
		}
	}
	b.reaches(id, approvals.RunDone)
	if n := len(b.effects.all()); n != 2 {
		t.Errorf("%d calls ran", n)
	}
}

// TestStandingAnswerOfWhoFillsIn: an answer for all calls does not approve a call that was filled in by whoever gave
// it, where nobody approves their own.
func TestStandingAnswerOfWhoFillsIn(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		b := newBench(t)
		b.policy.always(with(func(q *approvals.Requirement) { q.SelfApproval = false }))
		tool := b.book()
		tool.NeedsApproval = agent.AlwaysAsk
		b.agent(model(func(req *agent.ModelRequest) ([]agent.Item, error) {
			switch len(outputs(req)) {
			case 0:
				return []agent.Item{call("c1", "book", `{"guests":2,"table":"t1"}`)}, nil
			case 1:
				return []agent.Item{call("c2", "book", `{"guests":3,"table":"t2"}`)}, nil
			}
			return []agent.Item{agent.AssistantMessage("done")}, nil
		}), tool)
		b.start()
		id := b.submit()
		filled := func(by approvals.UserID) {
			if _, err := b.fill(b.question(id), by, `{"date":"d"}`); err != nil {
				t.Fatal(err)
			}
		}
		filled(bob)
		b.until("the approval", func() bool { return len(b.requests(id)) == 2 && len(b.pending(id)) == 1 })
		b.must(b.question(id), cara, approvals.AlwaysApprove, "")
		b.until("the second call", func() bool { return len(b.requests(id)) == 3 && len(b.pending(id)) == 1 })
		if !own {
			filled(bob)
			b.reaches(id, approvals.RunDone)
			if n := len(b.requests(id)); n != 3 {
				t.Errorf("another person filled in, and people were asked %d times", n)
			}
			continue
		}
		filled(cara)
		b.until("people to be asked, or the end", func() bool {
			return len(b.pending(id)) == 1 || b.run(id).Status.Ended()
		})
		if n := len(b.effects.all()); n != 1 {
			t.Fatalf("%d calls ran: the second by the answer of whoever had filled it in", n)
		}
		last := b.question(id)
		b.refused(last, cara, approvals.Approve, approvals.ErrUnauthorized)
		b.must(last, bob, approvals.Approve, "")
		b.reaches(id, approvals.RunDone)
	}
}

// TestToolChangedToBeFilledIn changes a tool, while a call of it waits, into one whose calls people complete, and the
// other way round: nothing runs on the answer to the other question, a rejection stands, and the call has what the tool
// demands.
func TestToolChangedToBeFilledIn(t *testing.T) {
	t.Parallel()
	whole := `{"date":"2026-12-01","guests":2,"table":"t1"}`
	for name, tt := range map[string]struct {
		answer approvals.Verdict // to the first question, values before the change; empty: none
		fewer  bool              // the first question asks for values, and the second does not
	}{
		"approved before": {answer: approvals.Approve},
		"pending":         {},
		"rejected":        {answer: approvals.Reject},
		"always rejected": {answer: approvals.AlwaysReject},
		"filled in":       {answer: approvals.ProvideInput, fewer: true},
		"nothing to fill": {fewer: true},
		"rejected values": {answer: approvals.Reject, fewer: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			confirmed, completed, look := b.book(), b.book(), b.tools()[2]
			confirmed.Proposed, confirmed.NeedsApproval = nil, agent.AlwaysAsk
			before, after := confirmed, completed
			if tt.fewer {
				before, after = completed, confirmed
			}
			model := asks(call("c1", "book", whole), call("c2", "look", `{}`))
			b.agent(model, before, look)
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			first, other := b.pending(id)[0], b.pending(id)[1]
			if tt.answer == approvals.ProvideInput {
				if _, err := b.fill(first, bob, `{"guests":3}`); err != nil {
					t.Fatal(err)
				}
			}
			b.agent(model, after, look)
			if tt.answer != "" && tt.answer != approvals.ProvideInput {
				b.must(first, bob, tt.answer, "")
			}
			b.must(other, bob, approvals.Approve, "")
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			got := b.request(first.ID)
			if tt.answer == approvals.Reject || tt.answer == approvals.AlwaysReject {
				if open := b.pending(id); len(open) != 0 || got.Status != approvals.RequestRejected {
					t.Errorf("%d questions, and the first is %s", len(open), got.Status)
				}
				return
			}
			if got.Status != approvals.RequestStale || len(b.pending(id)) != 1 {
				t.Fatalf("the first question is %s, %d are open", got.Status, len(b.pending(id)))
			}
			again := b.pending(id)[0]
			if next := got.Replaced; got.AskedAgain != again.ID || next == nil || !next.Definition {
				t.Errorf("the first question does not lead to the next: %q, %+v", got.AskedAgain, next)
			}
			want := agent.FieldsRequired
			if tt.fewer {
				want = agent.Confirm
			}
			if ran := b.effects.all(); again.Kind != want || len(again.Fields) > 0 == tt.fewer || len(ran) != 1 {
				t.Fatalf("asked for %s with %d fields, ran %v", again.Kind, len(again.Fields), ran)
			}
			if tt.fewer {
				b.must(again, bob, approvals.Approve, "")
			} else if _, err := b.fill(again, bob, `{"guests":4}`); err != nil {
				t.Fatal(err)
			}
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			if ran := b.effects.all(); len(ran) != 2 || ran[1].arguments != strings.Replace(whole, "2,", "4,", 1) &&
				ran[1].arguments != whole {
				t.Errorf("ran %v", ran)
			}
		})
	}
}

// TestValuesForAChangedTool fills in a call, or changes one, whose tool was changed since: whoever answers is told that
// it is asked again, and it is.
func TestValuesForAChangedTool(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*agent.Tool)
		edit   bool
	}{
		"another version":       {func(tool *agent.Tool) { tool.Version = "2" }, false},
		"other fields":          {func(tool *agent.Tool) { tool.Proposed = []string{"date"} }, false},
		"no fields":             {func(tool *agent.Tool) { tool.Proposed = nil }, false},
		"changed while edited":  {func(tool *agent.Tool) { tool.Version = "2" }, true},
		"filled in when edited": {func(tool *agent.Tool) { tool.Proposed = []string{"date"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tool, model := b.book(), books(`{"date":"2026-12-01","guests":2,"table":"t1"}`)
			if tt.edit {
				tool.Proposed, tool.NeedsApproval = nil, agent.AlwaysAsk
			}
			b.agent(model, tool)
			b.start()
			id := b.submit()
			first := b.question(id)
			tt.change(&tool)
			b.agent(model, tool)
			d := approvals.Decision{
				Workspace: ws, Request: first.ID, By: bob, Verdict: approvals.ProvideInput, Digest: first.Digest,
				Input: json.RawMessage(`{"guests":4}`), Via: "cli",
			}
			if tt.edit {
				d.Verdict, d.Input = approvals.Edit, nil
				d.Arguments = json.RawMessage(`{"date":"2026-12-01","guests":4,"table":"t1"}`)
			}
			if _, err := b.service.Decide(b.Context(), d); !errors.Is(err, approvals.ErrStale) {
				t.Fatalf("told %v", err)
			}
			b.until("the question again", func() bool {
				return b.request(first.ID).Status == approvals.RequestStale && len(b.pending(id)) == 1
			})
			if again := b.pending(id)[0]; again.ID == first.ID || again.Definition == first.Definition {
				t.Errorf("asked %s once more", again.ID)
			}
		})
	}
}
