package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/scripted"
)

// failAt fails the n-th of whatever happens in a run: model calls and both journal entries of each tool call. With
// next, it fails once more so much later.
type failAt struct {
	left, next int
	ran        []string // calls that were carried out
	agent.Journal
	agent.Model
}

var errFailAt = errors.New("out of order")

func (f *failAt) fails() bool {
	if f.left--; f.left != 0 {
		return false
	}
	f.left, f.next = f.next, 0
	return true
}

func (f *failAt) Intent(ctx context.Context, e agent.Effect) (agent.Prior, error) {
	if f.fails() {
		return agent.Prior{}, errFailAt
	}
	return f.Journal.Intent(ctx, e)
}

func (f *failAt) Done(ctx context.Context, e agent.Effect, out agent.ToolOutput) error {
	if f.fails() {
		return errFailAt
	}
	return f.Journal.Done(ctx, e, out)
}

func (f *failAt) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	if f.fails() {
		return nil, errFailAt
	}
	return f.Model.Respond(ctx, req)
}

// sessionRun is an agent with one call that is asked about and two that are not in each of two turns.
func sessionRun(f *failAt) *agent.Agent {
	tool := func(name string) agent.Tool {
		return invokingAs(name, func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			f.ran = append(f.ran, c.ID)
			return agent.ToolOutput{Text: "real " + c.ID}, nil
		})
	}
	call := func(id, tool string) agent.Item { return scripted.Call(id, tool, `{"call":"`+id+`"}`) }
	pay, look := tool("pay"), tool("look")
	pay.NeedsApproval = agent.AlwaysAsk
	f.Model = scripted.New(
		scripted.Calls(call("c1", "pay"), call("c2", "look"), call("c3", "look")),
		scripted.Calls(call("d1", "look"), call("d2", "pay")), scripted.Say("Done."))
	return &agent.Agent{Name: "ops", Tools: []agent.Tool{pay, look}, Model: f}
}

func invokingAs(name string, fn func(context.Context, *agent.ToolCall) (agent.ToolOutput, error)) agent.Tool {
	return agent.Tool{
		Name: name, Invoke: fn,
		Parameters: json.RawMessage(`{"type":"object"}`), Validate: func(json.RawMessage) error { return nil },
	}
}

// TestSessionAfterEveryError fails a run at each of its steps, and once more a few steps later. Whatever failed, the
// session then has every call of the run, each with one output, and none that was carried out as one that was not; when
// the state is resumed and finishes, it has each real output once, and the answer.
func TestSessionAfterEveryError(t *testing.T) {
	t.Parallel()
	for next := range 6 {
		if steps := failEverywhere(t, next); steps < 10 {
			t.Errorf("only %d failures: the test does not do what it says", steps)
		}
	}
}

// failEverywhere plays the run of sessionRun once for each of its steps, which fails, and returns how many there are.
func failEverywhere(t *testing.T, next int) (steps int) {
	t.Helper()
	for n := 1; ; n++ {
		session := new(agent.MemorySession)
		f := &failAt{left: n, next: next, Journal: &faultyJournal{}}
		a := sessionRun(f)
		r := &runs{
			Runner: agent.Runner{Journal: f, MaxParallelCalls: 1}, RunOptions: agent.RunOptions{Session: session},
		}
		res, err := r.Run(t.Context(), a, agent.UserMessage("go"))
		failed := err != nil
		for range 20 {
			if err != nil {
				checkSession(t, fmt.Sprint("failure ", n, " and ", next), session, res.State)
				checkCarriedOut(t, fmt.Sprint("failure ", n, " and ", next), session, f.ran)
			} else if res.State.Finished() {
				break
			}
			s := reloaded(t, res.State, a)
			for _, in := range s.Undecided() {
				opts := agent.ApproveOptions{}
				if in.Kind == agent.OutcomeUnknown {
					opts.Output = &agent.ToolOutput{Text: "real " + in.Call.ID}
				}
				must(t, s.Approve(in, opts))
			}
			res, err = r.Resume(t.Context(), a, s)
			failed = failed || err != nil
		}
		must(t, err)
		if !failed {
			return steps
		}
		steps++
		checkSession(t, fmt.Sprint("finished after failure ", n), session, res.State)
		text := sessionText(t, session)
		for _, want := range []string{
			": real c1\n", ": real c2\n", ": real c3\n", ": real d1\n", ": real d2\n", "assistant: Done.",
		} {
			if strings.Count(text, want) != 1 {
				t.Errorf("failure %d: %q is there %d times\n%s", n, want, strings.Count(text, want), text)
			}
		}
	}
}

// checkCarriedOut looks for calls that were carried out and of which the session's last word is that they were not.
func checkCarriedOut(t *testing.T, when string, session agent.Session, ran []string) {
	t.Helper()
	items, err := session.Items(t.Context())
	must(t, err)
	arguments, last := make(map[string]string), make(map[string]string)
	for _, it := range items {
		if it.Type == agent.ItemFunctionCall {
			arguments[it.CallID] = it.Arguments
		} else if it.IsOutput() {
			last[arguments[it.CallID]] = it.Output
		}
	}
	for _, id := range ran {
		if said := last[`{"call":"`+id+`"}`]; said == "" || strings.Contains(said, "not carried out") {
			t.Errorf("%s: %s was carried out, and the session says %q\n%s", when, id, said, describe(items))
		}
	}
}

func sessionText(t *testing.T, session agent.Session) string {
	t.Helper()
	items, err := session.Items(t.Context())
	must(t, err)
	return describe(items)
}

