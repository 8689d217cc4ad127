package agent

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
)

// TestDecide asks what is done next about calls in every state.
func TestDecide(t *testing.T) {
	t.Parallel()
	gated := Tool{Name: "pay", NeedsApproval: AlwaysAsk}
	free1 := Tool{Name: "look"}
	with := func(change func(*Tool)) *Tool {
		own := gated
		change(&own)
		return &own
	}
	bound := with(func(t *Tool) { t.Preconditions = emptyLookUp })
	fresh := call{State: callNew}
	waiting := call{State: callWaiting, Question: Confirm}
	answered := func(d decision) call { return call{State: callWaiting, Question: Confirm, Decision: &d} }
	changed := answered(decision{Approve: true, Arguments: json.RawMessage(`{}`)})
	filled := call{State: callWaiting, Question: FieldsRequired, Decision: changed.Decision}
	cleared := call{State: callCleared}
	yes, no := knowledge{ruling: ruling{verdict: approved, exact: true}}, knowledge{ruling: ruling{verdict: rejected}}
	standing := knowledge{ruling: ruling{verdict: approved}}
	reported := knowledge{ruling: ruling{verdict: approved, output: &ToolOutput{}}}
	external := with(func(t *Tool) { t.External = true })
	form := with(func(t *Tool) { t.Fields = []string{"to"} })
	audit := with(func(t *Tool) { t.Audit = true })
	screen := with(func(t *Tool) { t.InputGuardrails = []ToolInputGuardrail{{BeforeApproval: true}} })
	program := with(func(t *Tool) { t.OnApproval = noProgram })
	handoff := &Tool{handoff: &Handoff{}}
	hosted := &Tool{Wire: WireHosted}
	for _, tt := range []struct {
		why  string
		call call
		tool *Tool
		know knowledge
		want step
	}{
		{"it has its output", call{State: callNew, Output: &ToolOutput{}}, &gated, no, step{act: actWait}},
		{"it is over", call{State: callDone}, nil, knowledge{}, step{act: actWait}},
		{"it cannot run", call{State: callNew, Problem: "x"}, nil, knowledge{}, step{act: actAnswer}},
		{"its tool is gone", fresh, nil, knowledge{}, step{act: actStop}},
		{"its tool is gone, and nobody needs it", waiting, nil, no, step{act: actReject}},
		{"its tool is gone, and people know", waiting, nil, reported, step{act: actReport}},
		{"it is not valid", fresh, &gated, knowledge{invalid: errNotText}, step{act: actRefuse}},
		{"it is not valid any more, and may have begun", cleared, &gated,
			knowledge{ruling: yes.ruling, invalid: errNotText}, step{act: actRun}},
		{"it is a handoff", fresh, handoff, knowledge{}, step{act: actHandOff}},
		{"it is a handoff now", waiting, handoff, yes, step{act: actHandOff}},
		{"it is a handoff now, and nobody has answered", waiting, handoff, knowledge{}, step{act: actWait}},

		{"no gate", fresh, &free1, knowledge{}, step{act: actRun, how: ruling{verdict: free}}},
		{"no gate, but preconditions", fresh, with(func(t *Tool) {
			t.NeedsApproval, t.Preconditions = nil, emptyLookUp
		}), knowledge{}, step{act: actLookUp}},
		{"fields", fresh, form, knowledge{}, step{act: actAsk, question: FieldsRequired, renew: true}},
		{"fields that are there", call{State: callNew, Given: true}, form, knowledge{}, step{act: actGate}},
		{"preconditions", fresh, bound, knowledge{}, step{act: actLookUp}},
		{"preconditions under a standing answer", fresh, bound, standing, step{act: actLookUp}},
		{"a standing answer", fresh, &gated, standing, step{act: actRun, how: standing.ruling}},
		{"a standing rejection", fresh, bound, no, step{act: actReject}},
		{"a gate", fresh, &gated, knowledge{}, step{act: actGate}},
		{"a gate that lets it through", fresh, &gated, knowledge{gate: gateFree},
			step{act: actRun, how: ruling{verdict: free}}},
		{"a gate that asks", fresh, &gated, knowledge{gate: gateAsks}, step{act: actAsk, question: Confirm}},
		{"a gate that fails", fresh, &gated, knowledge{gate: gateBroken}, step{act: actAsk, question: Confirm}},
		{"a matter of record", fresh, audit, knowledge{gate: gateAsks},
			step{act: actRun, how: ruling{verdict: free, review: true}}},
		{"a gate that fails on a matter of record", fresh, audit, knowledge{gate: gateBroken},
			step{act: actRun, how: ruling{verdict: free, review: true}}},
		{"a guardrail before", fresh, screen, knowledge{gate: gateAsks}, step{act: actScreen}},
		{"a guardrail before that allows", fresh, screen, knowledge{gate: gateAsks, screened: true},
			step{act: actAsk, question: Confirm}},
		{"a program", fresh, program, knowledge{gate: gateAsks}, step{act: actProgram}},
		{"a program that does not know", fresh, program, knowledge{gate: gateAsks, undecided: true},
			step{act: actAsk, question: Confirm}},
		{"what a provider asks about", fresh, hosted, knowledge{}, step{act: actAsk, question: Confirm}},
		{"an external call without a gate", fresh, with(func(t *Tool) { t.NeedsApproval, t.External = nil, true }),
			knowledge{}, step{act: actAsk, question: ExternalResult, renew: true}},

		{"nobody has answered", waiting, &gated, knowledge{}, step{act: actWait}},
		{"approved", answered(decision{Approve: true}), &gated, yes, step{act: actRun, how: yes.ruling}},
		{"approved, with preconditions", answered(decision{Approve: true}), bound, yes,
			step{act: actRun, how: yes.ruling}},
		{"approved, to be carried out elsewhere", answered(decision{Approve: true}), external, yes,
			step{act: actAsk, question: ExternalResult, renew: true}},
		{"changed", changed, bound, yes, step{act: actLookUp}},
		{"changed and looked up", changed, bound, knowledge{ruling: yes.ruling, lookedUp: true}, step{act: actGate}},
		{"changed, with a gate that asks", changed, &gated, knowledge{ruling: yes.ruling, gate: gateAsks},
			step{act: actRun, how: yes.ruling}},
		{"changed, with a gate that fails", changed, &gated, knowledge{ruling: yes.ruling, gate: gateBroken},
			step{act: actAsk, question: Confirm, renew: true}},
		{"filled in", filled, form, yes, step{act: actComplete}},
		{"cleared", cleared, &gated, yes, step{act: actRun, how: yes.ruling}},
		{"an agent at work, whose tool is rejected from now on", call{State: callCleared, Nested: &frame{}}, &gated, no,
			step{act: actRun, how: no.ruling}},
	} {
		got := decide(&tt.call, tt.tool, tt.know)
		if got.act != tt.want.act || got.question != tt.want.question || got.renew != tt.want.renew ||
			tt.want.how.verdict != undecided && got.how != tt.want.how {
			t.Errorf("%s: got %+v, want %+v", tt.why, got, tt.want)
		}
		if (got.act == actStop || got.act == actRefuse) != (got.err != nil) {
			t.Errorf("%s: error %v", tt.why, got.err)
		}
	}
}

