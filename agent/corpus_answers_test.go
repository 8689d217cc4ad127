package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/scripted"
)

// answerStates are the states of version 3, and how they were made.
var answerStates = map[string]makeState{
	"v3-always": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		approve(t, s, "c1", agent.ApproveOptions{Always: true})
		return s
	},
	"v3-session-closed": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		r.Session = new(agent.MemorySession)
		r.Journal = newOvertaken("c1", 1)
		return failing(t, a, r)
	},
	"v3-guardrails": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		a.InputGuardrails = []agent.InputGuardrail{{Name: "polite",
			Check: func(context.Context, *agent.Agent, []agent.Item) (guardrail.Verdict, error) {
				return guardrail.Verdict{Message: "very <polite>"}, nil
			}}}
		s := begin(t, a, r)
		approve(t, s, "c1", agent.ApproveOptions{})
		return resumed(t, a, r, s)
	},
	"v3-program": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		a.Tools[0].OnApproval = func(context.Context, *agent.Interruption) (*agent.ToolApproval, error) {
			return &agent.ToolApproval{Approve: true}, nil
		}
		r.Journal = &faultyJournal{next: "error"}
		return failing(t, a, r)
	},
	"v3-answers": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		a.Tools[3].OnApproval = func(context.Context, *agent.Interruption) (*agent.ToolApproval, error) {
			return &agent.ToolApproval{Approve: true}, nil
		}
		a.Tools[3].InputGuardrails = nil
		s := begin(t, a, r)
		approve(t, s, "c1", agent.ApproveOptions{Arguments: json.RawMessage(`{"amount":5}`)})
		rejectWith(t, s, "c2", "not <that>")
		approve(t, s, "n1", agent.ApproveOptions{Always: true})
		return resumed(t, a, r, s)
	},
	"v3-inner": begin,
	"v3-context": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		r.Context.Data = json.RawMessage(`{"tenant":"<7>"}`)
		return begin(t, a, r)
	},
	"v3-series": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		_ = begin(t, a, r)
		return begin(t, a, r)
	},
}

// answerScripts are what the models of these states say.
var answerScripts = map[string]script{
	"v3-always":         desk(calls("c1 pay 1", "c2 pay 2"), calls("c3 pay 3")),
	"v3-session-closed": desk(calls("c1 look 1", "c2 look 2", "c3 pay 3")),
	"v3-guardrails":     desk(calls("c1 again 1")),
	"v3-program":        desk(calls("c1 pay 1")),
	"v3-answers": {
		"desk": {calls("c1 pay 1", "c2 pay 2", "c3 again 3", "c4 ask_clerk"),
			calls("c5 fill 5"), scripted.Say("Done.")},
		"clerk": {calls("n1 pay 1"), calls("n2 pay 2"), scripted.Say("Clerk is done.")},
	},
	"v3-inner":   nested,
	"v3-context": desk(calls("c1 pay 1")),
	"v3-series":  desk(calls("c1 pay 1")),
}

// frozenScript returns the script of a frozen state that has one of its own, else nil.
func frozenScript(name string) script {
	if s := corpusScripts[name]; s != nil {
		return s
	}
	return answerScripts[name]
}
