package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/scripted"
	"countersign/agent/trace"
)

// tracedAgent has a bit of everything. Texts that no span may hold contain "CANARY".
func tracedAgent() *agent.Agent {
	tool := func(name string, fn func(*agent.ToolCall) (agent.ToolOutput, error)) agent.Tool {
		return agent.Tool{
			Name: name, Parameters: json.RawMessage(`{"type":"object"}`),
			Validate: func(json.RawMessage) error { return nil },
			Invoke:   func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) { return fn(c) },
		}
	}
	output := func(*agent.ToolCall) (agent.ToolOutput, error) { return agent.ToolOutput{Text: "CANARY output"}, nil }
	pay, look := tool("pay", output), tool("look", output)
	pay.NeedsApproval = agent.AlwaysAsk
	limit := func(context.Context, *agent.ToolCall) (guardrail.Verdict, error) {
		return guardrail.Verdict{Message: "CANARY verdict"}, nil
	}
	mask := func(context.Context, *agent.ToolCall, agent.ToolOutput) (guardrail.Verdict, error) {
		return guardrail.Verdict{Action: guardrail.Replace, Message: "CANARY mask"}, nil
	}
	polite := func(context.Context, *agent.Agent, []agent.Item) (guardrail.Verdict, error) {
		return guardrail.Verdict{}, nil
	}
	pay.InputGuardrails = []agent.ToolInputGuardrail{{Name: "limit", Check: limit}}
	look.OutputGuardrails = []agent.ToolOutputGuardrail{{Name: "mask", Check: mask}}
	fail := tool("fail", func(*agent.ToolCall) (agent.ToolOutput, error) {
		return agent.ToolOutput{}, errors.New("CANARY failure")
	})
	const arguments = `{"secret":"CANARY argument"}`
	clerk := &agent.Agent{Name: "clerk", Tools: []agent.Tool{pay}, Model: scripted.New(
		scripted.Calls(scripted.Call("n1", "pay", arguments)), scripted.Say("CANARY inside"))}
	closer := &agent.Agent{Name: "closer", Instructions: "CANARY", Model: scripted.New(
		scripted.Step{}, scripted.Step{}, scripted.Say("CANARY answer"))}
	first := scripted.Calls(
		agent.Item{Type: agent.ItemReasoning, Text: "CANARY thought"},
		scripted.Call("c1", "pay", arguments), scripted.Call("c2", "look", arguments),
		scripted.Call("c3", "fail", arguments),
		scripted.Call("c4", "clerk", `{"input":"CANARY task"}`), scripted.Call("c5", "pay", arguments))
	first.Usage = agent.Usage{InputTokens: 100, CachedTokens: 60, OutputTokens: 20, ReasoningTokens: 5}
	return &agent.Agent{
		Name: "ops", Instructions: "CANARY instructions",
		Tools:           []agent.Tool{pay, look, fail, clerk.AsTool("clerk", "CANARY")},
		Handoffs:        []agent.Handoff{{Agent: closer}},
		InputGuardrails: []agent.InputGuardrail{{Name: "polite", Check: polite}},
		Model:           scripted.New(first, scripted.Calls(scripted.Call("c6", "transfer_to_closer", `{}`))),
	}
}

// playTraced runs the agent, answers in another process, and resumes there.
func playTraced(t *testing.T, before, after trace.Tracer) *agent.RunState {
	t.Helper()
	r := &agent.Runner{Tracer: before, MaxParallelCalls: 1}
	res, err := r.Run(t.Context(), tracedAgent(), []agent.Item{agent.UserMessage("CANARY question")}, runOf("run_1"))
	must(t, err)
	data, err := res.State.MarshalJSON()
	must(t, err)
	s, err := agent.DecodeRunState(data, tracedAgent())
	must(t, err)
	message := "CANARY reason"
	for _, in := range s.Interruptions() {
		if in.Call.ID == "c5" {
			must(t, s.Reject(in, agent.RejectOptions{Message: &message}))
			continue
		}
		must(t, s.Approve(in, agent.ApproveOptions{}))
	}
	r = &agent.Runner{Tracer: after, MaxParallelCalls: 1}
	res, err = r.Resume(t.Context(), tracedAgent(), s, agent.RunOptions{})
	must(t, err)
	if !strings.Contains(res.FinalOutput, "CANARY") {
		t.Fatalf("final output %q", res.FinalOutput)
	}
	return res.State
}

