package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"countersign/agent"
	"countersign/agent/guardrail"
)

// makeState makes a state of a run of the agent.
type makeState = func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState

// agentStates are the states of the later versions, and how they were made.
var agentStates = map[string]makeState{
	"v2-nested": begin,
	"v2-nested-decided": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		approve(t, s, "j1", agent.ApproveOptions{Always: true})
		rejectWith(t, s, "n2", "not <that>")
		return s
	},
	"v2-nested-resumed": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		approve(t, s, "j2", agent.ApproveOptions{})
		return resumed(t, a, r, s)
	},
	"v2-nested-ended":   begin,
	"v2-nested-handoff": begin,
	"v2-nested-copies":  begin,
	"v2-nested-answer":  whileDown,
	"v2-nested-final":   whileDown,
	"v2-handed-off":     begin,
	"v2-handoff-waits":  begin,
	"v2-handoff-session": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		r.Session = new(agent.MemorySession)
		must(t, r.Session.Append(t.Context(), agent.UserMessage("Hi."), agent.AssistantMessage("Hello.")))
		return begin(t, a, r)
	},
	"v2-facts": begin,
	"v2-facts-unbound": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a.Tools[0].Preconditions = func(context.Context, *agent.ToolCall) ([]string, error) {
			cancel()
			return nil, ctx.Err()
		}
		res, err := r.Run(ctx, a, agent.UserMessage("Pay."))
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		return res.State
	},
	"v2-edited": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		approve(t, s, "c1", agent.ApproveOptions{Arguments: json.RawMessage(`{"to":"b","amount":1.50}`)})
		return s
	},
	"v2-edited-unknown": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		approve(t, s, "c1", agent.ApproveOptions{Arguments: json.RawMessage(`{"amount":2}`)})
		r.Journal = &faultyJournal{next: "unknown"}
		return resumed(t, a, r, s)
	},
	"v2-input": begin,
	"v2-input-given": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		approve(t, s, "c1", agent.ApproveOptions{Fields: json.RawMessage(`{"to":"b"}`)})
		return s
	},
	"v2-input-confirm": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		approve(t, s, "c1", agent.ApproveOptions{Fields: json.RawMessage(`{"to":"b"}`)})
		return resumed(t, a, r, s)
	},
	"v2-input-proposed": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		approve(t, s, "c1", agent.ApproveOptions{Fields: json.RawMessage(`{"amount":7}`)})
		return s
	},
	"v2-external": begin,
	"v2-external-told": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		approve(t, s, "c1", agent.ApproveOptions{Output: &agent.ToolOutput{Text: "deployed", Failed: true}})
		return s
	},
	"v2-asked-again": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		approve(t, s, "c1", agent.ApproveOptions{})
		return resumed(t, a, r, s)
	},
	"v2-review": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		r.Journal = &faultyJournal{next: "error"}
		return failing(t, a, r)
	},
	"v2-forms": begin,
	"v2-forms-decided": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		approve(t, s, "s1", agent.ApproveOptions{Arguments: json.RawMessage(`{"commands":["ls -l"]}`)})
		rejectWith(t, s, "p1", "keep it")
		approve(t, s, "scripted_0_4", agent.ApproveOptions{Always: true})
		return s
	},
	"v2-forms-held": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		approve(t, s, "s1", agent.ApproveOptions{})
		approve(t, s, "p1", agent.ApproveOptions{})
		approve(t, s, "q1", agent.ApproveOptions{})
		r.Journal = newOvertaken("q1", 2)
		if _, err := r.Resume(t.Context(), a, s); err == nil {
			t.Fatal("the journal did not fail")
		}
		return s
	},
	"v2-pending-input": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		must(t, s.AddInput(agent.UserMessage("And <hurry>."), agent.UserMessage("Please.")))
		return s
	},
	"v2-conversation": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		r.Conversation = &agent.Conversation{ID: "conv_1"}
		return begin(t, a, r)
	},
	"v2-chain": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		r.Conversation = &agent.Conversation{}
		return begin(t, a, r)
	},
	"v2-tool-use": begin,
	"v2-turn-over": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		a.ToolUse = agent.ToolUseBehavior{Decide: func(context.Context, []agent.ToolResult) (string, bool, error) {
			return "", false, errors.New("out of order")
		}}
		return failing(t, a, r)
	},
	"v3-traced": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		r.Tracer = newTrail("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		s := begin(t, a, r)
		must(t, s.Approve(s.Interruptions()[0], agent.ApproveOptions{}))
		return s
	},
	"v2-answer": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		a.OutputGuardrails = []agent.OutputGuardrail{{Name: "down",
			Check: func(context.Context, *agent.Agent, string) (guardrail.Verdict, error) {
				return guardrail.Verdict{}, errors.New("out of order")
			}}}
		return failing(t, a, r)
	},
	"v3-left-out": begin,
	"v3-handled": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		r.MaxTurns = 1
		r.OnError = func(context.Context, *agent.Failure) (*agent.Fallback, error) {
			return &agent.Fallback{Text: "Too <long>."}, nil
		}
		return begin(t, a, r)
	},
}

// allStates are the states of all versions.
func allStates() map[string]makeState {
	all := maps.Clone(corpusStates)
	maps.Copy(all, agentStates)
	maps.Copy(all, answerStates)
	return all
}

// resumed resumes the state, and returns it.
func resumed(t *testing.T, a *agent.Agent, r *runs, s *agent.RunState) *agent.RunState {
	t.Helper()
	_, err := r.Resume(t.Context(), a, s)
	must(t, err)
	return s
}

// whileDown returns the state of a run that fails because something is out of order.
func whileDown(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
	t.Helper()
	res, err := r.Run(context.WithValue(t.Context(), down{}, true), a, agent.UserMessage("Pay."))
	if err == nil {
		t.Fatal("the run did not fail")
	}
	return res.State
}

// failing returns the state of a run that fails.
func failing(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
	t.Helper()
	res, err := r.Run(t.Context(), a, agent.UserMessage("Pay."))
	if err == nil {
		t.Fatal("the run did not fail")
	}
	return res.State
}

func rejectWith(t *testing.T, s *agent.RunState, id, message string) {
	t.Helper()
	for _, in := range s.Interruptions() {
		if in.Call.ID == id {
			must(t, s.Reject(in, agent.RejectOptions{Message: &message}))
			return
		}
	}
	t.Fatalf("no question about %s", id)
}
