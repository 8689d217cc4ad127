package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/agent/scripted"
)

// TestCrashes plays random scripts with random decisions twice: undisturbed, and with the process dying at random
// moments and coming back with what was stored. Whatever happens, every effect happens at most once, every call gets
// exactly one output, and the conversation ends the same.
func TestCrashes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plot := drawPlot(t)
		calm := &world{plot: plot}
		want := calm.live(t)
		stormy := &world{plot: plot, crashes: rapid.SliceOfN(rapid.IntRange(1, 40), 1, 6).Draw(t, "crashes")}
		got := stormy.live(t)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("the conversation is another one after %d crashes:\n%s", stormy.died, diff)
		}
		for _, w := range []*world{calm, stormy} {
			for effect, n := range w.effects {
				if n > 1 && !strings.HasPrefix(effect, "idem ") {
					t.Errorf("effect happened %d times: %s", n, effect)
				}
			}
		}
	})
}

// TestCrashesControl proves that TestCrashes can fail: with journals that forget, effects are repeated.
func TestCrashesControl(t *testing.T) {
	t.Parallel()
	for _, journal := range []forgets{{intents: true}, {attempts: true}} {
		if !repeats(t, journal) {
			t.Errorf("no effect was repeated: %+v", journal)
		}
	}
	if repeats(t, forgets{}) {
		t.Error("an effect was repeated by a journal that forgets nothing")
	}
}

// repeats lets processes die at every pair of moments and reports whether an effect happened twice.
func repeats(t *testing.T, journal forgets) bool {
	for first := 1; first <= 12; first++ {
		for second := 1; second <= 25; second++ {
			w := &world{
				crashes: []int{first, second}, forgets: journal,
				plot: plot{saves: true, answers: map[string]string{"c1": "approve"}, steps: []scripted.Step{
					scripted.Calls(scripted.Call("c1", "ask", `{"amount":1}`),
						scripted.Call("c2", "free", `{"amount":2}`)),
					scripted.Say("Done."),
				}},
			}
			w.live(t)
			for _, n := range w.effects {
				if n > 1 {
					return true
				}
			}
		}
	}
	return false
}

// plot is a script and what people will answer, by call id.
type plot struct {
	steps   []scripted.Step
	answers map[string]string
	hold    bool // answer one question at a time
	saves   bool // keep the state with the answers before resuming it
	input   string
	alone   bool                        // one call at a time
	graph   func(w *world) *agent.Agent // nil: one agent with four tools that plays the steps
}

func drawPlot(t *rapid.T) plot {
	s := plot{
		answers: make(map[string]string), hold: rapid.Bool().Draw(t, "hold"), saves: rapid.Bool().Draw(t, "saves"),
	}
	verdicts := []string{"approve", "reject"}
	if !s.hold {
		verdicts = append(verdicts, "approve always", "reject always")
	}
	for turn := range rapid.IntRange(1, 3).Draw(t, "turns") {
		var items []agent.Item
		for n := range rapid.IntRange(1, 4).Draw(t, "calls") {
			id := fmt.Sprintf("c%d_%d", turn, n)
			tool := rapid.SampledFrom([]string{"free", "idem", "ask", "dyn", "nope"}).Draw(t, "tool")
			arguments := rapid.SampledFrom(
				[]string{`{"amount":1}`, `{"amount":200}`, `{"amount":"x"}`, `{"amount":1,"amount":2}`}).Draw(t,
				"arguments")
			items = append(items, scripted.Call(id, tool, arguments))
			s.answers[id] = rapid.SampledFrom(verdicts).Draw(t, "verdict")
		}
		s.steps = append(s.steps, scripted.Calls(items...))
	}
	s.steps = append(s.steps, scripted.Say("Done."))
	return s
}

// world is everything that outlives a process: stored state, journal, effects.
type world struct {
	plot    plot
	crashes []int // after so many events a process dies
	forgets forgets

	mu      sync.Mutex
	dead    bool
	events  int
	died    int
	kill    context.CancelFunc
	head    json.RawMessage
	chunks  []json.RawMessage
	stored  int
	journal map[string]record
	effects map[string]int
	outputs map[string]agent.ToolOutput // what really happened, by effect id
}