func TestTraceTree(t *testing.T) {
	t.Parallel()
	before, after := newTrail("first"), newTrail("second")
	playTraced(t, before, after)
	before.check(t)
	after.check(t)
	want := `run ops run=run_1 input_tokens=100 output_tokens=20 cached_tokens=60 reasoning_tokens=5 questions=3
  turn ops turn=1
    guardrail polite stage=input verdict=allow
    model  turn=1 input_tokens=100 output_tokens=20 cached_tokens=60 reasoning_tokens=5 response=resp_1
    question pay turn=1 tool=pay tool_kind=function call=c1 question=confirm
    question pay turn=1 tool=pay tool_kind=function call=c5 question=confirm
    tool look turn=1 tool=look tool_kind=function call=c2 verdict=free
    guardrail mask stage=tool_output tool=look call=c2 verdict=replace
    tool fail turn=1 tool=fail tool_kind=function call=c3 verdict=free !other
    agent clerk tool=clerk call=c4 questions=1
      turn clerk turn=1
        model  turn=1 input_tokens=0 output_tokens=0 response=resp_1
        question pay turn=1 tool=pay tool_kind=function call=n1 question=confirm
run ops run=run_1 input_tokens=0 output_tokens=0 questions=0 <- [first]
  turn ops turn=1
    answer pay turn=1 tool=pay tool_kind=function call=c1 question=confirm verdict=approved <- [first]
    answer pay turn=1 tool=pay tool_kind=function call=c5 question=confirm verdict=rejected <- [first]
    guardrail limit stage=tool_input tool=pay call=c1 verdict=allow
    tool pay turn=1 tool=pay tool_kind=function call=c1 verdict=approved
    agent clerk tool=clerk call=c4 questions=0
      turn clerk turn=1
        answer pay turn=1 tool=pay tool_kind=function call=n1 question=confirm verdict=approved <- [first]
        guardrail limit stage=tool_input tool=pay call=n1 verdict=allow
        tool pay turn=1 tool=pay tool_kind=function call=n1 verdict=approved
      turn clerk turn=2
        model  turn=2 input_tokens=0 output_tokens=0 response=resp_2
  turn ops turn=2
    model  turn=2 input_tokens=0 output_tokens=0 response=resp_2
    handoff closer turn=2 to=closer verdict=done
  turn closer turn=3
    model  turn=3 input_tokens=0 output_tokens=0 response=resp_3
`
	if diff := gocmp.Diff(want, before.tree()+after.tree()); diff != "" {
		t.Error(diff)
	}
}

// texts returns the spans that hold a text.
func (tr *trail) texts(text string) []string {
	var found []string
	for _, s := range tr.spans {
		all := fmt.Sprint(s.start.Name, s.start.Links, s.class, s.start.Attrs, s.attrs)
		if strings.Contains(all, text) {
			found = append(found, fmt.Sprint(s.start.Kind, " ", all))
		}
	}
	return found
}

func TestTraceHoldsNoTexts(t *testing.T) {
	t.Parallel()
	before, after := newTrail("first"), newTrail("second")
	playTraced(t, before, after)
	for _, tr := range []*trail{before, after} {
		if found := tr.texts("CANARY"); found != nil {
			t.Errorf("spans hold texts: %q", found)
		}
	}
	before.spans[0].attrs = append(before.spans[0].attrs, slog.String("arguments", `{"secret":"CANARY argument"}`))
	if len(before.texts("CANARY")) != 1 {
		t.Error("control: a text in an attribute was not found")
	}
}

