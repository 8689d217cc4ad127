package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/history"
)

// TestWrittenStatesAreRead runs odd models with odd tools and odd answers: whatever a checkpoint or MarshalJSON writes,
// at whatever moment, is read again, and is written the same then.
func TestWrittenStatesAreRead(t *testing.T) {
	t.Parallel()
	checkpoints, finished, asked := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := &oddWorld{t: t}
		root := w.agent("ops")
		if err := root.Check(); err != nil {
			return // refused when it happens
		}
		r := &runs{RunOptions: w.options()}
		r.MaxParallelCalls = 1 // what is drawn must not depend on the order in which calls are carried out
		var saved agent.SavedState
		r.Checkpoint = func(_ context.Context, d agent.Delta) error {
			checkpoints++
			if saved.Head = d.Head; d.Count > 0 {
				saved.Chunks = append(saved.Chunks, d.Items)
			}
			if _, err := saved.Decode(root); err != nil && !errors.Is(err, agent.ErrUnknownTool) {
				t.Fatalf("a checkpoint cannot be read: %v\n%.3000s\n%.3000q", err, saved.Head, saved.Chunks)
			}
			return nil
		}
		res, _ := r.Run(context.Background(), root, agent.UserMessage(w.text("input")))
		for range 4 {
			if res == nil {
				return // refused before anything happened
			}
			w.checkSession()
			s := w.reread(root, res.State)
			if s.Finished() {
				finished++
				break
			}
			for _, in := range s.Undecided() {
				asked++
				w.answer(s, in)
			}
			s = w.reread(root, s)
			whole, err := s.Delta(0)
			if err != nil {
				t.Fatal(err)
			}
			saved = agent.SavedState{Head: whole.Head, Chunks: []json.RawMessage{whole.Items}}
			res, _ = r.Resume(context.Background(), root, s)
		}
	})
	if checkpoints == 0 || finished == 0 || asked == 0 {
		t.Errorf("%d checkpoints, %d finished, %d asked: the runs are too odd", checkpoints, finished, asked)
	}
}

// oddWorld draws what a run is made of.
type oddWorld struct {
	t       *rapid.T
	calls   int
	turns   int
	session *agent.MemorySession
}

// checkSession looks for calls without outputs in the session, if there is one.
func (w *oddWorld) checkSession() {
	if w.session == nil {
		return
	}
	items, _ := w.session.Items(context.Background())
	notRun := func(agent.Item) agent.ToolOutput { return agent.ToolOutput{} }
	if closed := history.CloseCalls(items, notRun); len(closed) != len(items) {
		w.t.Fatalf("the session has calls without outputs\n%s", describe(items))
	}
}

func (w *oddWorld) pick(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(w.t, label)
}

func (w *oddWorld) chance(label string) bool { return rapid.IntRange(0, 3).Draw(w.t, label) == 0 }

// seldom draws what an agent is refused for, once in a while, and s otherwise: an agent has many tools, and one that is
// refused proves little.
func (w *oddWorld) seldom(label, s string) string {
	if rapid.IntRange(0, 29).Draw(w.t, label) == 29 {
		return "\xff"
	}
	return s
}

// text draws a text that is hard to save.
func (w *oddWorld) text(label string) string {
	return w.pick(label, "plain", "", "\x00\x01\x1f\x7f",
		"invalid \xff\xfe\xed\xa0\x80", "\u2028\u2029 <&> \"\\", "\U0001F600",
		strings.Repeat("long ", 3000), "\uFFFD")
}

func (w *oddWorld) agent(name string) *agent.Agent {
	a := &agent.Agent{Name: name + w.seldom("agent", w.pick("suffix", "", "/%2F", "\x00")), Model: w}
	for _, tool := range []string{"pay", "look", "ask"} {
		a.Tools = append(a.Tools, w.tool(tool))
	}
	shell := w.tool("sh")
	shell.Kind, shell.Wire = agent.KindShell, agent.WireShell
	fix := w.tool("fix")
	fix.Kind, fix.Wire = agent.KindApplyPatch, agent.WireApplyPatch
	a.Tools = append(a.Tools, shell, fix)
	if name == "ops" && w.chance("nested") {
		inner := w.agent("inner").AsTool("inner", "")
		inner.Use.MaxTurns = rapid.SampledFrom([]int{0, 1, -1, math.MaxInt}).Draw(w.t, "inner turns")
		a.Tools = append(a.Tools, inner)
	}
	if w.chance("first") {
		a.ToolUse.StopOnFirst = true
	}
	if w.chance("output guardrail") {
		check := func(context.Context, *agent.Agent, string) (guardrail.Verdict, error) { return w.verdict(), nil }
		a.OutputGuardrails = []agent.OutputGuardrail{{Name: w.text("guardrail"), Check: check}}
	}
	return a
}

