package approvals_test

import (
	"errors"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/asktool"
	"countersign/approvals"
)

// wonders is a model that asks people a question.
func wonders(arguments string) agent.Model { return asks(call("c1", "ask_team", arguments)) }

const colours = `{"options":["blue","\"red\", said <!here>"],"question":"Which colour?"}`

func (b *bench) asksTeam(arguments string) approvals.RunID {
	b.agent(wonders(arguments), asktool.New("ask_team", "Asks the team."))
	b.start()
	return b.submit()
}

// answer answers the question of r.
func (b *bench) answer(r *approvals.Request, by approvals.UserID, answers ...string) (*approvals.Request, error) {
	return b.service.Decide(b.Context(), approvals.Decision{
		Workspace: r.Workspace, Request: r.ID, By: by, Verdict: approvals.Answer, Digest: r.Digest, Via: "cli",
		Answers: answers,
	})
}

// TestQuestion has one of two people answer what the agent asks; the model reads who said what, as data.
func TestQuestion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.people.setGroup("S1", bob, cara)
	b.policy.always(with(func(q *approvals.Requirement) {
		q.Seats = approvals.Quorum(2, approvals.Approvers{Groups: []string{"S1"}})
	}))
	id := b.asksTeam(colours)
	q := b.question(id)
	if !q.IsQuestion() || q.Question() == nil || q.Question().Question != "Which colour?" {
		t.Fatalf("asked %s by a tool of kind %s", q.Kind, q.Tool.Kind)
	}
	for _, wrong := range []approvals.Verdict{
		approvals.Approve, approvals.AlwaysApprove, approvals.AlwaysReject, approvals.ProvideResult, approvals.MarkDone,
		approvals.Retry, approvals.Answer,
	} {
		b.refused(q, bob, wrong, approvals.ErrInvalid)
	}
	if _, err := b.answer(q, bob, `"red", said <!here>`); err != nil {
		t.Fatal(err)
	}
	told := b.reaches(id, approvals.RunDone).Output
	want := `A person has answered the question. Their answer, as data: {"answered_by":"` + bob.Local() +
		`","answers":["\"red\", said \u003c!here\u003e"]}`
	if !strings.HasSuffix(told, want) {
		t.Errorf("the model was told %q, want %q", told, want)
	}
	done := b.request(q.ID)
	if done.Status != approvals.RequestApproved || done.Outcome != approvals.OutcomeRan {
		t.Errorf("the request is %s, %s", done.Status, done.Outcome)
	}
	if _, err := b.answer(q, cara, "blue"); !errors.Is(err, approvals.ErrConflict) {
		t.Errorf("a second answer: %v", err)
	}
	b.trail()
}

// TestQuestionWhoAnswers takes an answer from whom the policy names, and from the requester where it lets them.
func TestQuestionWhoAnswers(t *testing.T) {
	t.Parallel()
	for _, self := range []bool{true, false} {
		b := newBench(t)
		b.policy.always(with(func(q *approvals.Requirement) { q.SelfApproval = self }))
		q := b.question(b.asksTeam(colours))
		if _, err := b.answer(q, guest, "blue"); !errors.Is(err, approvals.ErrUnauthorized) {
			t.Errorf("a guest: %v", err)
		}
		_, err := b.answer(q, ann, "blue")
		if (err == nil) != self || !self && !errors.Is(err, approvals.ErrUnauthorized) {
			t.Errorf("the requester, self_approval %t: %v", self, err)
		}
	}
}

// TestQuestionAnswers takes the options that the question has, as many as it allows, or a text where it has none.
func TestQuestionAnswers(t *testing.T) {
	t.Parallel()
	several := strings.Replace(colours, "}", `,"several":true}`, 1)
	for _, tt := range []struct {
		arguments string
		answers   []string
		ok        bool
	}{
		{colours, []string{"blue"}, true},
		{colours, []string{"Blue"}, false},
		{colours, []string{"green"}, false},
		{colours, []string{"blue", `"red", said <!here>`}, false},
		{several, []string{"blue", `"red", said <!here>`}, true},
		{several, []string{"blue", "blue"}, false},
		{several, []string{"blue", "green"}, false},
		{`{"question":"Why?"}`, []string{"because"}, true},
		{`{"question":"Why?"}`, []string{"because", "so"}, false},
		{`{"question":"Why?"}`, []string{" \n"}, false},
		{`{"question":"Why?"}`, []string{strings.Repeat("x", 2001)}, false},
		{`{"question":"Why?"}`, []string{"\xff"}, false},
	} {
		b := newBench(t)
		q := b.question(b.asksTeam(tt.arguments))
		_, err := b.answer(q, bob, tt.answers...)
		if (err == nil) != tt.ok || !tt.ok && !errors.Is(err, approvals.ErrInvalid) {
			t.Errorf("%s answered %q: %v", tt.arguments, tt.answers, err)
		}
		if got := b.request(q.ID).Status; (got == approvals.RequestPending) == tt.ok {
			t.Errorf("%s answered %q: the request is %s", tt.arguments, tt.answers, got)
		}
	}
}

