package shelltool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"countersign/agent"
)

const description = "Run a command on the machine, in its working directory, and read its exit code and output. " +
	"People are asked before it runs. Standard input is empty, and nothing keeps running in the background afterwards."

// tool runs the commands of one declaration.
type tool struct{ *declared }

// New returns the tool that cfg declares. Every call asks for approval, unless the caller sets another NeedsApproval on
// what is returned. Its error wraps [agent.ErrConfig] and names the field. The tool bounds itself by cfg.Timeout, so
// that its output can tell what was printed until then; [agent.Tool] has no timeout of its own then.
func New(cfg Config) (agent.Tool, error) {
	d, err := cfg.check()
	if err != nil {
		return agent.Tool{}, err
	}
	t := &tool{d}
	made := agent.Tool{
		Name: d.Name, Description: cmp.Or(d.Description, description), Version: d.Version, Kind: agent.KindShell,
		Parameters: json.RawMessage(parameters), Validate: t.validate, Attributes: d.binding(),
		Preconditions: t.bind, Touches: touches, Explain: t.explain,
		NeedsApproval: agent.AlwaysAsk, Invoke: t.invoke,
	}
	if d.Native {
		made.Wire, made.Parameters = agent.WireShell, json.RawMessage(nativeParameters)
	}
	return made, nil
}

// touches: a command may depend on any file and change any.
func touches(*agent.ToolCall) []string { return []string{"/"} }

func (t *tool) validate(raw json.RawMessage) error {
	_, err := t.request(raw)
	return err
}

// request reads a call and holds it against the declaration.
func (t *tool) request(raw json.RawMessage) (request, error) {
	r, err := read(raw)
	switch {
	case err != nil:
		return r, err
	case r.native && !t.Native:
		return r, errors.New("there is no member commands; give argv or script")
	case !r.native && t.Native:
		return r, errors.New("commands is missing")
	case r.timeout > t.Timeout:
		return r, fmt.Errorf(
			"the timeout of %v is more than the %v that this tool allows; ask for less, or leave it out",
			r.timeout, t.Timeout)
	}
	r.timeout = cmp.Or(r.timeout, t.Timeout)
	r.output = min(cmp.Or(r.output, t.MaxOutput), t.MaxOutput)
	return r, nil
}

var errTimeout = errors.New("timed out")

// invoke runs a call. Its error is that nothing was started, or it wraps agent.ErrOutcomeUnknown: a command was stopped
// in the middle, by the caller.
func (t *tool) invoke(ctx context.Context, call *agent.ToolCall) (agent.ToolOutput, error) {
	r, err := t.request(call.Arguments)
	if err != nil {
		return agent.ToolOutput{}, fmt.Errorf("call %s: %w", t.Name, err)
	}
	p, err := t.open(ctx, r)
	if err != nil {
		return agent.ToolOutput{}, fmt.Errorf("call %s: %w", t.Name, err)
	}
	defer p.Close()
	if call.Preconditions != nil { // somebody relies on what is run
		facts, err := t.facts(ctx, r, p)
		if err != nil {
			return agent.ToolOutput{}, fmt.Errorf("call %s: nothing was started: %w", t.Name, err)
		}
		if !slices.Equal(call.Preconditions, facts) {
			return agent.ToolOutput{Text: "Nothing was started: " + changed, Failed: true}, nil
		}
	}
	processes, err := t.processes(r, p)
	if err != nil {
		return agent.ToolOutput{}, fmt.Errorf("call %s: %w", t.Name, err)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, r.timeout, errTimeout)
	defer cancel()
	return t.run(ctx, bounded, r, processes)
}

// changed is what the model reads when a program is not the one that was asked about.
const changed = "a program is no longer what it was when this call was decided about. Call it again if that should " +
	"run as it is now."

// run runs the processes one after the other; bounded ends before ctx when the time is up.
func (t *tool) run(ctx, bounded context.Context, r request, processes []process) (agent.ToolOutput, error) {
	limit := max(1, r.output/len(processes)) // each command's share
	results := make([]result, 0, len(processes))
	for _, p := range processes {
		if err := ctx.Err(); err != nil {
			return agent.ToolOutput{}, t.interrupted(ctx, results)
		}
		res := p.run(ctx, bounded, limit)
		if res.unknown {
			return agent.ToolOutput{}, t.interrupted(ctx, append(results, res))
		}
		results = append(results, res)
	}
	return answer(r, results, limit)
}

// interrupted is the error for a call whose context ended, given the commands of it that were started.
func (t *tool) interrupted(ctx context.Context, started []result) error {
	why := context.Cause(ctx)
	if why == nil {
		why = errors.New("a killed command did not end")
	}
	if len(started) == 0 {
		return fmt.Errorf("call %s: nothing was started: %w", t.Name, why)
	}
	return fmt.Errorf("call %s: it was stopped while it ran: %w: %w", t.Name, why, agent.ErrOutcomeUnknown)
}

// processes makes the call's processes, which are run in order, of the program that they all run.
func (t *tool) processes(r request, p *program) ([]process, error) {
	if now, err := filepath.EvalSymlinks(t.Workdir); err != nil || now != t.Workdir {
		return nil, errors.New("nothing was started: the working directory is gone, or is another one now")
	}
	base := process{path: p.path, exec: p.exec(), fd: int(p.Fd()), dir: t.Workdir, env: t.env,
		grace: grace, hidden: t.hidden}
	if r.argv != nil {
		base.args = r.argv
		return []process{base}, nil
	}
	all := make([]process, len(r.scripts))
	for i, script := range r.scripts {
		all[i] = base
		all[i].args = []string{t.Shell, "-c", "--", script}
	}
	return all, nil
}

// grace is how long a killed command may take to disappear, and its output to be closed.
const grace = 2 * time.Second