// TestCallStates moves calls along every arrow of the table, and along those that are not in it.
func TestCallStates(t *testing.T) {
	t.Parallel()
	in := map[callState]func() *call{
		callNew:     func() *call { return &call{State: callNew} },
		callRefused: func() *call { return &call{State: callNew, Problem: "x"} },
		callWaiting: func() *call {
			return &call{State: callWaiting, Question: Confirm, Decision: &decision{}, Renew: true}
		},
		callCleared: func() *call { return &call{State: callCleared, Review: true, Always: true} },
		callDone:    func() *call { return &call{State: callDone} },
	}
	for from, row := range callStates {
		for to := range callStates {
			c := in[from]()
			c.Kind, c.Definition, c.Digest = KindFunction, &Digest{}, &Digest{}
			if from == callDone {
				c.keep(0)
			}
			moved := moves(c, to)
			if want := slices.Contains(row.next, to); moved != want {
				t.Errorf("from %s to %s: moved %v, want %v", from, to, moved, want)
			}
			switch {
			case !moved || to == callWaiting && from != callWaiting || to == callRefused && from != callRefused:
				continue // who moves it there says what is asked, or wrong
			case to == callNew && from == callRefused:
				continue
			}
			if reason := c.misfit(); reason != "" {
				t.Errorf("from %s to %s: %s: %+v", from, to, reason, c)
			}
		}
	}
}

func moves(c *call, to callState) (moved bool) {
	defer func() { _ = recover() }()
	c.enter(to)
	return true
}

// TestMembers adds each member to a call in each state: the table says which belong there.
func TestMembers(t *testing.T) {
	t.Parallel()
	full := call{
		Kind: KindFunction, Problem: "x", Definition: &Digest{}, Digest: &Digest{}, Question: Confirm, Attempt: 1,
		Preconditions: []string{"x"}, Unbound: true, Arguments: json.RawMessage(`{}`), Given: true, AskedAgain: 1,
		Review: true, Nested: &frame{}, Ran: true, Always: true, Renew: true, Decision: &decision{},
		Output: &ToolOutput{},
	}
	all := full.members()
	if all != hasOutput<<1-1 {
		t.Fatalf("members %b", all)
	}
	for bit := hasKind; bit <= hasOutput; bit <<= 1 {
		c := full
		if c.keep(bit); c.members() != bit {
			t.Errorf("kept %b, have %b", bit, c.members())
		}
	}
	for state, in := range callStates {
		if state == callRefused {
			continue // a new one with a problem
		}
		for bit := hasKind; bit <= hasOutput; bit <<= 1 {
			if bit == hasProblem && state == callNew {
				continue // that is the refused one
			}
			c := full
			c.State = state
			c.keep(in.has | bit)
			if ok := c.misfit() == ""; ok != ((in.has|in.may)&bit != 0) {
				t.Errorf("%s with %b: fits %v", state, bit, ok)
			}
			c = full
			c.State = state
			c.keep((in.has | in.may) &^ bit)
			if ok := c.misfit() == ""; ok != (in.has&bit == 0) {
				t.Errorf("%s without %b: fits %v", state, bit, ok)
			}
		}
	}
	if c := (call{State: "odd"}); c.misfit() == "" {
		t.Error("a state that there is not")
	}
}

func emptyLookUp(context.Context, *ToolCall) ([]string, error) { return nil, nil }

func noProgram(context.Context, *Interruption) (*ToolApproval, error) { return nil, nil }
