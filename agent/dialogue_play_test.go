package agent_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"countersign/agent"
)

func (d *dialogue) play(script string) string {
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, ">") {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		for _, l := range d.command(words(d.t, line)) {
			out.WriteString("> " + l + "\n")
		}
	}
	return out.String()
}

// command carries out a line of the play and tells what it led to. Words it does not know are those of the set-up.
func (d *dialogue) command(w []string) []string {
	switch w[0] {
	case "run": // run TEXT
		return d.result(d.runner.Run(d.context(), d.agent, []agent.Item{agent.UserMessage(w[1])}, d.options))
	case "resume":
		return d.result(d.runner.Resume(d.context(), d.agent, d.state, d.options))
	case "stream": // stream TEXT [break-after=N]
		return d.stream(
			d.runner.Stream(d.t.Context(), d.agent, []agent.Item{agent.UserMessage(w[1])}, d.options), w[2:])
	case "stream-resume":
		return d.stream(d.runner.StreamResume(d.t.Context(), d.agent, d.state, d.options), w[1:])
	case "approve": // approve ID [always] [output=TEXT] [arguments=JSON] [input=JSON] [stale]
		return d.approve(w[1:])
	case "reject": // reject ID [always] [message=TEXT]
		return d.reject(w[1:])
	case "answers": // what was said to the questions of the run
		return d.answers()
	case "inside": // the agents at work as tools
		return d.inside()
	case "data": // data [JSON]: RunContext.Data of the state, or from now on
		if len(w) > 1 {
			d.options.Context = &agent.RunContext{
				ID: d.options.Context.ID, Value: d.options.Context.Value, Data: json.RawMessage(w[1]),
			}
			return nil
		}
		return []string{"data " + string(d.state.Data())}
	case "verdicts": // what guardrails said, as the state keeps it
		return d.verdicts()
	case "standing": // the answers with always
		return d.standing()
	case "revoke": // revoke AGENT TOOL
		return d.revoke(w[1], w[2])
	case "undecided":
		return list(d.state.Undecided())
	case "details": // details ID: everything people can be shown about a question
		return d.details(d.find(w[1]))
	case "remember": // remember ID: keep a question, to answer it when the state no longer asks it
		if d.noted == nil {
			d.noted = make(map[string]agent.Interruption)
		}
		d.noted[w[1]] = d.find(w[1])
	case "forget": // forget: answers are to what the state asks again
		d.noted = nil
	case "spoil": // change a copy of every question
		for _, in := range d.state.Interruptions() {
			spoil(in.Call.Arguments, in.Original)
			for i := range in.Preconditions {
				in.Preconditions[i] = "spoilt"
			}
			for i := range in.Call.Path {
				in.Call.Path[i] = "spoilt"
			}
		}
	case "rebind":
		return d.rebind()
	case "add": // add TEXT: input for the run as it stands
		return failure(d.state.AddInput(agent.UserMessage(w[1])))
	case "add-output":
		return failure(d.state.AddInput(agent.CallOutput("c1", "forged")))
	case "clear-input":
		d.state.ClearPendingInput()
	case "who":
		return []string{d.state.Agent() + ", turn " + strconv.Itoa(d.state.Turn()) + ", requests " +
			strconv.FormatInt(d.state.Usage().Requests, 10)}
	case "usage":
		return []string{fmt.Sprintf("%+v", d.state.Usage())}
	case "drop": // drop TOOL
		d.drop(w[1])
	case "no-guardrails":
		d.current.InputGuardrails, d.current.OutputGuardrails = nil, nil
	case "no-session":
		d.options.Session = nil
	case "show-session":
		return strings.Split(strings.TrimSpace(d.sessionItems()), "\n")
	case "same-session": // the one there was before no-session
		d.options.Session = d.session
	case "drop-handoffs":
		d.current.Handoffs = nil
	case "rename": // rename AGENT NAME
		d.agents[w[1]].Name = w[2]
	case "next": // next intent of the journal: unknown, stale, error; or second-stale, done-error
		d.journal.next = w[1]
	case "toolset-fails": // toolset-fails NAME
		d.sets[w[1]].err = errors.New("connection refused")
	case "toolset-works":
		d.sets[w[1]].err = nil
	default:
		return d.persist(w)
	}
	return nil
}