// TestTraceDialogues plays every dialogue with tracers that panic wherever they can. Each must go as it goes without,
// and all spans end, once, those inside others first.
func TestTraceDialogues(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/dialogues/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no dialogues", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			must(t, err)
			tr := newTrail("")
			tr.panics = true
			for _, tracer := range []trace.Tracer{tr, hostile{}} {
				if diff := gocmp.Diff(string(data), play(t, string(data), tracer)); diff != "" {
					t.Errorf("with a tracer %T:\n%s", tracer, diff)
				}
			}
			tr.check(t)
		})
	}
}

// TestTraceEnds ends runs in the middle.
func TestTraceEnds(t *testing.T) {
	t.Parallel()
	panics := []string{trace.ClassPanic}
	inModel := map[trace.Kind][]string{trace.Run: panics, trace.Turn: panics, trace.Model: panics}
	calls := scripted.Calls(scripted.Call("c1", "work", `{"amount":1}`), scripted.Call("c2", "work", `{"amount":2}`))
	tests := []struct {
		name   string
		work   func(ctx context.Context) // what the tool does
		model  agent.Model
		o      agent.RunOptions
		stream bool
		want   map[trace.Kind][]string
	}{
		{
			name: "model panics", model: cheese{},
			want: inModel,
		},
		{
			name: "model ends its goroutine", model: scripted.New(scripted.Step{Check: func(*agent.ModelRequest) error {
				runtime.Goexit()
				return nil
			}}),
			want: inModel,
		},
		{
			name: "tools panic", work: func(context.Context) { panic("no") },
			want: map[trace.Kind][]string{
				trace.Run: {""}, trace.Turn: {"", ""}, trace.Tool: {trace.ClassPanic, trace.ClassPanic}},
		},
		{
			name: "tools end their goroutine", work: func(context.Context) { runtime.Goexit() },
			want: map[trace.Kind][]string{
				trace.Run: panics, trace.Turn: panics, trace.Tool: panics},
		},
		{
			name: "checkpoint panics",
			o:    agent.RunOptions{Checkpoint: func(context.Context, agent.Delta) error { panic("no") }},
			want: map[trace.Kind][]string{
				trace.Run: {trace.ClassPanic}, trace.Turn: {trace.ClassPanic}, trace.Model: {""}},
		},
		{
			name: "consumer stops", stream: true,
			want: map[trace.Kind][]string{trace.Run: {trace.ClassCancelled}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			work := agent.NewTool("work", "", func(ctx context.Context, _ amountArgs) (string, error) {
				if tt.work != nil {
					tt.work(ctx)
				}
				return "done", nil
			})
			if tt.model == nil {
				tt.model = scripted.New(calls, scripted.Say("Done."))
			}
			tr := newTrail("")
			a := &agent.Agent{Name: "ops", Tools: []agent.Tool{work}, Model: tt.model}
			r := &agent.Runner{Tracer: tr, MaxParallelCalls: 1}
			over := make(chan struct{})
			go func() {
				defer close(over)
				defer func() { _ = recover() }()
				for range r.Stream(t.Context(), a, nil, tt.o).Events() {
					if tt.stream {
						break
					}
				}
			}()
			<-over
			tr.check(t)
			for kind, want := range tt.want {
				if diff := gocmp.Diff(want, tr.classes(kind)); diff != "" {
					t.Errorf("classes of %s:\n%s", kind, diff)
				}
			}
		})
	}
}