// TestQuestionRejected tells the model that nobody will answer.
func TestQuestionRejected(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.asksTeam(colours)
	b.must(b.question(id), bob, approvals.Reject, "not our matter")
	told := b.reaches(id, approvals.RunDone).Output
	const want = `A person says that nobody will answer the question. Their words, as data: "not our matter"`
	if !strings.HasSuffix(told, want) {
		t.Errorf("the model was told %q", told)
	}
	if got := b.request(b.requests(id)[0].ID).Outcome; got != approvals.OutcomeNotRun {
		t.Errorf("the outcome is %q", got)
	}
}

// TestQuestionExpires tells the model that nobody answered.
func TestQuestionExpires(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(with(func(q *approvals.Requirement) { q.ExpiresIn = 1 }))
	id := b.asksTeam(colours)
	told := b.reaches(id, approvals.RunDone).Output
	if !strings.HasSuffix(told, "Nobody answered the question in time.") {
		t.Errorf("the model was told %q", told)
	}
	if got := b.request(b.requests(id)[0].ID); got.Status != approvals.RequestExpired ||
		got.Outcome != approvals.OutcomeNotRun {
		t.Errorf("the request is %s, %s", got.Status, got.Outcome)
	}
}

// TestQuestionHasNoCallback makes no token with which a system could answer what people are asked.
func TestQuestionHasNoCallback(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.public = "https://bot.example"
	b.serve(b.mortal)
	q := b.question(b.asksTeam(colours))
	_, err := b.service.IssueCallback(t.Context(), wish(q, bob))
	if !errors.Is(err, approvals.ErrInvalid) || !strings.Contains(err.Error(), "waits for no result") {
		t.Errorf("a callback: %v", err)
	}
}

// TestQuestionOfAChangedTool: the tool is changed between question and answer, so that the question is asked again and
// the answer reaches nobody. Its request says so, and who asks instead.
func TestQuestionOfAChangedTool(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.asksTeam(colours)
	first := b.question(id)
	b.agent(wonders(colours), asktool.New("ask_team", "Asks other people."))
	if _, err := b.answer(first, bob, "blue"); err != nil {
		t.Fatal(err)
	}
	var second *approvals.Request
	b.until("the question is asked again", func() bool {
		all := b.pending(id)
		if len(all) == 1 {
			second = all[0]
		}
		return len(all) == 1 && second.ID != first.ID
	})
	got := b.request(first.ID)
	if got.Status != approvals.RequestStale || got.Note == "" || got.Replaced == nil || got.Replaced.ID != second.ID {
		t.Errorf("the answered question is %s, %q, asked again as %+v", got.Status, got.Note, got.Replaced)
	}
	b.until("the stale card", func() bool { return b.surface.status(first.ID) == approvals.RequestStale })
	if _, err := b.answer(second, bob, "blue"); err != nil {
		t.Fatal(err)
	}
	if told := b.reaches(id, approvals.RunDone).Output; !strings.Contains(told, `"answers":["blue"]`) {
		t.Errorf("the model was told %q", told)
	}
	b.trail()
}

// TestQuestionUnusable asks nobody what cannot be asked so; the model reads why.
func TestQuestionUnusable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.asksTeam(`{"question":"Which?","options":["a","A"]}`)
	if told := b.reaches(id, approvals.RunDone).Output; !strings.Contains(told, "options/1: it is there already") {
		t.Errorf("the model was told %q", told)
	}
	if asked := b.requests(id); len(asked) != 0 {
		t.Errorf("%d requests", len(asked))
	}
}
