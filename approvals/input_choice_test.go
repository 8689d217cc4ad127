package approvals_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
)

// seating is what seat takes.
type seating struct {
	Where  string `json:"where" enum:"inside,terrace" doc:"where to sit"`
	Guests int    `json:"guests"`
	Quiet  bool   `json:"quiet"`
}

// TestChoicesSurviveARestart: what people may fill in keeps its type and its choices in the store, and values reach the
// tool as what they are, not as text.
func TestChoicesSurviveARestart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tool := agent.NewTool("seat", "Seats guests.", func(context.Context, seating) (string, error) { return "", nil })
	tool.Proposed = []string{"where", "guests", "quiet"}
	tool.Invoke = func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
		b.effects.add(c)
		return agent.ToolOutput{Text: "seated"}, nil
	}
	b.agent(asks(call("c1", "seat", `{"guests":2}`)), tool)
	b.start()
	id := b.submit()
	before := b.next(id, 1)
	b.reopen()
	q := b.request(before.ID)
	if diff := cmp.Diff(before.Fields, q.Fields); diff != "" || len(q.Fields) != 3 ||
		!cmp.Equal(q.Fields[0].Enum, []string{"inside", "terrace"}) || q.Fields[1].Type != "integer" {
		t.Errorf("after the restart:\n%s\n%+v", diff, q.Fields)
	}
	for _, wrong := range []string{
		`{"where":"roof","guests":2,"quiet":true}`, `{"where":"inside","guests":"2","quiet":true}`,
		`{"where":"inside","guests":2,"quiet":"true"}`,
	} {
		if _, err := b.fill(q, bob, wrong); !errors.Is(err, approvals.ErrInvalid) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	b.start()
	if _, err := b.fill(q, bob, `{"where":"terrace","guests":3,"quiet":true}`); err != nil {
		t.Fatal(err)
	}
	b.reaches(id, approvals.RunDone)
	if got := b.effects.all(); len(got) != 1 || got[0].arguments != `{"guests":3,"quiet":true,"where":"terrace"}` {
		t.Errorf("ran %v", got)
	}
}

// TestRoundsOfAnAgentInside has an agent that is used as a tool ask for values twice, with restarts in between and ids
// of calls that the outer agent uses too: each question has its own fields, and each call its own values.
func TestRoundsOfAnAgentInside(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	inner := &agent.Agent{Name: "host", Tools: []agent.Tool{b.book()}, Model: oneAfterAnother(
		call("c1", "book", `{"table":"t1"}`), call("c2", "book", `{"guests":5,"table":"t2"}`))}
	b.agent(asks(call("c1", "ask_host", `{"input":"two tables"}`)), inner.AsTool("ask_host", "Asks the host."))
	b.start()
	id := b.submit()
	for n, input := range []string{`{"date":"monday","guests":2}`, `{"date":"tuesday"}`} {
		q := b.next(id, n+1)
		if proposed := string(q.Fields[1].Proposal); q.Agent != "host" || (proposed == "5") != (n == 1) {
			t.Errorf("question %d is %s's, with the proposal %q", n+1, q.Agent, proposed)
		}
		b.reopen()
		if _, err := b.fill(q, bob, input); err != nil {
			t.Fatal(err)
		}
		b.start()
	}
	if got := b.reaches(id, approvals.RunDone).Output; got != "c1: done" {
		t.Errorf("output %q", got)
	}
	var ran []string
	for _, e := range b.effects.all() {
		ran = append(ran, e.arguments)
	}
	want := []string{`{"date":"monday","guests":2,"table":"t1"}`, `{"date":"tuesday","guests":5,"table":"t2"}`}
	if diff := cmp.Diff(want, ran); diff != "" {
		t.Errorf("ran:\n%s", diff)
	}
}
