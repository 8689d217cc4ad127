package agent

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"countersign/agent/guardrail"
	"countersign/agent/trace"
)

// What is taken where nothing is set.
const (
	// DefaultMaxTurns bounds a run when RunOptions.MaxTurns is zero.
	DefaultMaxTurns = 10
	// DefaultRejection is what the model reads when a call is rejected without a message.
	DefaultRejection = "Tool execution was not approved."
)

// Runner executes agents. It holds what belongs to the process; what belongs to one run are RunOptions. The zero
// value is usable; a Runner may run many agents at once. It must not be copied after first use.
type Runner struct {
	// Journal makes effects happen at most once. Nil: kept in memory for the lifetime of the Runner, so that a state
	// which is resumed twice through the same Runner does not repeat what it did; it remembers the last 65,536
	// effects.
	Journal Journal
	// MaxParallelCalls bounds how many calls of a turn run at the same time. Zero: no bound. Each agent at work as a
	// tool counts as one call, and has the same bound for its own.
	MaxParallelCalls int
	// RejectionMessage words what the model reads when a call was rejected without a message. Nil, an empty text, an
	// error or a panic mean DefaultRejection. It is called from several goroutines at once.
	RejectionMessage func(ctx context.Context, call *ToolCall) (string, error)
	// ModelOf, if set, chooses the model of an agent instead of Agent.Model, for instance to wrap it.
	ModelOf func(a *Agent) Model
	// Hooks observe all runs; nil means none.
	Hooks *Hooks
	// Logger receives operational messages, never arguments or outputs. Nil: none.
	Logger *slog.Logger
	// Tracer follows the runs for a tracing system; nil means none.
	Tracer trace.Tracer

	memory memoryJournal
}

// RunOptions are the settings of one Run or Resume. The zero value is usable. They are not part of the saved state,
// but for MaxTurns and Conversation: whoever resumes a run gives them again.
type RunOptions struct {
	// MaxTurns bounds the model calls of a run. Zero: DefaultMaxTurns for Run, the state's own limit for Resume.
	// Negative: no limit. A limit that Resume is given holds for that Resume; a higher one than the state's becomes
	// the state's. The calls of a response that no further model call could follow do not run and nobody is asked
	// about them: the run ends with ErrMaxTurns first, and can be resumed with a higher limit.
	MaxTurns int
	// Session is the conversation's memory; nil means none.
	Session Session
	// Conversation, if set, has the provider keep the conversation instead; see Conversation. On Resume the state
	// knows.
	Conversation *Conversation
	// Context is handed to gates and tools; nil means an empty one with a random id. On Resume the state's id stands.
	Context *RunContext
	// Checkpoint receives what changed since the last checkpoint: after every model response and before anything of
	// it runs, when outputs arrive (each, or some at a time where a turn has many calls), and when the session was
	// written. It is called from one goroutine at a time; its error ends the run. The first delta of a Run starts at
	// zero, the first of a Resume at the number of items the state had.
	Checkpoint func(ctx context.Context, d Delta) error
	// OnError, if set, may answer in the agent's place where the run would end with ErrMaxTurns, with a refusal of the
	// model as its answer, or with an answer that is not what Agent.Output asks for. Calls that no turn could follow
	// are then closed as not carried out, or, where an agent is at work or somebody outside may carry a call out, with
	// a sentence that says so. Nil declines: the run ends as it would have. Its error ends the run too. It is not asked
	// as long as a call may have begun that the journal knows more about, while added input waits to be read, nor for
	// agents used as tools, whose failure the agent that uses them reads.
	OnError func(ctx context.Context, f *Failure) (*Fallback, error)
	// Stop, when closed, ends the run before its next model call with ErrStopped, as it stands between two turns.
	// Resume goes on. Nil: never.
	Stop <-chan struct{}
}

// Result is where a run stands when Run or Resume returns.
type Result struct {
	// State is the run as it stands; never nil. Encode it to resume later.
	State *RunState
	// Interruptions are the open questions that nobody has answered, in the model's order, also beside an error;
	// empty when the run is finished.
	Interruptions []Interruption
	// FinalOutput is the answer; empty while interrupted.
	FinalOutput string
	// Handled says that RunOptions.OnError gave the answer, and instead of which error: ErrMaxTurns, ErrRefusal or
	// ErrModelBehavior. It is nil where the answer is the agent's, and the same when a finished state is resumed.
	Handled error
	// NewItems are the items that this Run or Resume added, in order.
	NewItems []Item
	// GuardrailResults are what guardrails said in this Run or Resume, in the order in which they did, also inside
	// agents used as tools. RunState.GuardrailResults has those of the whole run.
	GuardrailResults []guardrail.Result
	// NotTaken are the ids of the effects that did not happen, although the journal has their intents, because the
	// provider has not taken the request that told it to carry the calls out. See ErrNotTaken.
	NotTaken []string
}

// Run starts a with the input and goes on until the agent answers or every open call waits. When err is not nil the
// result, if not nil, holds the state as far as it got, which can be resumed; a Session has what it did, see there.
func (r *Runner) Run(ctx context.Context, a *Agent, input []Item, o RunOptions) (*Result, error) {
	return r.prepare(o, nil).start(ctx, a, input)
}

