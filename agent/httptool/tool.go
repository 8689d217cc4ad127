package httptool

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"countersign/agent"
	"countersign/agent/internal/jsonschema"
	"countersign/agent/toolstatus"
)

// tool makes the calls of one declaration.
type tool struct {
	*declared
	transport http.RoundTripper
}

// New returns the tool that cfg declares, without a gate: the caller sets NeedsApproval. Its error wraps
// [agent.ErrConfig] and names the place. The tool bounds itself by cfg.Timeout, so that its output can tell what is
// known; [agent.Tool] has no timeout of its own then.
func New(cfg Config) (agent.Tool, error) {
	d, err := cfg.check()
	if err != nil {
		return agent.Tool{}, err
	}
	validate := cfg.Validate
	if validate == nil {
		schema, err := jsonschema.Compile(cfg.Parameters)
		if err != nil {
			return agent.Tool{}, fmt.Errorf("%w: http tool %q: parameters: %w", agent.ErrConfig, cfg.Name, err)
		}
		validate = schema.Validate
	}
	t := &tool{declared: d, transport: newTransport(d)}
	return agent.Tool{
		Name: cfg.Name, Description: cfg.Description, Version: cfg.Version, Kind: agent.KindHTTP,
		Parameters: cfg.Parameters, Validate: validate, Attributes: d.binding(), Idempotent: d.Idempotent,
		Invoke: t.invoke,
	}, nil
}

var errTimeout = errors.New("timed out")

// invoke makes one call. Its error is the context's, or wraps agent.ErrOutcomeUnknown, or both: the request was sent
// and not answered, and must not be repeated.
func (t *tool) invoke(ctx context.Context, call *agent.ToolCall) (agent.ToolOutput, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, t.Timeout, errTimeout)
	defer cancel()
	out, settled, err := t.run(bounded, call)
	switch {
	case settled: // what is known for good counts, also when nobody wants it any more
		return out, nil
	case ctx.Err() != nil:
		why := context.Cause(ctx)
		if errors.Is(err, agent.ErrOutcomeUnknown) || out.Status.HTTP != 0 && !t.reads() {
			why = fmt.Errorf("%w: %w", why, agent.ErrOutcomeUnknown)
		}
		return agent.ToolOutput{}, fmt.Errorf("call %s: %w", t.Name, why)
	case err != nil:
		return agent.ToolOutput{}, fmt.Errorf("call %s: %w", t.Name, err)
	}
	return out, nil
}

// run makes the call and says how it went. settled says that the end of the context had no part in it. Its error is
// that nobody can tell. A call that was not made, not answered, or answered with a status of 300 or more has failed.
//
// A call that may be repeated is, once, when its connection is lost: under the same key, which nobody else can send.
// When the answer is then that this was refused, what became of the first one is still not known: the server may be at
// work on it, and say so with 409, or have refused the second for reasons of its own, such as 429.
func (t *tool) run(ctx context.Context, call *agent.ToolCall) (out agent.ToolOutput, settled bool, err error) {
	x := &exchange{tool: t} // once something may have been sent, that stays so
	var res *http.Response
	var lost error // of the first try
	for {
		first, err := t.request(call)
		if err != nil {
			return agent.ToolOutput{Text: "The call was not made: " + err.Error() + ".", Failed: true}, true, nil
		}
		x.trusted = true
		if res, err = x.follow(ctx, first); err == nil {
			break
		}
		if lost != nil || !t.Idempotent || !x.sent.Load() || ctx.Err() != nil {
			text, err := x.unanswered(ctx, err)
			return agent.ToolOutput{Text: text, Failed: true}, false, err
		}
		lost = err
	}
	defer res.Body.Close()
	status := toolstatus.Status{HTTP: res.StatusCode}
	if lost != nil && res.StatusCode >= 300 && !status.MayHaveActed() && !t.reads() {
		return agent.ToolOutput{}, false, x.refused(ctx, lost, res)
	}
	text, settled := t.text(ctx, res, x.note)
	if status.MayHaveActed() && !t.reads() {
		text += toolstatus.TextMayHaveActed
	}
	return agent.ToolOutput{Text: text, Failed: res.StatusCode >= 300, Status: status}, settled, nil
}