// checkSession compares the session with the run: the run's calls once each, and whole pairs only.
func checkSession(t *testing.T, when string, session agent.Session, s *agent.RunState) {
	t.Helper()
	items, err := session.Items(t.Context())
	must(t, err)
	var calls, outputs []string
	for _, it := range items {
		switch {
		case it.Type == agent.ItemFunctionCall:
			calls = append(calls, it.CallID)
		case it.IsOutput() && !slices.Contains(calls, it.CallID):
			t.Errorf("%s: an output before its call", when)
		case it.IsOutput():
			outputs = append(outputs, it.CallID)
		}
	}
	for _, it := range s.Items() {
		if it.Type == agent.ItemFunctionCall && !slices.Contains(calls, it.CallID) {
			t.Errorf("%s: the session has no trace of %s", when, it.CallID)
		}
	}
	slices.Sort(calls)
	slices.Sort(outputs)
	if diff := gocmp.Diff(calls, outputs); diff != "" || len(slices.Compact(slices.Clone(calls))) != len(calls) {
		t.Errorf("%s: the pairs are not whole: %s\n%s", when, diff, describe(items))
	}
}

// TestSessionHasOutputBeforeTheRun has a call's output wait in the state for that of the call before it, which fails:
// the session has it at once, and not again when it becomes an item. A cancelled run is saved as well.
func TestSessionHasOutputBeforeTheRun(t *testing.T) {
	t.Parallel()
	session := new(agent.MemorySession)
	f := &failAt{Journal: &faultyJournal{}}
	a := sessionRun(f)
	a.Model = scripted.New(
		scripted.Calls(scripted.Call("c1", "look", `{}`), scripted.Call("c2", "look", `{}`)), scripted.Say("Done."))
	ctx, cancel := context.WithCancel(t.Context())
	r := &runs{
		Runner:     agent.Runner{Journal: &cancelling{newOvertaken("c1", 1), cancel}},
		RunOptions: agent.RunOptions{Session: session},
	}
	res, err := r.Run(ctx, a, agent.UserMessage("go"))
	if err == nil {
		t.Fatal("the journal did not fail")
	}
	text := sessionText(t, session)
	if !strings.Contains(text, "output c2: real c2") || !strings.Contains(text, "not known") {
		t.Errorf("the session has\n%s", text)
	}
	r.Journal = &faultyJournal{}
	_, err = r.Resume(t.Context(), a, reloaded(t, res.State, a))
	must(t, err)
	text = sessionText(t, session)
	if strings.Count(text, "real c2") != 1 || strings.Count(text, "real c1") != 1 ||
		strings.Count(text, "call c2 ") != 1 {
		t.Errorf("at the end the session has\n%s", text)
	}
}

// cancelling cancels the run when its first intent fails.
type cancelling struct {
	agent.Journal
	cancel context.CancelFunc
}

func (j *cancelling) Intent(ctx context.Context, e agent.Effect) (agent.Prior, error) {
	out, err := j.Journal.Intent(ctx, e)
	if err != nil {
		j.cancel()
	}
	return out, err
}

// TestSessionAfterCheckpointError leaves the session alone when the state that would have to know of it is lost.
func TestSessionAfterCheckpointError(t *testing.T) {
	t.Parallel()
	session := new(agent.MemorySession)
	f := &failAt{Journal: &faultyJournal{}}
	a := sessionRun(f)
	n := 0
	o := agent.RunOptions{Session: session, Checkpoint: func(context.Context, agent.Delta) error {
		if n++; n == 2 {
			return errFailAt
		}
		return nil
	}}
	_, err := new(agent.Runner).Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, o)
	if !errors.Is(err, errFailAt) {
		t.Fatal(err)
	}
	if text := sessionText(t, session); text != "" {
		t.Errorf("the session has\n%s", text)
	}
}

// TestSessionHasNoOpenApproval ends a run with an error while the provider carries out a call that was approved: the
// session says that nothing is known of it, since a provider that reads of the approval in the next run would carry the
// call out once more. Where another agent has taken over, the state has the approval.
func TestSessionHasNoOpenApproval(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ fails, handsOver bool }{{}, {fails: true}, {fails: true, handsOver: true}} {
		server := agent.NewHostedTool(agent.KindHostedMCP, "wiki",
			json.RawMessage(`{"type":"mcp","server_label":"wiki","server_url":"https://x"}`), nil)
		asked, err := agent.ParseItem(json.RawMessage(
			`{"type":"mcp_approval_request","id":"scripted_0_0","server_label":"wiki","name":"ask","arguments":"{}"}`))
		must(t, err)
		calls := []agent.Item{asked}
		if tt.handsOver {
			calls = append(calls, agent.Item{
				Type: agent.ItemFunctionCall, CallID: "c1", Name: "transfer_to_billing", Arguments: "{}"})
		}
		f := &failAt{Model: scripted.New(scripted.Calls(calls...), scripted.Say("Done."))}
		a := &agent.Agent{Name: "ops", Model: f, Tools: []agent.Tool{server},
			Handoffs: []agent.Handoff{{Agent: &agent.Agent{Name: "billing", Model: f}}}}
		var session agent.MemorySession
		var r agent.Runner
		res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{Session: &session})
		must(t, err)
		must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}))
		if tt.fails {
			f.left = 1
		}
		res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{Session: &session})
		if (err != nil) != tt.fails {
			t.Fatal(err)
		}
		items, _ := session.Items(t.Context())
		said, have := agent.ModelRequest{Items: items}, agent.ModelRequest{Items: res.State.Items()}
		open, inState := len(said.OpenApprovals()), len(have.OpenApprovals())
		if open != 0 || (inState == 1) != tt.handsOver {
			t.Errorf("%+v: the session has %d open approvals, the state %d", tt, open, inState)
		}
		text := sessionText(t, &session)
		if unknown := strings.Contains(text, "not known"); unknown != tt.fails {
			t.Errorf("%+v: the session has\n%s", tt, text)
		}
	}
}