// forgets says what a broken journal does not remember.
type forgets struct {
	intents  bool // what has begun
	attempts bool // that a permission to retry was used
}

// record is what the journal knows of an effect.
type record struct {
	attempt int
	output  *agent.ToolOutput
}

var errDied = errors.New("the process died")

// event is a moment at which the process may die. It reports whether it is dead.
func (w *world) event() bool {
	if w.dead {
		return true
	}
	w.events++
	if len(w.crashes) > 0 && w.events >= w.crashes[0] {
		w.crashes, w.events = w.crashes[1:], 0
		w.dead = true
		w.died++
		w.kill()
	}
	return w.dead
}

func (w *world) agent() *agent.Agent {
	if w.plot.graph != nil {
		return w.plot.graph(w)
	}
	return &agent.Agent{
		Name: "ops", Model: scripted.New(w.plot.steps...),
		Tools: []agent.Tool{w.tool("free"), w.tool("idem"), w.tool("ask"), w.tool("dyn")},
	}
}

// tool returns a tool whose effects are counted; its name says when it asks.
func (w *world) tool(name string) agent.Tool {
	tool := agent.NewTool(name, "", func(context.Context, amountArgs) (string, error) { return "", nil })
	tool.Idempotent = name == "idem"
	switch name {
	case "ask":
		tool.NeedsApproval = agent.AlwaysAsk
	case "dyn":
		tool.NeedsApproval = func(_ context.Context, c *agent.ToolCall) (bool, error) {
			return string(c.Arguments) == `{"amount":200}`, nil
		}
	}
	tool.Invoke = w.invoke
	return tool
}

func (w *world) invoke(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.event() {
		return agent.ToolOutput{}, errDied
	}
	if w.effects == nil {
		w.effects, w.outputs = make(map[string]int), make(map[string]agent.ToolOutput)
	}
	w.effects[c.Tool+" "+c.EffectID]++
	out := agent.ToolOutput{Text: c.Tool + string(c.Arguments) + c.EffectID}
	w.outputs[c.EffectID] = out
	if w.event() {
		return agent.ToolOutput{}, errDied
	}
	return out, nil
}

func (w *world) Intent(_ context.Context, e agent.Effect) (agent.Prior, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.event() {
		return agent.Prior{}, errDied
	}
	if w.journal == nil {
		w.journal = make(map[string]record)
	}
	known, begun := w.journal[e.ID]
	retry := e.Retry && (e.Attempt > known.attempt || w.forgets.attempts)
	switch {
	case known.output != nil:
		return agent.Prior{Output: known.output}, nil
	case begun && !retry && !e.Idempotent && !w.forgets.intents:
		return agent.Prior{}, agent.ErrOutcomeUnknown
	}
	w.journal[e.ID] = record{attempt: e.Attempt}
	if w.event() {
		return agent.Prior{}, errDied
	}
	return agent.Prior{Begun: begun}, nil
}

func (w *world) Done(_ context.Context, e agent.Effect, out agent.ToolOutput) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.event() {
		return errDied
	}
	if w.journal[e.ID].output != nil {
		return errors.New("the output is on record already")
	}
	w.journal[e.ID] = record{output: &out}
	if w.event() {
		return errDied
	}
	return nil
}

func (w *world) store(_ context.Context, d agent.Delta) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.event() {
		return errDied
	}
	if d.From > w.stored {
		return fmt.Errorf("delta from %d, but only %d items are stored", d.From, w.stored)
	}
	w.head = d.Head
	if d.From < w.stored {
		w.chunks = nil // a run that began again
	}
	if d.Count > 0 {
		w.chunks = append(w.chunks, d.Items)
	}
	w.stored = d.From + d.Count
	if w.event() {
		return errDied
	}
	return nil
}