// persist carries out the commands about saved states.
func (d *dialogue) persist(w []string) []string {
	switch w[0] {
	case "save": // write the state and read it again
		data, err := d.state.MarshalJSON()
		return d.load(data, err)
	case "version": // the schema version that the state is written in
		data, err := d.state.MarshalJSON()
		var head struct{ Version int }
		return append(failure(errors.Join(err, json.Unmarshal(data, &head))), strconv.Itoa(head.Version))
	case "keep": // remember the state as it is now
		data, err := d.state.MarshalJSON()
		d.kept = data
		return failure(err)
	case "back": // read what was kept, as a second worker would
		return d.load(d.kept, nil)
	case "tamper": // tamper OLD NEW [OLD NEW]…: read what was kept with texts in it replaced
		text := string(d.kept)
		for pair := range slices.Chunk(w[1:], 2) {
			if !strings.Contains(text, pair[0]) {
				d.t.Fatalf("the state does not contain %s", pair[0])
			}
			text = strings.Replace(text, pair[0], pair[1], 1)
		}
		return d.load([]byte(text), nil)
	case "without-digests": // read what was kept with no call bound to anything
		return d.load(regexp.MustCompile(`"(definition|digest)":"[0-9a-f]{64}",`).ReplaceAll(d.kept, nil), nil)
	case "truncate": // truncate N: read what was kept without its last bytes
		return d.load(d.kept[:len(d.kept)-d.number(w[1])], nil)
	case "crash-at": // crash-at N: the process dies at the n-th checkpoint from now
		d.crash = d.number(w[1])
	case "recover": // go on from the last checkpoint, as after a crash
		d.dead = false
		s, err := (&agent.SavedState{Head: d.head, Chunks: d.chunks}).Decode(d.agent)
		return d.loaded(s, err)
	case "restart": // another process: what the runner kept in memory is gone
		old := d.runner
		d.runner = &agent.Runner{
			MaxParallelCalls: old.MaxParallelCalls, Journal: old.Journal, RejectionMessage: old.RejectionMessage,
			ModelOf: old.ModelOf, Hooks: old.Hooks, Tracer: old.Tracer,
		}
	default:
		d.setup(w)
	}
	return nil
}

// stream plays a streamed run and tells its events.
func (d *dialogue) stream(s *agent.Stream, w []string) []string {
	after := -1
	for _, o := range w {
		after = d.number(strings.TrimPrefix(o, "break-after="))
	}
	var lines []string
	for e := range s.Events() {
		lines = append(lines, "event "+describeEvent(e))
		if after--; after == 0 {
			break
		}
	}
	if after != 0 {
		return append(lines, d.result(s.Result())...)
	}
	return append(append(lines, "broke off"), d.notes()...)
}

func describeEvent(e agent.Event) string {
	switch e := e.(type) {
	case agent.ModelText:
		return fmt.Sprintf("text %s %q%q", strings.Join(e.Path, "/"), e.Text, e.Reasoning)
	case agent.ItemAdded:
		return fmt.Sprintf("item %s %s", strings.Join(e.Path, "/"), strings.TrimSpace(describe([]agent.Item{e.Item})))
	case agent.ToolStarted:
		return "started " + e.Call.Tool + " " + e.Call.ID
	case agent.ToolEnded:
		return "ended " + e.Call.Tool + " " + e.Call.ID + " " + strconv.Quote(e.Output.Text)
	case agent.ApprovalRequested:
		return "asks " + e.Interruption.ID + " " + string(e.Interruption.Kind)
	case agent.HistoryShortened:
		return fmt.Sprintf("shortened %s %d %q", strings.Join(e.Path, "/"), e.LeftOut, e.Note)
	case agent.HandedOff:
		return "handoff " + e.From + " to " + e.To
	}
	return fmt.Sprintf("%T", e)
}

