package agent_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"countersign/agent"
	"countersign/agent/guardrail"
	"countersign/agent/history"
)

// setup carries out a line of the set-up; play may use the same words later, to change things between two steps.
//
//	agent NAME [nested]         the following lines are about this agent. Its model plays the files "model@NAME …" if
//	                            there are any, else the script of the first agent, which a conversation shares across
//	                            handoffs
//	tool NAME [options]         adds or replaces a tool; see dialogue.tool
//	tool-without-arguments NAME one that always asks
//	as-tool AGENT [name=N] [turns=N] [options]   adds an agent as a tool
//	handoff AGENT [name=N] [drop] [transcript] [orphan] [asks-reason] [refuses] [cancels]
//	toolset NAME TOOL…          moves tools of the agent into a toolset
//	input-guardrail NAME WHAT   WHAT: allow, trip, error, panic; word=TEXT trips on input that contains it
//	output-guardrail NAME WHAT  the same about answers
//	tool-use none | first | at=TOOL | decide | decide-error
//	choice WORD [keep]          forces a tool choice
//	shorten N                   bounds what the model is shown, as KeepNewest does
//	shorten note=TEXT           leaves out the oldest turn behind the input each time, and adds to the note
//	shorten all|gone|error|panic   what is a mistake: leaves out all turns, takes one out of the list
//	schema                      the answer must be {"ok": boolean}
//	limit N, parallel N, session, journal, wording TEXT|error|panic
//	conversation [id=ID] [previous=ID]   without an id, it goes on from each response
//	on-error TEXT | unrecorded=TEXT | decline | error | panic | none   answers instead of an error
//	hooks [panic]               notes what hooks see
//	stop                        closes RunOptions.Stop
//	requests                    notes every model request
//	effects                     notes what the journal is told before a tool runs
//	world TEXT                  what tools with the option bind depend on
//	value TEXT                  what the application gives the run; tools with the option tells-value note it
func (d *dialogue) setup(w []string) {
	switch w[0] {
	case "agent":
		d.choose(w[1])
	case "tool": // tool NAME [gate] [options]
		d.tool(w[1], w[2:])
	case "tool-without-arguments":
		d.drop(w[1])
		tool := agent.NewTool(w[1], "Test tool.", noop[struct{}])
		tool.NeedsApproval = agent.AlwaysAsk
		d.current.Tools = append(d.current.Tools, tool)
	case "as-tool":
		d.asTool(w[1], w[2:])
	case "handoff":
		d.handoff(w[1], w[2:])
	case "toolset":
		d.toolset(w[1], w[2:])
	case "input-guardrail":
		d.current.InputGuardrails = append(d.current.InputGuardrails,
			agent.InputGuardrail{Name: w[1], Check: d.inputGuardrail(w[1], w[2])})
	case "output-guardrail":
		d.current.OutputGuardrails = append(d.current.OutputGuardrails,
			agent.OutputGuardrail{Name: w[1], Check: d.outputGuardrail(w[1], w[2])})
	case "tool-use":
		d.current.ToolUse = d.toolUse(w[1])
	case "choice":
		d.current.Settings.ToolChoice = w[1]
		d.current.KeepToolChoice = len(w) > 2 && w[2] == "keep"
	case "shorten":
		d.current.Shorten = shorten(w[1])
	case "schema":
		schema, err := agent.OutputOf[struct {
			OK bool `json:"ok"`
		}]("verdict")
		if err != nil {
			d.t.Fatal(err)
		}
		d.current.Output = schema
	default:
		d.setupRunner(w)
	}
}

func (d *dialogue) setupRunner(w []string) {
	switch w[0] {
	case "limit":
		d.options.MaxTurns = d.number(w[1])
	case "parallel":
		d.runner.MaxParallelCalls = d.number(w[1])
	case "session":
		d.session = new(agent.MemorySession)
		d.options.Session = d.session
	case "journal":
		d.journal = &faultyJournal{}
		d.runner.Journal = d.journal
	case "wording": // what the runner says about rejected calls
		d.runner.RejectionMessage = d.wording(w[1:])
	case "conversation":
		d.options.Conversation = d.conversation(w[1:])
	case "on-error":
		d.options.OnError = d.onError(w[1])
	case "hooks":
		d.runner.Hooks = d.hooks(len(w) > 1)
	case "stop":
		stop := make(chan struct{})
		close(stop)
		d.options.Stop = stop
	case "go-on":
		d.options.Stop = nil
	case "requests":
		d.runner.ModelOf = d.recorded
	case "effects":
		d.journal = &faultyJournal{}
		d.runner.Journal = &watchedJournal{d.journal, d}
	case "world":
		d.world = w[1]
	case "value":
		d.options.Context = &agent.RunContext{ID: d.options.Context.ID, Value: w[1]}
	default:
		d.t.Fatalf("unknown word %q", w)
	}
}

func (d *dialogue) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// choose makes the named agent the one that the following lines are about.
func (d *dialogue) choose(name string) {
	if d.agents[name] == nil {
		model := d.agent.Model
		if own, ok := d.models[name]; ok {
			model = own
		}
		d.agents[name] = &agent.Agent{Name: name, Model: model}
	}
	d.current = d.agents[name]
}

func (d *dialogue) wording(w []string) func(context.Context, *agent.ToolCall) (string, error) {
	return func(_ context.Context, c *agent.ToolCall) (string, error) {
		switch w[0] {
		case "error":
			return "not this", errors.New("no words")
		case "panic":
			panic("no words")
		}
		return strings.ReplaceAll(w[0], "TOOL", c.Tool), nil
	}
}

