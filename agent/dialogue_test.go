package agent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/internal/txtar"
	"countersign/agent/scripted"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestDialogues plays testdata/dialogues/*.txtar. Each file tells what a rule demands in its comment and proves it in
// its files:
//
//	setup    the agent and the runner, one line each (dialogue.setup knows the words)
//	model …  the model's script, see package scripted
//	play     commands (dialogue.command knows the words), each followed by what it led to, in lines that begin with >
//	items    the whole conversation at the end
//
// What is expected is rewritten with -update; read the difference before believing it.
func TestDialogues(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/dialogues/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no dialogues", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(data))
			if got == string(data) {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Error(gocmp.Diff(string(data), got))
		})
	}
}

// play plays a dialogue and returns it with what really happened.
func play(t *testing.T, text string) string {
	t.Helper()
	model, err := scripted.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	d := &dialogue{
		t:      t,
		agent:  &agent.Agent{Name: "ops", Model: model},
		runner: &agent.Runner{Context: &agent.RunContext{ID: "run_1"}},
	}
	d.runner.Checkpoint = d.checkpoint
	archive := txtar.Parse(text)
	for i := range archive.Files {
		f := &archive.Files[i]
		switch {
		case f.Name == "setup":
			for line := range strings.Lines(f.Data) {
				if w := words(t, line); len(w) > 0 && w[0][0] != '#' {
					d.setup(w)
				}
			}
		case f.Name == "play":
			f.Data = d.play(f.Data)
		case f.Name == "items":
			f.Data = d.items()
		case f.Name == "session":
			f.Data = d.sessionItems()
		case !strings.HasPrefix(f.Name, "model"):
			t.Fatalf("unknown file %q", f.Name)
		}
	}
	return txtar.Format(archive)
}

// dialogue is a run that is being played.
type dialogue struct {
	t       *testing.T
	agent   *agent.Agent
	runner  *agent.Runner
	session *agent.MemorySession
	state   *agent.RunState
	journal *faultyJournal

	head   json.RawMessage // as a store would keep it
	chunks []json.RawMessage
	kept   []byte

	mu  sync.Mutex
	ran []string // since the last command, with the gates that were asked
}

var word = regexp.MustCompile(`[^\s"]*"(?:[^"\\]|\\.)*"|\S+`)

// words splits a line at spaces, but not inside double quotes: message="not this" is one word.
func words(t *testing.T, line string) []string {
	list := word.FindAllString(line, -1)
	for i, w := range list {
		option, literal, ok := strings.Cut(w, `"`)
		if !ok {
			continue
		}
		text, err := strconv.Unquote(`"` + literal)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list[i] = option + text
	}
	return list
}

func (d *dialogue) setup(w []string) {
	switch w[0] {
	case "tool": // tool NAME [gate] [options]
		d.tool(w[1], w[2:])
	case "tool-without-arguments":
		d.drop(w[1])
		tool := agent.NewTool(w[1], "Test tool.", noop[struct{}])
		tool.NeedsApproval = agent.AlwaysAsk
		d.agent.Tools = append(d.agent.Tools, tool)
	case "limit":
		d.runner.MaxTurns = d.number(w[1])
	case "parallel":
		d.runner.MaxParallelCalls = d.number(w[1])
	case "session":
		d.session = new(agent.MemorySession)
		d.runner.Session = d.session
	case "journal":
		d.journal = &faultyJournal{}
		d.runner.Journal = d.journal
	case "wording": // what the runner says about rejected calls
		d.runner.RejectionMessage = d.wording(w[1:])
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

type amountArgs struct {
	Amount *float64 `json:"amount"`
	To     string   `json:"to,omitempty"`
}

// tool adds or replaces a tool. It takes {"amount": number, "to": string}. Words: ask, ask-over-100, gate-error,
// gate-panic; fails, fatal, panics, unsure-once; idempotent; version=V.
func (d *dialogue) tool(name string, options []string) {
	unsure := false
	tool := agent.NewTool(name, "Test tool.", func(_ context.Context, in amountArgs) (string, error) {
		text := "nothing"
		if in.Amount != nil {
			text = strconv.FormatFloat(*in.Amount, 'f', -1, 64)
		}
		switch {
		case slices.Contains(options, "fails"):
			return "", errors.New("no such account")
		case slices.Contains(options, "fatal"):
			return "", fmt.Errorf("out of money: %w", agent.ErrFatal)
		case slices.Contains(options, "panics"):
			panic("secret 4711")
		case slices.Contains(options, "unsure-once") && !unsure:
			unsure = true
			return "", fmt.Errorf("no answer: %w", agent.ErrOutcomeUnknown)
		}
		return name + " " + text, nil
	})
	invoke := tool.Invoke
	tool.Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
		d.note("ran " + name + " " + string(c.Arguments))
		return invoke(ctx, c)
	}
	gate := func(answer func(*agent.ToolCall) (bool, error)) agent.ApprovalFunc {
		return func(_ context.Context, c *agent.ToolCall) (bool, error) {
			d.note("gate " + name)
			return answer(c)
		}
	}
	for _, o := range options {
		switch o {
		case "ask":
			tool.NeedsApproval = agent.AlwaysAsk
		case "ask-over-100":
			tool.NeedsApproval = gate(func(c *agent.ToolCall) (bool, error) {
				var in amountArgs
				err := json.Unmarshal(c.Arguments, &in)
				return in.Amount != nil && *in.Amount > 100, err
			})
		case "gate-error":
			tool.NeedsApproval = gate(func(*agent.ToolCall) (bool, error) { return false, errors.New("gate broke") })
		case "gate-panic":
			tool.NeedsApproval = gate(func(*agent.ToolCall) (bool, error) { panic("gate broke") })
		case "idempotent":
			tool.Idempotent = true
		case "fails", "fatal", "panics", "unsure-once":
		default:
			version, ok := strings.CutPrefix(o, "version=")
			if !ok {
				d.t.Fatalf("unknown tool option %q", o)
			}
			tool.Version = version
		}
	}
	d.drop(name)
	d.agent.Tools = append(d.agent.Tools, tool)
}

func (d *dialogue) drop(name string) {
	d.agent.Tools = slices.DeleteFunc(slices.Clone(d.agent.Tools), func(t agent.Tool) bool { return t.Name == name })
}

func (d *dialogue) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ran = append(d.ran, what)
}

func (d *dialogue) checkpoint(_ context.Context, delta agent.Delta) error {
	if delta.From == 0 {
		d.chunks = nil
	}
	d.head = delta.Head
	if delta.Count > 0 {
		d.chunks = append(d.chunks, delta.Items)
	}
	return nil
}

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

func (d *dialogue) command(w []string) []string {
	switch w[0] {
	case "run": // run TEXT
		return d.result(d.runner.Run(d.t.Context(), d.agent, agent.UserMessage(w[1])))
	case "resume":
		return d.result(d.runner.Resume(d.t.Context(), d.agent, d.state))
	case "approve": // approve ID [always] [output=TEXT] [stale]
		return d.approve(w[1:])
	case "reject": // reject ID [always] [message=TEXT]
		return d.reject(w[1:])
	case "undecided":
		return list(d.state.Undecided())
	case "rebind":
		return d.rebind()
	case "save": // write the state and read it again
		data, err := d.state.MarshalJSON()
		return d.load(data, err)
	case "keep": // remember the state as it is now
		data, err := d.state.MarshalJSON()
		d.kept = data
		return failure(err)
	case "back": // read what was kept, as a second worker would
		return d.load(d.kept, nil)
	case "recover": // go on from the last checkpoint, as after a crash
		s, err := agent.AssembleRunState(d.head, d.chunks, d.agent)
		return d.loaded(s, err)
	case "restart": // another process: what the runner kept in memory is gone
		d.runner = &agent.Runner{
			MaxTurns: d.runner.MaxTurns, Session: d.runner.Session, Journal: d.runner.Journal,
			Checkpoint: d.runner.Checkpoint, RejectionMessage: d.runner.RejectionMessage, Context: d.runner.Context,
		}
	case "drop": // drop TOOL
		d.drop(w[1])
	case "next": // next intent of the journal: unknown, stale, error; or done-error
		d.journal.next = w[1]
	default:
		d.setup(w)
	}
	return nil
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

func (d *dialogue) find(id string) agent.Interruption {
	for _, in := range d.state.Interruptions() {
		if in.Call.ID == id {
			return in
		}
	}
	return agent.Interruption{ID: id}
}

func (d *dialogue) approve(w []string) []string {
	in := d.find(w[0])
	var opts agent.ApproveOptions
	for _, o := range w[1:] {
		switch text, ok := strings.CutPrefix(o, "output="); {
		case ok:
			opts.Output = &agent.ToolOutput{Text: text}
		case o == "always":
			opts.Always = true
		case o == "stale":
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
	return failure(d.state.Reject(d.find(w[0]), opts))
}

func failure(err error) []string {
	if err == nil {
		return nil
	}
	return []string{"error " + name(err)}
}

// result describes what Run or Resume led to.
func (d *dialogue) result(res *agent.Result, err error) []string {
	slices.Sort(d.ran) // calls run side by side
	lines := d.ran
	d.ran = nil
	if res != nil {
		d.state = res.State
		lines = append(lines, list(res.Interruptions)...)
	}
	switch {
	case err != nil:
		lines = append(lines, "error "+name(err)+": "+strings.ReplaceAll(err.Error(), "\n", " | "))
	case res.State.Finished():
		lines = append(lines, "final "+strconv.Quote(res.FinalOutput))
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
		"ErrModelBehavior": agent.ErrModelBehavior, "ErrMaxTurns": agent.ErrMaxTurns,
		"ErrFatal": agent.ErrFatal, "ErrConfig": agent.ErrConfig,
	} {
		if errors.Is(err, sentinel) {
			return text
		}
	}
	return "other"
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
			fmt.Fprintf(&out, "output %s: %s\n", it.CallID, it.Output)
		default:
			fmt.Fprintf(&out, "%s %s\n", it.Type, cmp.Or(it.Text, string(it.Raw)))
		}
	}
	return out.String()
}

// faultyJournal keeps effects for ever and answers the next intent as it is told.
type faultyJournal struct {
	next string
	mu   sync.Mutex
	log  map[string]record
}

func (j *faultyJournal) Intent(_ context.Context, e agent.Effect) (*agent.ToolOutput, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch next := j.next; next {
	case "unknown", "stale", "error":
		j.next = ""
		return nil, map[string]error{
			"unknown": agent.ErrOutcomeUnknown, "stale": agent.ErrStale, "error": errors.New("disk full"),
		}[next]
	}
	if j.log == nil {
		j.log = make(map[string]record)
	}
	known, begun := j.log[e.ID]
	switch {
	case known.output != nil:
		return known.output, nil
	case begun && !e.Idempotent && !(e.Retry && e.Attempt > known.attempt):
		return nil, agent.ErrOutcomeUnknown
	}
	j.log[e.ID] = record{attempt: e.Attempt}
	return nil, nil
}

func (j *faultyJournal) Done(ctx context.Context, e agent.Effect, out agent.ToolOutput) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if j.next == "done-error" {
		j.next = ""
		return errors.New("disk full")
	}
	j.log[e.ID] = record{output: &out}
	return nil
}

func (d *dialogue) rebind() []string {
	changed, err := d.state.Rebind(d.t.Context())
	return append(list(changed), failure(err)...)
}