func (d *dialogue) details(in agent.Interruption) []string {
	lines := []string{fmt.Sprintf(
		"%s %s of %s, path %s, turn %d", in.Kind, in.Call.Tool, in.Call.Agent,
		strings.Join(in.Call.Path, "/"), in.Call.Turn)}
	lines = append(lines, fmt.Sprintf("kind %s, arguments %s", in.Call.Kind, in.Call.Arguments))
	if in.Original != nil {
		lines = append(lines, fmt.Sprintf("originally %s", in.Original))
	}
	for _, fact := range in.Preconditions {
		lines = append(lines, "fact "+fact)
	}
	for _, f := range in.Fields {
		line := fmt.Sprintf("field %s %s required=%v %s", f.Name, f.Type, f.Required, f.Schema)
		if f.Proposal != nil {
			line += " proposed " + string(f.Proposal)
		}
		lines = append(lines, line)
	}
	return lines
}

func (d *dialogue) load(data []byte, err error) []string {
	if err != nil {
		return []string{"error " + err.Error()}
	}
	s, err := agent.DecodeRunState(data, d.agent)
	return d.loaded(s, err)
}

func (d *dialogue) loaded(s *agent.RunState, err error) []string {
	if err != nil {
		return []string{"error " + name(err) + ": " + err.Error()}
	}
	d.state = s
	return nil
}

func spoil(texts ...json.RawMessage) {
	for _, text := range texts {
		for i := range text {
			text[i] = '!'
		}
	}
}

// asked returns the question to answer: the one that was remembered, or that which the state asks.
func (d *dialogue) asked(id string) agent.Interruption {
	if in, ok := d.noted[id]; ok {
		return in
	}
	return d.find(id)
}

func (d *dialogue) find(id string) agent.Interruption {
	for _, in := range d.state.Interruptions() {
		if in.Call.ID == id || in.ID == id {
			return in
		}
	}
	return agent.Interruption{ID: id}
}

func (d *dialogue) approve(w []string) []string {
	in := d.asked(w[0])
	var opts agent.ApproveOptions
	for _, o := range w[1:] {
		switch key, value, _ := strings.Cut(o, "="); key {
		case "output":
			opts.Output = &agent.ToolOutput{Text: value}
		case "arguments":
			opts.Arguments = json.RawMessage(value)
		case "input":
			opts.Fields = json.RawMessage(value)
		case "always":
			opts.Always = true
		case "stale":
			in.Digest[0]++
		default:
			d.t.Fatalf("unknown option %q", o)
		}
	}
	return failure(d.state.Approve(in, opts))
}

func (d *dialogue) reject(w []string) []string {
	var opts agent.RejectOptions
	for _, o := range w[1:] {
		if text, ok := strings.CutPrefix(o, "message="); ok {
			opts.Message = &text
		} else if o == "always" {
			opts.Always = true
		} else {
			d.t.Fatalf("unknown option %q", o)
		}
	}
	return failure(d.state.Reject(d.asked(w[0]), opts))
}

func (d *dialogue) answers() []string {
	var lines []string
	for _, a := range d.state.Answers() {
		line := fmt.Sprintf(
			"answer %s %s of %s %s %s approved=%v", a.Question, a.Kind, a.Agent, a.Tool, a.Arguments, a.Approved)
		for i, is := range []bool{a.Always, a.Standing, a.Program, a.Edited, a.Open} {
			if is {
				line += " " + []string{"always", "standing", "program", "edited", "open"}[i]
			}
		}
		if a.Message != nil {
			line += " message " + strconv.Quote(*a.Message)
		}
		lines = append(lines, line)
	}
	return lines
}

func (d *dialogue) inside() []string {
	var lines []string
	for _, r := range d.state.InnerRuns() {
		lines = append(lines, fmt.Sprintf("inside %s: %s began as %s, path %s, turn %d, requests %d, %d items",
			r.Call, r.Agent, r.Entry, strings.Join(r.Path, "/"), r.Turn, r.Usage.Requests, len(r.Items)))
		lines = append(lines, list(r.Interruptions)...)
	}
	return lines
}

func (d *dialogue) verdicts() []string {
	var lines []string
	for _, r := range d.state.GuardrailResults() {
		lines = append(lines,
			strings.TrimSpace(fmt.Sprintf("%s %s of %s %s %s", r.Stage, r.Guardrail, r.Agent, r.Tool, r.CallID))+
				fmt.Sprintf(": %s %q", r.Verdict.Action, r.Verdict.Message))
	}
	return lines
}

