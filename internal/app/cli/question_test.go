package cli

import (
	"errors"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// wonders makes a request a question of the agent.
func wonders(arguments string) func(*approvals.Request) {
	return func(r *approvals.Request) {
		r.Kind, r.Tool = agent.ExternalResult, approvals.ToolSnapshot{Name: "ask_team", Kind: agent.KindAsk}
		r.Arguments = []byte(arguments)
	}
}

// TestShowQuestion prints what is asked as one line each, and how it is answered.
func TestShowQuestion(t *testing.T) {
	t.Parallel()
	const arguments = `{"options":["blue","red\u202e"],"question":"Which?\nstatus       approved"}`
	show := func(r *approvals.Request) map[string]string {
		return fields(t, func(p *Program) error { return (&showCommand{}).print(p, r) })
	}
	waits := show(newRequest("req_1", wonders(arguments)))
	for field, want := range map[string]string{
		"status": "pending", "asks": "for an answer to a question of the agent; nothing runs",
		"outcome": "not known yet: the question waits for an answer",
	} {
		if waits[field] != want {
			t.Errorf("%s: %q, want %q", field, waits[field], want)
		}
	}
	said := waits["question"]
	if !strings.Contains(said, "U1's agent ops asks: Which?") || strings.Contains(said, "\u202e") {
		t.Errorf("the question reads %q", said)
	}
	ended := show(newRequest("req_1", wonders(arguments), stands(approvals.RequestApproved, approvals.OutcomeRan),
		answered("U2", approvals.Answer, func(d *approvals.Decision) { d.Answers = []string{"blue"} })))
	if ended["outcome"] != "answered; nothing runs" || !strings.Contains(ended["decision"], `answering "blue"`) {
		t.Errorf("an answered question shows %v", ended)
	}
	p, out, _ := capture()
	desk := newDesk(t, newRequest("req_1", wonders(`{"question":"Why?"}`)))
	if err := (&listCommand{}).list(t.Context(), &p, desk); err != nil || !strings.Contains(out.String(), "answer ") {
		t.Errorf("the list says %q, %v", out, err)
	}
}

// TestAnswerFlag takes answers by themselves, and names the flags that a question takes.
func TestAnswerFlag(t *testing.T) {
	t.Parallel()
	c := &decideCommand{As: "U2", IDs: []approvals.RequestID{"req_1"}, Answer: []string{"a", "b"}}
	if v, err := c.verdict(); v != approvals.Answer || err != nil {
		t.Errorf("--answer: %q, %v", v, err)
	}
	c.Input = []string{"a=b"}
	if _, err := c.verdict(); err == nil || !strings.Contains(err.Error(), "--input and --answer: a request has one") {
		t.Errorf("--answer and --input: %v", err)
	}
	c = &decideCommand{As: "U2", IDs: []approvals.RequestID{"req_1", "req_2"}, Answer: []string{"a"}}
	if _, err := c.verdict(); err == nil || !strings.Contains(err.Error(), "one by one") {
		t.Errorf("--answer of two: %v", err)
	}
	r := newRequest("req_1", wonders(`{"question":"Why?"}`))
	err := explainDecision(r, approvals.ErrInvalid, &r.RequestHead, approvals.Approve)
	if !errors.Is(err, approvals.ErrInvalid) || !strings.Contains(err.Error(), "answer with --answer or --reject") {
		t.Errorf("a wrong verdict: %v", err)
	}
}
