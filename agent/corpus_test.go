package agent_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/scripted"
)

const corpus = "testdata/runstate"

// corpusAgent is the agent of the frozen states. Its tools are written out, so that their digests depend on nothing
// that may change.
func corpusAgent() *agent.Agent {
	tool := func(name string) agent.Tool {
		return agent.Tool{
			Name: name, Description: "Frozen.", Version: "1", Attributes: []string{"frozen"},
			Parameters: json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number"}},` +
				`"required":["amount"],"additionalProperties":false}`),
			Validate: func(arguments json.RawMessage) error {
				if !strings.HasPrefix(string(arguments), `{"amount":`) {
					return errors.New("amount is missing")
				}
				return nil
			},
			Invoke: func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
				return agent.ToolOutput{Text: c.Tool + " did " + string(c.Arguments) + " as " + c.EffectID}, nil
			},
		}
	}
	pay, look := tool("pay"), tool("look")
	pay.NeedsApproval = agent.AlwaysAsk
	first := scripted.Calls(
		agent.Item{Type: agent.ItemReasoning, Text: "Pay <two>, look & see."},
		scripted.Call("c1", "pay", `{ "amount" : 1.50 }`),
		scripted.Call("c2", "pay", `{"amount":2}`),
		scripted.Call("c3", "look", `{"amount":3}`),
		scripted.Call("c4", "look", `{}`),
	)
	first.Usage = agent.Usage{InputTokens: 11, CachedTokens: 7, OutputTokens: 5, ReasoningTokens: 3, TotalTokens: 16}
	return &agent.Agent{Name: "ops", Tools: []agent.Tool{pay, look}, Model: scripted.New(
		first, scripted.Calls(scripted.Call("c5", "pay", `{"amount":5}`)), scripted.Say("Done."),
	)}
}

// corpusStates are the states of version 1, and how they were made.
var corpusStates = map[string]makeState{
	"v1-pending": begin,
	"v1-partly-decided": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		message := "not today"
		must(t, s.Reject(s.Interruptions()[0], agent.RejectOptions{Message: &message}))
		return s
	},
	"v1-decided": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		must(t, s.Approve(s.Interruptions()[0], agent.ApproveOptions{}))
		must(t, s.Reject(s.Interruptions()[1], agent.RejectOptions{}))
		return s
	},
	"v1-always": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		must(t, s.Approve(s.Interruptions()[1], agent.ApproveOptions{Always: true}))
		return s
	},
	"v1-always-reject": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		message := ""
		must(t, s.Reject(s.Interruptions()[1], agent.RejectOptions{Always: true, Message: &message}))
		return s
	},
	"v1-partly-resumed": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		must(t, s.Approve(s.Interruptions()[1], agent.ApproveOptions{}))
		_, err := r.Resume(t.Context(), a, s)
		must(t, err)
		return s
	},
	"v1-outcome-unknown": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		r.Journal = &faultyJournal{next: "unknown"}
		r.MaxParallelCalls = 1
		s := begin(t, a, r)
		must(t, s.Approve(s.Interruptions()[0], agent.ApproveOptions{}))
		return s
	},
	"v1-marked-done": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		r.Journal = &faultyJournal{next: "unknown"}
		s := begin(t, a, r)
		must(t, s.Approve(s.Interruptions()[2], agent.ApproveOptions{Output: &agent.ToolOutput{Text: "seen"}}))
		return s
	},
	"v1-after-response": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		return interrupted(t, a, r, 1)
	},
	"v1-no-turns-left": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		r.MaxTurns = 1
		res, err := r.Run(t.Context(), a, agent.UserMessage("Pay."))
		if !errors.Is(err, agent.ErrMaxTurns) {
			t.Fatal(err)
		}
		return res.State
	},
	"v1-cleared-by-always": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		must(t, s.Approve(s.Interruptions()[1], agent.ApproveOptions{Always: true}))
		r.Journal, r.MaxParallelCalls = &faultyJournal{next: "error"}, 1
		if _, err := r.Resume(t.Context(), a, s); err == nil {
			t.Fatal("the journal did not fail")
		}
		return s
	},
	"v1-held-output": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		for _, in := range s.Interruptions() {
			must(t, s.Approve(in, agent.ApproveOptions{}))
		}
		r.Journal = newOvertaken("c1", 1)
		if _, err := r.Resume(t.Context(), a, s); err == nil {
			t.Fatal("the journal did not fail")
		}
		return s
	},
	"v1-between-turns": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		for _, in := range s.Interruptions() {
			must(t, s.Reject(in, agent.RejectOptions{}))
		}
		r.MaxTurns = 1
		if _, err := r.Resume(t.Context(), a, s); !errors.Is(err, agent.ErrMaxTurns) {
			t.Fatal(err)
		}
		return s
	},
	"v1-new": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		broken := *a
		broken.Model = scripted.New(scripted.Fail(errors.New("out of order")))
		res, err := r.Run(t.Context(), &broken, agent.UserMessage("Pay."))
		if err == nil {
			t.Fatal("the model did not fail")
		}
		return res.State
	},
	"v1-with-session": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		r.Session = new(agent.MemorySession)
		must(t, r.Session.Append(t.Context(), agent.UserMessage("Hi."), agent.AssistantMessage("Hello.")))
		return begin(t, a, r)
	},
	"v1-finished": func(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
		s := begin(t, a, r)
		must(t, s.Approve(s.Interruptions()[0], agent.ApproveOptions{Always: true}))
		_, err := r.Resume(t.Context(), a, s)
		must(t, err)
		return s
	},
}