// live starts processes until one of them finishes the run, and returns the conversation.
func (w *world) live(t rapid.TB) []string {
	for range 100 {
		s, err := w.process(t)
		if err == nil {
			return w.conversation(t, s)
		}
		if !errors.Is(err, errDied) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	t.Fatal("the run does not end")
	return nil
}

// process does what a worker does: reads the state, applies what people answered, resumes, stores.
func (w *world) process(t rapid.TB) (*agent.RunState, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.dead, w.kill = false, cancel
	a := w.agent()
	r := &runs{Runner: agent.Runner{Journal: w}, RunOptions: runOf("run_1")}
	r.Checkpoint, r.MaxTurns = w.store, -1
	if w.plot.alone {
		r.MaxParallelCalls = 1
	}
	var s *agent.RunState
	if w.head == nil {
		res, err := r.Run(ctx, a, agent.UserMessage("go"))
		if err != nil {
			return nil, err
		}
		s = res.State
	} else {
		var err error
		if s, err = w.saved().Decode(a); err != nil {
			t.Fatal(err)
		}
		saved, err := w.saved().Items()
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(describe(s.Items()), describe(saved)); diff != "" {
			t.Fatalf("read without agents: %s", diff)
		}
	}
	for !s.Finished() {
		w.answer(t, s)
		w.add(t, s)
		if w.plot.saves {
			if err := w.save(ctx, t, s); err != nil {
				return nil, err
			}
		}
		if _, err := r.Resume(ctx, a, s); err != nil {
			return nil, err
		}
		if err := w.save(ctx, t, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// saved returns what was stored.
func (w *world) saved() *agent.SavedState { return &agent.SavedState{Head: w.head, Chunks: w.chunks} }

func (w *world) save(ctx context.Context, t rapid.TB, s *agent.RunState) error {
	d, err := s.Delta(w.stored)
	if err != nil {
		t.Fatal(err)
	}
	return w.store(ctx, d)
}

func (w *world) answer(t rapid.TB, s *agent.RunState) {
	for _, in := range s.Undecided() {
		var err error
		verdict := w.plot.answers[in.Call.ID]
		out, happened := w.outputs[in.Call.EffectID]
		switch {
		case in.Kind == agent.OutcomeUnknown && happened:
			err = s.Approve(in, agent.ApproveOptions{Output: &out})
		case in.Kind == agent.OutcomeUnknown:
			err = s.Approve(in, agent.ApproveOptions{})
		case strings.HasPrefix(verdict, "approve"):
			err = s.Approve(in, agent.ApproveOptions{Always: strings.HasSuffix(verdict, "always")})
		default:
			err = s.Reject(in, agent.RejectOptions{Always: strings.HasSuffix(verdict, "always")})
		}
		if err != nil {
			t.Fatal(err)
		}
		if w.plot.hold {
			return
		}
	}
}

// conversation describes the items, outputs of a turn in the order of their ids: when people answer bit by bit, or
// are asked what happened, the order depends on when they do. It fails when a call has not exactly one output.
func (w *world) conversation(t rapid.TB, s *agent.RunState) []string {
	var lines []string
	start := 0
	open := make(map[string]bool)
	for _, it := range s.Items() {
		switch it.Type {
		case agent.ItemFunctionCall:
			if len(lines) > 0 && strings.HasPrefix(lines[len(lines)-1], "output") {
				start = len(lines)
			}
			open[it.CallID] = true
		case agent.ItemFunctionCallOutput:
			if !open[it.CallID] {
				t.Errorf("output %s without an open call", it.CallID)
			}
			delete(open, it.CallID)
		}
		lines = append(lines, strings.Replace(strings.TrimSpace(describe([]agent.Item{it})), "function_call", "", 1))
		if it.Type == agent.ItemFunctionCallOutput {
			i := start + slices.IndexFunc(lines[start:], func(l string) bool { return strings.HasPrefix(l, "output") })
			slices.Sort(lines[i:])
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without output: %v", open)
	}
	return lines
}

var _ agent.Journal = (*world)(nil)

// TestCrashesHappen proves that the moments of TestCrashes are really reached.
func TestCrashesHappen(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 8; at++ {
		w := &world{crashes: []int{at}, plot: plot{
			steps:   []scripted.Step{scripted.Calls(scripted.Call("c1", "ask", `{"amount":1}`)), scripted.Say("Done.")},
			answers: map[string]string{"c1": "approve"},
		}}
		w.live(t)
		if w.died != 1 {
			t.Errorf("crash %d did not happen", at)
		}
	}
}
