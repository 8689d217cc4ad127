package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/scripted"
)

func TestConfiguration(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object"}`)
	anything := func(json.RawMessage) error { return nil }
	invoke := invoking(func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		return agent.ToolOutput{}, nil
	}).Invoke
	good := agent.Agent{Name: "ops", Model: scripted.New(scripted.Say("Hi."))}
	with := func(tools ...agent.Tool) *agent.Agent {
		a := good
		a.Tools = tools
		return &a
	}
	for _, tt := range []struct {
		why   string
		agent *agent.Agent
		want  string
	}{
		{"control: nothing is wrong", with(agent.Tool{Name: "a", Invoke: invoke},
			agent.Tool{Name: "b", Invoke: invoke, Parameters: schema, Validate: anything}), ""},
		{"no agent", nil, "no agent"},
		{"no name", &agent.Agent{Model: good.Model}, "without a name"},
		{"no model", &agent.Agent{Name: "ops"}, "no model"},
		{"a bad tool name", with(agent.Tool{Name: "a b", Invoke: invoke}), "letters"},
		{"a long tool name", with(agent.Tool{Name: strings.Repeat("a", 65), Invoke: invoke}), "64"},
		{"two tools of one name",
			with(agent.Tool{Name: "a", Invoke: invoke}, agent.Tool{Name: "a", Invoke: invoke}), "two tools"},
		{"nothing to run", with(agent.Tool{Name: "a"}), "Invoke"},
		{"a schema that is no JSON",
			with(agent.Tool{Name: "a", Invoke: invoke, Parameters: json.RawMessage(`{`)}), "Parameters"},
		{"a schema that is no object",
			with(agent.Tool{Name: "a", Invoke: invoke, Parameters: json.RawMessage(`[]`)}), "Parameters"},
		{"a negative timeout", with(agent.Tool{Name: "a", Invoke: invoke, Timeout: -1}), "negative"},
		{"a timeout of nothing", with(agent.Tool{Name: "a", External: true, Timeout: 1}), "Invoke"},
		{"a timeout of an agent", with(func() agent.Tool {
			t := good.AsTool("helper", "Helps.")
			t.Timeout = 1
			return t
		}()), "MaxTurns"},
		{"arguments nobody validates",
			with(agent.Tool{Name: "a", Invoke: invoke, Parameters: schema}), "needs Validate"},
		{"a function that is not there", with(agent.NewTool[struct{}, string]("a", "", nil)), "Invoke"},
		{"a gate before arguments nobody validates",
			with(agent.Tool{Name: "a", Invoke: invoke, Parameters: schema, NeedsApproval: agent.AlwaysAsk}),
			"needs Validate"},
	} {
		_, err := (&agent.Runner{}).Run(t.Context(), tt.agent, nil, agent.RunOptions{})
		if tt.want == "" && err != nil ||
			tt.want != "" && (!errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", tt.why, err, tt.want)
		}
		if checked := tt.agent.Check(); fmt.Sprint(checked) != fmt.Sprint(err) {
			t.Errorf("%s: Check says %v, running says %v", tt.why, checked, err)
		}
	}
	_, err := (&agent.Runner{}).Run(t.Context(), &good, []agent.Item{{Text: "?"}}, agent.RunOptions{})
	if !errors.Is(err, agent.ErrConfig) {
		t.Errorf("input without a type: got %v", err)
	}
	if _, err := (&agent.Runner{}).Resume(t.Context(), &good, nil, agent.RunOptions{}); !errors.Is(err,
		agent.ErrConfig) {
		t.Errorf("no state: got %v", err)
	}
	if _, err := (&agent.Runner{}).Resume(t.Context(), &good, new(agent.RunState), agent.RunOptions{}); !errors.Is(err,
		agent.ErrConfig) {
		t.Errorf("an empty state: got %v", err)
	}
}