func (w *oddWorld) verdict() guardrail.Verdict {
	action := guardrail.Action(w.pick("verdict", "", "", "trip", "ask_again", "\xff"))
	return guardrail.Verdict{Action: action, Message: w.text("verdict text")}
}

func (w *oddWorld) tool(name string) agent.Tool {
	t := agent.Tool{Name: name, Kind: agent.ToolKind(w.seldom("kind", w.pick("known", "", "odd", "o/\u2028")))}
	if w.chance("gated") {
		t.NeedsApproval = agent.AlwaysAsk
	}
	// Several calls of a turn are looked up and gated side by side: these draw nothing when they are asked.
	if w.chance("bound") {
		fact := w.text("fact")
		t.Preconditions = func(context.Context, *agent.ToolCall) ([]string, error) {
			return []string{fact}, nil
		}
	}
	if w.chance("program") {
		answer := agent.ToolApproval{Approve: w.chance("yes"), Reason: w.text("reason")}
		t.OnApproval = func(context.Context, *agent.Interruption) (*agent.ToolApproval, error) {
			own := answer
			return &own, nil
		}
	}
	t.Audit = w.chance("audit")
	if w.chance("external") {
		t.External = true
		return t
	}
	t.Invoke = func(context.Context, *agent.ToolCall) (agent.ToolOutput, error) {
		out := agent.ToolOutput{
			Text: w.text("output"), Failed: w.chance("failed"), Native: json.RawMessage(w.json("native")),
		}
		switch w.pick("fate", "ok", "ok", "ok", "ok", "ok", "ok", "error", "unknown", "fatal", "panic") {
		case "error":
			return out, errors.New(w.text("error"))
		case "unknown":
			return out, fmt.Errorf("%s: %w", w.text("error"), agent.ErrOutcomeUnknown)
		case "fatal":
			return out, fmt.Errorf("%s: %w", w.text("error"), agent.ErrFatal)
		case "panic":
			panic(w.text("panic"))
		}
		return out, nil
	}
	return t
}

// json draws JSON, or nearly.
func (w *oddWorld) json(label string) string {
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	switch w.pick(label, "none", "empty", "flat", "numbers", "deep", "deeper", "deepest",
		"broken", "twice", "surrogate",
		"invalid") {
	case "empty":
		return `{}`
	case "flat":
		return `{"a":"b","c":[1,2,{"d":null}]}`
	case "numbers":
		return `{"a":1e400,"b":123456789012345678901234567890,"c":-0.0}`
	case "deep":
		return `{"a":` + deep(60) + `}`
	case "deeper":
		return `{"a":` + deep(200) + `}`
	case "deepest":
		return `{"a":` + deep(509) + `}`
	case "broken":
		return `{"a":`
	case "twice":
		return `{"a":1,"a":2,"A":3}`
	case "surrogate":
		return `{"a":"\ud800","\udc00b":1}`
	case "invalid":
		return "{\"a\":\"\xff\"}"
	}
	return ""
}

func (w *oddWorld) options() agent.RunOptions {
	o := agent.RunOptions{MaxTurns: rapid.SampledFrom([]int{0, 1, 2, -1, math.MaxInt, 1<<53 + 1}).Draw(w.t, "turns")}
	if w.chance("context") {
		o.Context = &agent.RunContext{ID: w.text("run id"), Value: w}
	}
	switch {
	case w.chance("session"):
		w.session = new(agent.MemorySession)
		o.Session = w.session
	case w.chance("conversation"):
		o.Conversation = &agent.Conversation{PreviousResponseID: w.text("previous")}
	}
	return o
}

func (w *oddWorld) Respond(context.Context, *agent.ModelRequest) (*agent.ModelResponse, error) {
	if w.turns++; w.turns > 6 {
		return &agent.ModelResponse{Items: []agent.Item{agent.AssistantMessage("Done.")}}, nil
	}
	resp := &agent.ModelResponse{ID: w.text("response"), Usage: agent.Usage{
		Requests: w.number("requests"), InputTokens: w.number("input"), CachedTokens: w.number("cached"),
		OutputTokens: w.number("output"), ReasoningTokens: w.number("reasoning"), TotalTokens: w.number("total"),
	}}
	for range rapid.IntRange(0, 4).Draw(w.t, "items") {
		resp.Items = append(resp.Items, w.item())
	}
	if rapid.IntRange(0, 9).Draw(w.t, "no answer") == 9 {
		return resp, errors.New(w.text("model error"))
	}
	return resp, nil
}