// overtaken is a journal in which other calls are done before the first begins, which then fails.
type overtaken struct {
	first  string
	others atomic.Int32
	done   chan struct{}
}

func newOvertaken(first string, others int32) *overtaken {
	j := &overtaken{first: first, done: make(chan struct{})}
	j.others.Store(others)
	return j
}

func (j *overtaken) Intent(_ context.Context, e agent.Effect) (agent.Prior, error) {
	if e.Call.ID == j.first {
		<-j.done
		return agent.Prior{}, errors.New("power failure")
	}
	return agent.Prior{}, nil
}

func (j *overtaken) Done(context.Context, agent.Effect, agent.ToolOutput) error {
	if j.others.Add(-1) == 0 {
		close(j.done)
	}
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, a *agent.Agent, r *runs) *agent.RunState {
	res, err := r.Run(t.Context(), a, agent.UserMessage("Pay."))
	must(t, err)
	return res.State
}

// interrupted returns the state as its n-th checkpoint recorded it.
func interrupted(t *testing.T, a *agent.Agent, r *runs, n int) *agent.RunState {
	var head json.RawMessage
	var chunks []json.RawMessage
	r.Checkpoint = func(_ context.Context, d agent.Delta) error {
		if n--; n >= 0 {
			head, chunks = d.Head, append(chunks, d.Items)
		}
		return nil
	}
	begin(t, a, r)
	s, err := (&agent.SavedState{Head: head, Chunks: chunks}).Decode(a)
	must(t, err)
	return s
}

// TestCorpus proves that every state that was ever written still decodes and leads to what it led to when it was
// written. Files are never changed: -update only adds those that are missing, and SHA256SUMS guards the rest.
func TestCorpus(t *testing.T) {
	t.Parallel()
	states := allStates()
	names := slices.Sorted(maps.Keys(states))
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(corpus, name+".json")
			if _, err := os.Stat(file); err != nil && *update {
				id := "run_frozen"
				if frozenScript(name) != nil {
					id = "run_" + name
				}
				s := states[name](t, rootOf([]byte(`"id":"`+id+`"`)), &runs{RunOptions: runOf(id)})
				data, err := s.MarshalJSON()
				must(t, err)
				must(t, os.WriteFile(file, data, 0o644))
				must(t, os.WriteFile(filepath.Join(corpus, name+".want"), []byte(story(t, data)), 0o644))
			}
			data, err := os.ReadFile(file)
			must(t, err)
			want, err := os.ReadFile(filepath.Join(corpus, name+".want"))
			must(t, err)
			if diff := gocmp.Diff(string(want), story(t, data)); diff != "" {
				t.Error(diff)
			}
			again, err := decode(t, data).MarshalJSON()
			must(t, err)
			if diff := gocmp.Diff(string(data), string(again)); diff != "" {
				t.Errorf("encoding is not what was decoded:\n%s", diff)
			}
		})
	}
	t.Run("unchanged", func(t *testing.T) { checkSums(t, names) })
}

func decode(t *testing.T, data []byte) *agent.RunState {
	t.Helper()
	s, err := agent.DecodeRunState(data, rootOf(data))
	must(t, err)
	return s
}

// story resumes a state, approves what is still open each time, and tells what happened.
func story(t *testing.T, data []byte) string {
	t.Helper()
	a, s := rootOf(data), decode(t, data)
	var out strings.Builder
	r := &runs{RunOptions: agent.RunOptions{MaxTurns: 10}}
	for round := 0; ; round++ {
		fmt.Fprintf(&out, "turn %d, usage %+v\n", s.Turn(), s.Usage())
		for _, line := range list(s.Interruptions()) {
			fmt.Fprintln(&out, line)
		}
		if s.Finished() || round == 5 {
			break
		}
		if round > 0 {
			for _, in := range s.Undecided() {
				must(t, s.Approve(in, frozenAnswer(in)))
			}
		}
		_, err := r.Resume(t.Context(), a, s)
		must(t, err)
		fmt.Fprintln(&out, "resumed")
	}
	fmt.Fprintf(&out, "final %q\n%s", s.FinalOutput(), describe(s.Items()))
	return out.String()
}

func checkSums(t *testing.T, names []string) {
	file := filepath.Join(corpus, "SHA256SUMS")
	old, _ := os.ReadFile(file)
	var sums strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(corpus, name+".json"))
		must(t, err)
		fmt.Fprintf(&sums, "%x  %s.json\n", sha256.Sum256(data), name)
	}
	for line := range strings.Lines(string(old)) {
		if !strings.Contains(sums.String(), line) {
			t.Errorf("a frozen state has changed or is gone: %s", line)
		}
	}
	if *update && !t.Failed() {
		must(t, os.WriteFile(file, []byte(sums.String()), 0o644))
	} else if sums.String() != string(old) {
		t.Error("SHA256SUMS does not list every frozen state; run with -update")
	}
}