func TestResumeChecksWhoseStateItIs(t *testing.T) {
	t.Parallel()
	a := corpusAgent()
	r := &runs{RunOptions: runOf("run_1")}
	s := begin(t, a, r)
	other := *a
	other.Name = "finance"
	if _, err := r.Resume(t.Context(), &other, s); !errors.Is(err, agent.ErrUnknownAgent) {
		t.Errorf("another agent: got %v", err)
	}
	_, err := (&agent.Runner{}).Resume(t.Context(), a, s, agent.RunOptions{Context: &agent.RunContext{ID: "run_2"}})
	if !errors.Is(err, agent.ErrConfig) {
		t.Errorf("another run: got %v", err)
	}
	if s.RunID() != "run_1" {
		t.Errorf("got %q", s.RunID())
	}
}

// A question may travel as JSON; the answer is then given with what came back.
func TestInterruptionTravels(t *testing.T) {
	t.Parallel()
	a := corpusAgent()
	s := begin(t, a, &runs{RunOptions: runOf("run_1")})
	in := s.Interruptions()[0]
	data, err := json.Marshal(in)
	must(t, err)
	var back agent.Interruption
	must(t, json.Unmarshal(data, &back))
	if diff := gocmp.Diff(in, back); diff != "" {
		t.Error(diff)
	}
	must(t, s.Approve(back, agent.ApproveOptions{}))
	const want = `"id":"ops/1/c1","kind":"confirm","call":{"id":"c1","tool":"pay","kind":"function",` +
		`"arguments":{"amount":1.5},"agent":"ops","path":["ops"],"turn":1,`
	if !strings.Contains(string(data), want) {
		t.Errorf("got %s", data)
	}
}

// A state is not resumed by two goroutines at once.
func TestResumeTwiceAtOnce(t *testing.T) {
	t.Parallel()
	a := corpusAgent()
	r := new(runs)
	s := begin(t, a, r)
	must(t, s.Approve(s.Interruptions()[0], agent.ApproveOptions{}))
	r.Checkpoint = func(ctx context.Context, _ agent.Delta) error {
		if _, err := new(agent.Runner).Resume(ctx, a, s, agent.RunOptions{}); !errors.Is(err, agent.ErrConfig) {
			t.Errorf("got %v", err)
		}
		return nil
	}
	_, err := r.Resume(t.Context(), a, s)
	must(t, err)
}

// requests records what a model is asked.
type requests struct {
	mu   sync.Mutex
	seen []agent.ModelRequest
	next agent.Model
}

func (r *requests) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, *req)
	return r.next.Respond(ctx, req)
}

func TestRequest(t *testing.T) {
	t.Parallel()
	a := corpusAgent()
	a.Instructions, a.Settings = "Be careful.", agent.ModelSettings{ToolChoice: "required", MaxOutputTokens: 9}
	a.Tools = append(a.Tools, agent.Tool{Name: "ping", Invoke: a.Tools[0].Invoke})
	model := &requests{next: a.Model}
	a.Model = model
	s := begin(t, a, new(runs))
	for !s.Finished() {
		for _, in := range s.Undecided() {
			must(t, s.Reject(in, agent.RejectOptions{}))
		}
		_, err := new(agent.Runner).Resume(t.Context(), a, s, agent.RunOptions{})
		must(t, err)
	}
	if len(model.seen) != 3 {
		t.Fatalf("%d requests", len(model.seen))
	}
	first, second := model.seen[0], model.seen[1]
	if first.Instructions != "Be careful." || first.Settings.ToolChoice != "required" ||
		first.Settings.MaxOutputTokens != 9 {
		t.Errorf("got %+v", first)
	}
	if len(first.Tools) != 3 || string(first.Tools[0].Parameters) != string(a.Tools[0].Parameters) {
		t.Errorf("the schema is not sent as written: %s", first.Tools[0].Parameters)
	}
	if !json.Valid(first.Tools[2].Parameters) ||
		!strings.Contains(string(first.Tools[2].Parameters), `"additionalProperties":false`) {
		t.Errorf("a tool without parameters: %s", first.Tools[2].Parameters)
	}
	// hitl H21: a choice that is forced is forced once.
	if second.Settings.ToolChoice != "" || second.Settings.MaxOutputTokens != 9 {
		t.Errorf("got %+v", second.Settings)
	}
	for i, req := range model.seen {
		if cap(req.Items) != len(req.Items) {
			t.Errorf("request %d: a model that appends would write into the state", i)
		}
	}
	// hitl H24: usage adds up over pauses.
	if want := (agent.Usage{Requests: 3, InputTokens: 11, CachedTokens: 7, OutputTokens: 5, ReasoningTokens: 3,
		TotalTokens: 16}); s.Usage() != want {
		t.Errorf("got %+v", s.Usage())
	}
}