func (d *dialogue) standing() []string {
	var lines []string
	for _, a := range d.state.StandingAnswers() {
		line := fmt.Sprintf("always %s %s approved=%v from %q", a.Agent, a.Tool, a.Approved, a.Question)
		if a.Message != nil {
			line += " message " + strconv.Quote(*a.Message)
		}
		lines = append(lines, line)
	}
	return lines
}

func (d *dialogue) revoke(agentName, tool string) []string {
	for _, a := range d.state.StandingAnswers() {
		if a.Agent == agentName && a.Tool == tool {
			return []string{fmt.Sprint("revoked ", d.state.Revoke(a))}
		}
	}
	return []string{fmt.Sprint("revoked ", d.state.Revoke(agent.Answer{Agent: agentName, Tool: tool}))}
}

func failure(err error) []string {
	if err == nil {
		return nil
	}
	if errors.Is(err, agent.ErrConfig) {
		return []string{"error " + err.Error()}
	}
	return []string{"error " + name(err)}
}

// notes returns what was noted since the last command. Calls run side by side, so it is sorted.
func (d *dialogue) notes() []string {
	notes := d.ran
	d.ran = nil
	slices.Sort(notes)
	return notes
}

// result describes what Run or Resume led to.
func (d *dialogue) result(res *agent.Result, err error) []string {
	lines := d.notes()
	if res != nil {
		d.state = res.State
		lines = append(lines, list(res.Interruptions)...)
	}
	switch {
	case err != nil:
		lines = append(lines, "error "+name(err)+": "+strings.ReplaceAll(err.Error(), "\n", " | "))
	case res.State.Finished():
		final := "final " + strconv.Quote(res.FinalOutput)
		if res.Handled != nil {
			final += " instead of " + name(res.Handled)
		}
		lines = append(lines, final)
	}
	return lines
}

func list(open []agent.Interruption) []string {
	var lines []string
	for _, in := range open {
		lines = append(lines, fmt.Sprintf("? %s %s %s %s", in.ID, in.Kind, in.Call.Tool, in.Call.Arguments))
	}
	return lines
}

// name returns the sentinel behind an error.
func name(err error) string {
	for text, sentinel := range map[string]error{
		"ErrUnknownAgent": agent.ErrUnknownAgent, "ErrUnknownTool": agent.ErrUnknownTool,
		"ErrUnknownInterruption": agent.ErrUnknownInterruption, "ErrStale": agent.ErrStale,
		"ErrModelBehavior": agent.ErrModelBehavior, "ErrRefusal": agent.ErrRefusal, "ErrMaxTurns": agent.ErrMaxTurns,
		"ErrFatal": agent.ErrFatal, "ErrConfig": agent.ErrConfig, "ErrStopped": agent.ErrStopped,
		"ErrTripwire": agent.ErrTripwire, "ErrToolset": agent.ErrToolset,
	} {
		if errors.Is(err, sentinel) {
			return text
		}
	}
	if _, ok := errors.AsType[*agent.SchemaError](err); ok {
		return "SchemaError"
	}
	return "other"
}

func (d *dialogue) rebind() []string {
	changed, err := d.state.Rebind(d.t.Context())
	return append(list(changed), failure(err)...)
}

func (d *dialogue) items() string { return describe(d.state.Items()) }

func (d *dialogue) sessionItems() string {
	items, _ := d.session.Items(d.t.Context())
	return describe(items)
}

func describe(items []agent.Item) string {
	var out strings.Builder
	for _, it := range items {
		switch it.Type {
		case agent.ItemMessage:
			fmt.Fprintf(&out, "%s: %s\n", it.Role, it.Text)
		case agent.ItemFunctionCall:
			fmt.Fprintf(&out, "call %s %s %s\n", it.CallID, it.Name, it.Arguments)
		case agent.ItemFunctionCallOutput:
			fmt.Fprintf(&out, "output %s: %s\n", it.CallID, strings.ReplaceAll(it.Output, "\n", "\\n"))
		default:
			fmt.Fprintf(&out, "%s %s\n", it.Type, cmp.Or(it.Text, string(it.Raw)))
		}
	}
	return out.String()
}