func (w *oddWorld) number(label string) int64 {
	return rapid.SampledFrom([]int64{0, 1, 7, -1, math.MinInt64, math.MaxInt64, 1<<53 + 1}).Draw(w.t, label)
}

func (w *oddWorld) item() agent.Item {
	w.calls++
	id := w.pick("call id", "c", "call/", "\x00\u2028", "\xff", "again", strings.Repeat("x", 500)) + fmt.Sprint(w.calls)
	if w.chance("fixed id") {
		id = w.pick("id", "c1", "c2", "")
	}
	switch w.pick("item", "call", "call", "call", "shell", "patch", "message", "reasoning", "raw", "output") {
	case "call":
		return agent.Item{
			Type: agent.ItemFunctionCall, CallID: id,
			Name:      w.pick("name", "pay", "look", "ask", "inner", "nope", "", "\xff", "sh"),
			Arguments: w.pick("arguments", "{}", "{}", "{}", `{"input":"go"}`, w.json("arguments")),
		}
	case "shell":
		action := `{"commands":["ls"],"x":` + orNull(w.json("action")) + `}`
		return w.parsed(`{"type":"shell_call","call_id":` + quoted(id) + `,"action":` + action + `}`)
	case "patch":
		operation := `{"type":"delete_file","path":` + quoted(w.text("path")) + `}`
		return w.parsed(`{"type":"apply_patch_call","call_id":` + quoted(id) + `,"operation":` + operation + `}`)
	case "message":
		role := agent.Role(w.pick("role", "assistant", "assistant", "", "user", "\xff"))
		return agent.Item{Type: agent.ItemMessage, Role: role, Text: w.text("message"), ID: w.text("item id")}
	case "reasoning":
		return agent.Item{Type: agent.ItemReasoning, Text: w.text("reasoning")}
	case "raw":
		kind := w.pick("type", "web_search_call", "odd", "\u2028")
		return w.parsed(`{"type":` + quoted(kind) + `,"x":` + orNull(w.json("raw")) + `}`)
	}
	return agent.CallOutput(id, "forged")
}

// parsed returns the item, or one in its place where a provider's client would have refused it.
func (w *oddWorld) parsed(raw string) agent.Item {
	it, err := agent.ParseItem(json.RawMessage(raw))
	if err != nil {
		return agent.AssistantMessage("unreadable")
	}
	return it
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

// answer answers a question somehow; what is refused is rejected.
func (w *oddWorld) answer(s *agent.RunState, in agent.Interruption) {
	message := w.text("answer")
	var err error
	switch w.pick("answer", "approve", "approve", "always", "edit", "output", "reject", "reject always", "leave") {
	case "approve":
		err = s.Approve(in, agent.ApproveOptions{})
	case "always":
		err = s.Approve(in, agent.ApproveOptions{Always: true})
	case "edit":
		err = s.Approve(in, agent.ApproveOptions{Arguments: json.RawMessage(w.json("edit"))})
	case "output":
		output := agent.ToolOutput{Text: message, Native: json.RawMessage(w.json("reported"))}
		err = s.Approve(in, agent.ApproveOptions{Output: &output})
	case "reject":
		err = s.Reject(in, agent.RejectOptions{Message: &message})
	case "reject always":
		err = s.Reject(in, agent.RejectOptions{Message: &message, Always: true})
	}
	if err != nil {
		_ = s.Reject(in, agent.RejectOptions{})
	}
	if w.chance("add input") {
		_ = s.AddInput(agent.UserMessage(w.text("added")))
	}
}

// reread writes the state and reads it again.
func (w *oddWorld) reread(root *agent.Agent, s *agent.RunState) *agent.RunState {
	w.t.Helper()
	data, err := s.MarshalJSON()
	if err != nil {
		w.t.Fatalf("cannot be written: %v", err)
	}
	again, err := agent.DecodeRunState(data, root)
	if err != nil {
		w.t.Fatalf("cannot be read: %v\n%.5000s", err, data)
	}
	if third, err := again.MarshalJSON(); err != nil || !bytes.Equal(data, third) {
		w.t.Fatalf("is written otherwise the second time: %v\n%.5000s\n%.5000s", err, data, third)
	}
	return again
}