func TestModelFails(t *testing.T) {
	t.Parallel()
	down := errors.New("model is down")
	a := &agent.Agent{Name: "ops", Model: scripted.New(scripted.Fail(down), scripted.Say("Back."))}
	r := new(agent.Runner)
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("hi")}, agent.RunOptions{})
	if !errors.Is(err, down) || res == nil || res.State.Turn() != 0 {
		t.Fatalf("got %+v, %v", res, err)
	}
	res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	if err != nil || res.FinalOutput != "Back." || res.State.Turn() != 1 {
		t.Errorf("got %+v, %v", res, err)
	}
	a.Model = modelFunc(func(*agent.ModelRequest) (*agent.ModelResponse, error) { return nil, nil })
	if _, err = r.Run(t.Context(), a, nil, agent.RunOptions{}); !errors.Is(err, agent.ErrModelBehavior) {
		t.Errorf("no response: got %v", err)
	}
}

type modelFunc func(*agent.ModelRequest) (*agent.ModelResponse, error)

func (f modelFunc) Respond(_ context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	return f(req)
}

// The session sees nothing of a run that fails, and everything of it once it goes on.
func TestSessionFails(t *testing.T) {
	t.Parallel()
	full := errors.New("session is full")
	session := &brokenSession{err: full}
	a := corpusAgent()
	r := &runs{RunOptions: agent.RunOptions{Session: session}}
	if _, err := r.Run(t.Context(), a, agent.UserMessage("x")); !errors.Is(err, full) {
		t.Fatalf("got %v", err)
	}
	session.read = true
	res, err := r.Run(t.Context(), a, agent.UserMessage("x"))
	if !errors.Is(err, full) || res == nil {
		t.Fatalf("got %v", err)
	}
	session.err = nil
	_, err = r.Resume(t.Context(), a, res.State)
	must(t, err)
	items, _ := session.Items(t.Context())
	if diff := gocmp.Diff("user: x\n", describe(items)); diff != "" {
		t.Error(diff) // the turn's first call waits, and the session keeps the order
	}
	for !res.State.Finished() {
		for _, in := range res.State.Undecided() {
			must(t, res.State.Approve(in, agent.ApproveOptions{}))
		}
		_, err = r.Resume(t.Context(), a, res.State)
		must(t, err)
	}
	items, _ = session.Items(t.Context())
	if diff := gocmp.Diff(describe(res.State.Items()), describe(items)); diff != "" {
		t.Error(diff)
	}
}

type brokenSession struct {
	agent.MemorySession
	err  error
	read bool
}

func (b *brokenSession) Items(ctx context.Context) ([]agent.Item, error) {
	items, err := b.MemorySession.Items(ctx)
	if !b.read {
		err = b.err
	}
	return items, err
}

func (b *brokenSession) Append(ctx context.Context, items ...agent.Item) error {
	if b.err != nil {
		return b.err
	}
	return b.MemorySession.Append(ctx, items...)
}