func (d *dialogue) conversation(w []string) *agent.Conversation {
	var c agent.Conversation
	for _, o := range w {
		switch key, value, _ := strings.Cut(o, "="); key {
		case "id":
			c.ID = value
		case "previous":
			c.PreviousResponseID = value
		default:
			d.t.Fatalf("unknown option %q", o)
		}
	}
	return &c
}

func (d *dialogue) toolUse(w string) agent.ToolUseBehavior {
	name, at := strings.CutPrefix(w, "at=")
	switch {
	case w == "first":
		return agent.ToolUseBehavior{StopOnFirst: true}
	case w == "none":
		return agent.ToolUseBehavior{}
	case at:
		return agent.ToolUseBehavior{StopAt: []string{name}}
	case w == "decide-error":
		return agent.ToolUseBehavior{Decide: func(context.Context, []agent.ToolResult) (string, bool, error) {
			return "", false, errors.New("cannot decide")
		}}
	}
	return agent.ToolUseBehavior{Decide: func(_ context.Context, results []agent.ToolResult) (string, bool, error) {
		var told []string
		for _, r := range results {
			told = append(told, r.CallID+" "+r.Tool+" "+r.Output)
		}
		d.note("decide " + strings.Join(told, ", "))
		return strings.Join(told, ", "), len(results) > 1, nil
	}}
}

func (d *dialogue) verdict(name, what, text string) (guardrail.Verdict, error) {
	d.note("guardrail " + name)
	trip := guardrail.Verdict{Action: guardrail.Trip, Message: "not this"}
	switch part, ok := strings.CutPrefix(what, "word="); {
	case ok && strings.Contains(text, part):
		return trip, nil
	case ok, what == "allow":
		return guardrail.Verdict{}, nil
	case what == "trip":
		return trip, nil
	case what == "error":
		return guardrail.Verdict{}, errors.New("cannot check")
	case what == "panic":
		panic("cannot check")
	}
	return guardrail.Verdict{Action: guardrail.Action(what)}, nil
}

func (d *dialogue) inputGuardrail(
	name, what string,
) func(context.Context, *agent.Agent, []agent.Item) (guardrail.Verdict, error) {
	return func(_ context.Context, _ *agent.Agent, input []agent.Item) (guardrail.Verdict, error) {
		return d.verdict(name, what, describe(input))
	}
}

func (d *dialogue) outputGuardrail(
	name, what string,
) func(context.Context, *agent.Agent, string) (guardrail.Verdict, error) {
	return func(_ context.Context, _ *agent.Agent, answer string) (guardrail.Verdict, error) {
		return d.verdict(name, what, answer)
	}
}

func (d *dialogue) asTool(name string, options []string) {
	outer := d.current
	d.choose(name)
	inner := d.current
	d.current = outer
	tool := inner.AsTool("ask_"+name, "Test agent.")
	var rest []string
	for _, option := range options {
		switch key, value, _ := strings.Cut(option, "="); key {
		case "name":
			tool.Name = value
		case "turns":
			tool.Use.MaxTurns = d.number(value)
		default:
			rest = append(rest, option)
		}
	}
	for _, option := range rest {
		d.option(&tool, option)
	}
	d.drop(tool.Name)
	d.current.Tools = append(d.current.Tools, tool)
}

func (d *dialogue) handoff(name string, options []string) {
	from := d.current
	d.choose(name)
	h := agent.Handoff{Agent: d.current}
	d.current = from
	for _, o := range options {
		switch key, value, _ := strings.Cut(o, "="); key {
		case "name":
			h.Name = value
		case "drop":
			h.Filter = history.DropToolItems
		case "transcript":
			h.Filter = history.Transcript
		case "orphan":
			h.Filter = func(items []agent.Item) []agent.Item { return items[:len(items)-1] }
		case "filter-panic":
			h.Filter = func([]agent.Item) []agent.Item { panic("no filter") }
		case "asks-reason":
			reason := agent.NewTool("x", "", noop[struct {
				Reason string `json:"reason"`
			}])
			h.Parameters, h.Validate = reason.Parameters, reason.Validate
			h.OnHandoff = func(_ context.Context, c *agent.ToolCall) error {
				d.note("handoff because " + string(c.Arguments))
				return nil
			}
		case "cancels":
			h.OnHandoff = func(context.Context, *agent.ToolCall) error { return d.cancelled() }
		case "refuses":
			h.OnHandoff = func(context.Context, *agent.ToolCall) error { return errors.New("the office is closed") }
		default:
			d.t.Fatalf("unknown option %q", o)
		}
	}
	from.Handoffs = append(slices.Clone(from.Handoffs), h)
}

// toolset moves tools of the agent into a toolset.
func (d *dialogue) toolset(name string, tools []string) {
	set := &testToolset{name: name}
	for _, t := range d.current.Tools {
		if slices.Contains(tools, t.Name) {
			set.tools = append(set.tools, t)
		}
	}
	for _, tool := range tools {
		d.drop(tool)
	}
	d.current.Toolsets = append(slices.DeleteFunc(slices.Clone(d.current.Toolsets), func(s agent.Toolset) bool {
		return s.Name() == name
	}), set)
	d.sets[name] = set
}

type testToolset struct {
	name  string
	tools []agent.Tool
	err   error
}

func (s *testToolset) Name() string { return s.name }

func (s *testToolset) Tools(context.Context) ([]agent.Tool, error) { return s.tools, s.err }