// TestTraceCancelled cancels a run while a tool works.
func TestTraceCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	wait := agent.NewTool("wait", "", func(ctx context.Context, _ amountArgs) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{wait},
		Model: scripted.New(scripted.Calls(scripted.Call("c1", "wait", `{"amount":1}`)))}
	tr := newTrail("")
	if _, err := (&agent.Runner{Tracer: tr}).Run(ctx, a, nil, agent.RunOptions{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	tr.check(t)
	for _, kind := range []trace.Kind{trace.Run, trace.Turn, trace.Tool} {
		if diff := gocmp.Diff([]string{trace.ClassCancelled}, tr.classes(kind)); diff != "" {
			t.Errorf("classes of %s:\n%s", kind, diff)
		}
	}
}

// TestTraceSaved has a state keep what refers to its run's span, through processes that trace and one that does not.
func TestTraceSaved(t *testing.T) {
	t.Parallel()
	again := func(link string, state []byte) ([]byte, *trail) {
		t.Helper()
		tr := newTrail(link)
		r := &runs{Runner: agent.Runner{Tracer: tr}, RunOptions: runOf("run_frozen")}
		if link == "" {
			r.Tracer = nil
		}
		var s *agent.RunState
		if state == nil {
			s = begin(t, corpusAgent(), r)
		} else {
			s = resumed(t, corpusAgent(), r, decode(t, state).Clone())
		}
		data, err := s.MarshalJSON()
		must(t, err)
		return data, tr
	}
	plain, _ := again("", nil)
	if strings.Contains(string(plain), "trace") || !strings.HasPrefix(string(plain), `{"version":1,`) {
		t.Errorf("a state that nobody traces: %s", plain)
	}
	for _, link := range []string{strings.Repeat("x", 513), "a\xff"} {
		if data, _ := again(link, nil); string(data) != string(plain) {
			t.Errorf("a link that cannot be saved changes the state: %s", data)
		}
	}
	first, _ := again("first", nil)
	untraced, _ := again("", first)
	_, tr := again("third", untraced)
	if got := tr.spans[0].start.Links; !slices.Equal(got, []string{"first"}) {
		t.Errorf("the run links to %q", got)
	}
}

// named is a model that tells its name.
type named struct{ agent.Model }

func (named) ModelName() (provider, model string) { return "openai", "gpt" }

// TestTraceModelName finds the name of a model also behind one that Runner.ModelOf has put around it.
func TestTraceModelName(t *testing.T) {
	t.Parallel()
	a := &agent.Agent{Name: "ops", Model: named{scripted.New(scripted.Say("Done."))}}
	wrapped := func(a *agent.Agent) agent.Model { return struct{ agent.Model }{a.Model} }
	for _, modelOf := range []func(*agent.Agent) agent.Model{nil, wrapped} {
		tr := newTrail("")
		r := &agent.Runner{Tracer: tr, ModelOf: modelOf}
		_, err := r.Run(t.Context(), a, nil, agent.RunOptions{})
		must(t, err)
		if !strings.Contains(tr.tree(), "model gpt turn=1 provider=openai model=gpt ") {
			t.Errorf("the model is not named:\n%s", tr.tree())
		}
	}
}

// TestTraceAnsweredMeanwhile answers a question while its event is looked at: the answer is in the same span of the
// run, and refers to no other, unlike that to the question of the run before.
func TestTraceAnsweredMeanwhile(t *testing.T) {
	t.Parallel()
	pay := frozenTool("pay")
	pay.NeedsApproval = agent.AlwaysAsk
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{pay}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "pay", `{"amount":1}`)),
		scripted.Calls(scripted.Call("c2", "pay", `{"amount":2}`)), scripted.Say("Done."))}
	r := &agent.Runner{Tracer: newTrail("first")}
	res, err := r.Run(t.Context(), a, nil, agent.RunOptions{})
	must(t, err)
	s := res.State
	must(t, s.Approve(s.Interruptions()[0], agent.ApproveOptions{}))
	second := newTrail("second")
	stream := (&agent.Runner{Tracer: second}).StreamResume(t.Context(), a, s, agent.RunOptions{})
	for e := range stream.Events() {
		if asked, ok := e.(agent.ApprovalRequested); ok {
			must(t, s.Approve(asked.Interruption, agent.ApproveOptions{}))
		}
	}
	if res, err := stream.Result(); err != nil || res.FinalOutput != "Done." {
		t.Fatal(res, err)
	}
	second.check(t)
	var links [][]string
	for _, s := range second.spans {
		if s.start.Kind == trace.Answer {
			links = append(links, s.start.Links)
		}
	}
	if diff := gocmp.Diff([][]string{{"first"}, nil}, links); diff != "" {
		t.Errorf("links of the answers:\n%s", diff)
	}
}