// Resume continues s with the decisions recorded in it. a is the agent the run was started with. Calls without a
// decision stay open; when any is left, the result is interrupted again and the model was not called. A finished
// state returns its output again, without a model call. Resume advances s itself; Result.State is s.
//
// It returns ErrStale before anything runs when an open call's tool is no longer the one that was asked about; see
// RunState.Rebind.
func (r *Runner) Resume(ctx context.Context, a *Agent, s *RunState, o RunOptions) (*Result, error) {
	return r.prepare(o, nil).resume(ctx, a, s)
}

// prepare returns an execution without a state.
func (r *Runner) prepare(o RunOptions, events func(Event)) *execution {
	x := &execution{Runner: r, RunOptions: o, events: events, journal: r.Journal, base: r.Logger}
	if x.journal == nil {
		x.journal = &r.memory
	}
	if x.base == nil {
		x.base = slog.New(slog.DiscardHandler)
	}
	return x
}

func (x *execution) start(ctx context.Context, a *Agent, input []Item) (*Result, error) {
	g, err := graphOf(a)
	if err != nil {
		return nil, err
	}
	s := newState(x.runID(), a, g, x.turnLimit(DefaultMaxTurns))
	if x.Journal == nil {
		s.series = x.memory.begin(s.id)
	}
	if s.server, err = x.serverMark(a, g, len(input)); err != nil {
		return nil, err
	}
	if err := x.takeData(s); err != nil {
		return nil, err
	}
	return x.traceRun(ctx, s, func(ctx context.Context) (*Result, error) {
		if err := x.open(ctx, s, input); err != nil {
			return nil, fmt.Errorf("start run of agent %q: %w", a.Name, err)
		}
		x.take(s)
		x.delta = 0
		return x.finish(x.run(ctx))
	})
}

func (x *execution) resume(ctx context.Context, a *Agent, s *RunState) (*Result, error) {
	g, err := graphOf(a)
	if err != nil {
		return nil, err
	}
	if s == nil || s.root == nil {
		return nil, fmt.Errorf("%w: resume needs a state from Run or DecodeRunState", ErrConfig)
	}
	if !s.busy.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("%w: the state of run %s is being resumed already", ErrConfig, s.id)
	}
	defer s.busy.Store(false)
	if x.Context != nil && x.Context.ID != "" && x.Context.ID != s.id {
		return nil, fmt.Errorf("%w: the state belongs to another run than RunOptions.Context", ErrConfig)
	}
	if s.server != nil {
		if err := x.checkServer(a, g); err != nil {
			return nil, err
		}
	}
	return x.traceRun(ctx, s, func(ctx context.Context) (*Result, error) {
		if err := s.bind(ctx, a, g); err != nil {
			return nil, fmt.Errorf("resume run %s: %w", s.id, err)
		}
		if err := x.takeData(s); err != nil {
			return nil, err
		}
		if x.Journal == nil {
			x.memory.resume(s.id, s.series)
		}
		x.take(s)
		return x.finish(x.run(ctx))
	})
}

// take makes s the state that is worked on.
func (x *execution) take(s *RunState) {
	x.state, x.first, x.delta = s, len(s.frame.items), len(s.log)
	x.limit = x.turnLimit(s.frame.maxTurns)
	if lower(s.frame.maxTurns, x.limit) { // a higher one holds from now on: the run may wait again
		s.frame.maxTurns = x.limit
	}
	x.shared = &RunContext{ID: s.id, Data: bytes.Clone(s.data)}
	if x.Context != nil {
		x.shared.Value = x.Context.Value
	}
}

// run takes the state as far as it gets.
func (x *execution) run(ctx context.Context) error {
	x.state.mu.Lock()
	defer x.state.mu.Unlock()
	if err := x.loop(x.state.frame).run(ctx); err != nil {
		return x.saveFailed(ctx, err)
	}
	return x.save(ctx, false)
}

// open fills a new state with the session's items and the input.
func (x *execution) open(ctx context.Context, s *RunState, input []Item) error {
	var history []Item
	if x.Session != nil {
		var err error
		if history, err = x.Session.Items(ctx); err != nil {
			return fmt.Errorf("read session: %w", err)
		}
	}
	s.session.Saved = len(history)
	f := s.frame
	if err := s.checkRoom(slices.Concat(history, input)); err != nil {
		return fmt.Errorf("%w: input: %w", ErrConfig, err)
	}
	for i, it := range append(history[:len(history):len(history)], input...) {
		clean, err := cleanItem(it)
		if err != nil {
			return fmt.Errorf("%w: input item %d: %w", ErrConfig, i, err)
		}
		f.appendCopy(clean)
	}
	f.input = len(f.items)
	return nil
}

func (o *RunOptions) runID() string {
	if o.Context != nil && o.Context.ID != "" {
		return validText(o.Context.ID)
	}
	return "run_" + strings.ToLower(rand.Text())
}

func (o *RunOptions) turnLimit(inherited int) int {
	switch {
	case o.MaxTurns == 0:
		return inherited
	case o.MaxTurns < 0:
		return noTurnLimit
	}
	return min(o.MaxTurns, maxTurnLimit)
}

// lower reports whether a turn limit is lower than another.
func lower(a, b int) bool { return a != noTurnLimit && (b == noTurnLimit || a < b) }