// A second run of a session sees the first, and call ids of the first mean nothing to it.
func TestSessionOfTwoRuns(t *testing.T) {
	t.Parallel()
	session := new(agent.MemorySession)
	ran := 0
	tool := invoking(func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		ran++
		return agent.ToolOutput{}, nil
	})
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "work", `{}`)), scripted.Say("One."),
		scripted.Calls(scripted.Call("c1", "work", `{}`)), scripted.Say("Two."),
	)}
	r := &runs{RunOptions: agent.RunOptions{Session: session}}
	for _, want := range []string{"One.", "Two."} {
		res, err := r.Run(t.Context(), a, agent.UserMessage("go"))
		if err != nil || res.FinalOutput != want {
			t.Fatalf("got %+v, %v", res, err)
		}
	}
	items, _ := session.Items(t.Context())
	turn := "user: go\ncall c1 work {}\noutput c1: \nassistant: "
	if diff := gocmp.Diff(turn+"One.\n"+turn+"Two.\n", describe(items)); diff != "" || ran != 2 {
		t.Error(diff, ran)
	}
}

// One Runner and one Agent serve many runs at once.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	a := corpusAgent()
	var r agent.Runner
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
			for err == nil && !res.State.Finished() {
				for _, in := range res.Interruptions {
					err = errors.Join(err, res.State.Approve(in, agent.ApproveOptions{Always: true}))
				}
				if err == nil {
					res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
				}
			}
			if err != nil || res.FinalOutput != "Done." {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
	wg.Wait()
}

// FuzzRun checks that no answer of a model makes the runner panic, run a gated tool, or leave a state that cannot be
// saved and read again.
func FuzzRun(f *testing.F) {
	f.Add("function_call", "c1", "pay", `{"amount":1}`,
		`{"type":"function_call","call_id":"c1","name":"pay","arguments":"{\"amount\":1}"}`)
	f.Add("message", "\xff", "\x00", "\xed\xa0\x80",
		`{"type":"function_call","call_id":"c2","name":"look","arguments":"\ud800"}`)
	f.Add("reasoning", "", "look", `{"amount":1,"Amount":2}`,
		`{"role":"assistant","content":[{"type":"output_text","text":"hi"},5,{"refusal":"no"}]}`)
	f.Add("", "c1", "", "", "{}")
	f.Fuzz(func(t *testing.T, kind, callID, name, arguments, raw string) {
		gated := false
		a := corpusAgent()
		a.Tools[0].Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
			gated = true
			return agent.ToolOutput{}, nil
		}
		turns := 0
		a.Model = modelFunc(func(*agent.ModelRequest) (*agent.ModelResponse, error) {
			if turns++; turns > 1 {
				return &agent.ModelResponse{Items: []agent.Item{agent.AssistantMessage("Done.")}}, nil
			}
			return &agent.ModelResponse{Items: []agent.Item{
				{Type: agent.ItemType(kind), CallID: callID, Name: name, Arguments: arguments,
					Text: arguments, Output: name},
				{Raw: json.RawMessage(raw)},
			}}, nil
		})
		res, err := new(agent.Runner).Run(
			t.Context(), a, []agent.Item{agent.UserMessage(arguments)}, agent.RunOptions{})
		if gated {
			t.Fatal("a gated tool ran")
		}
		data, encodeErr := res.State.MarshalJSON()
		must(t, encodeErr)
		s, decodeErr := agent.DecodeRunState(data, a)
		must(t, decodeErr)
		if diff := gocmp.Diff(res.State.Items(), s.Items()); diff != "" && utf8Arguments(res.State.Items()) {
			t.Error(diff)
		}
		if err != nil && !errors.Is(err, agent.ErrModelBehavior) {
			t.Fatal(err)
		}
	})
}

// utf8Arguments reports whether no arguments hold what is not text: only they keep it, so that it can be refused.
func utf8Arguments(items []agent.Item) bool {
	for _, it := range items {
		if it.Arguments != strings.ToValidUTF8(it.Arguments, "") {
			return false
		}
	}
	return true
}
