package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"countersign/agent"
	"countersign/agent/guardrail"
)

type amountArgs struct {
	Amount *float64 `json:"amount"`
	To     string   `json:"to,omitempty"`
}

// tool adds or replaces a tool. It takes {"amount": number, "to": string} unless it has another form.
//
//	gates    ask, ask-over-100, ask-if=TEXT, gate-error, gate-panic, gate-never, gate-rejects=ID, gate-approves=ID;
//	         audit; program=approve|reject|reject-silently|wait|error|panic
//	doing    fails, fatal, panics, unsure-once, moves-world (on from what it is)
//	forms    custom, shell, native (a shell that answers in its own form), patch, hosted, search; external;
//	         input=FIELD, propose=FIELD
//	checks   before=ACTION, guard=ACTION, guard-again-once, out=ACTION (allow, replace, trip, error, panic, ask_again)
//	others   idempotent, tells-value, version=V, bind, bind-error, binding=TEXT, kind=KIND, url=URL (of a hosted server)
func (d *dialogue) tool(name string, options []string) {
	unsure := false
	tool := agent.NewTool(name, "Test tool.", func(_ context.Context, in amountArgs) (string, error) {
		text := "nothing"
		if in.Amount != nil {
			text = strconv.FormatFloat(*in.Amount, 'f', -1, 64)
		}
		if in.To != "" {
			text += " to " + in.To
		}
		switch {
		case slices.Contains(options, "fails"):
			return "", errors.New("no such account")
		case slices.Contains(options, "fatal"):
			return "", fmt.Errorf("out of money: %w", agent.ErrFatal)
		case slices.Contains(options, "panics"):
			panic("secret 4711")
		case slices.Contains(options, "moves-world"):
			d.world += "'"
		case slices.Contains(options, "unsure-once") && !unsure:
			unsure = true
			return "", fmt.Errorf("no answer: %w", agent.ErrOutcomeUnknown)
		}
		return name + " " + text, nil
	})
	d.form(&tool, options)
	if invoke := tool.Invoke; invoke != nil {
		tool.Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			d.note("ran " + name + " " + string(c.Arguments))
			return invoke(ctx, c)
		}
	}
	for _, o := range options {
		d.option(&tool, o)
	}
	d.drop(name)
	d.current.Tools = append(d.current.Tools, tool)
}

// form makes the tool one of another wire form.
func (d *dialogue) form(tool *agent.Tool, options []string) {
	other := func(kind agent.ToolKind, wire agent.WireForm) {
		tool.Kind, tool.Wire, tool.Parameters, tool.Validate = kind, wire, nil, nil
		tool.Invoke = func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			if slices.Contains(options, "fails") {
				return agent.ToolOutput{Text: "it failed", Failed: true}, nil
			}
			out := agent.ToolOutput{Text: tool.Name + " did it"}
			if slices.Contains(options, "native") {
				out.Native = json.RawMessage(`[{"stdout":"a\n","stderr":"b","outcome":{"type":"exit","exit_code":3}},` +
					`{"stdout":"","stderr":"","outcome":{"type":"timeout"}}]`)
			}
			return out, nil
		}
	}
	hosted := func(description string) {
		d := tool.Description
		*tool = agent.NewHostedTool(tool.Kind, tool.Name, json.RawMessage(description), nil)
		tool.Description = d
	}
	for _, o := range options {
		switch o {
		case "custom":
			other(agent.KindCustom, agent.WireCustom)
		case "shell":
			other(agent.KindShell, agent.WireShell)
		case "patch":
			other(agent.KindApplyPatch, agent.WireApplyPatch)
		case "hosted":
			other(agent.KindHostedMCP, agent.WireHosted)
			hosted(`{"type":"mcp","server_label":"` + tool.Name + `","server_url":"https://example.com",` +
				`"require_approval":"always"}`)
		case "search":
			other(agent.KindWebSearch, agent.WireHosted)
			hosted(`{"type":"web_search"}`)
		case "external":
			tool.Kind, tool.External, tool.Invoke = agent.KindExternal, true, nil
		}
	}
}

func (d *dialogue) option(tool *agent.Tool, o string) {
	name := tool.Name
	gate := func(answer func(*agent.ToolCall) (bool, error)) func(context.Context, *agent.ToolCall) (bool, error) {
		return func(_ context.Context, c *agent.ToolCall) (bool, error) {
			d.note("gate " + name)
			return answer(c)
		}
	}
	switch key, value, _ := strings.Cut(o, "="); key {
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
	case "ask-if":
		tool.NeedsApproval = gate(
			func(c *agent.ToolCall) (bool, error) { return strings.Contains(string(c.Arguments), value), nil })
	case "gate-rejects", "gate-approves": // records a standing decision while it is asked, and says the opposite
		tool.NeedsApproval = gate(func(*agent.ToolCall) (bool, error) {
			if key == "gate-rejects" {
				return false, d.state.Reject(d.find(value), agent.RejectOptions{Always: true})
			}
			return true, d.state.Approve(d.find(value), agent.ApproveOptions{Always: true})
		})
	case "gate-cancels": // cancels the run, and fails because of that
		tool.NeedsApproval = gate(func(*agent.ToolCall) (bool, error) { return false, d.cancelled() })
	case "gate-never":
		tool.NeedsApproval = gate(func(*agent.ToolCall) (bool, error) { return false, nil })
	case "audit":
		tool.Audit = true
	case "program":
		tool.OnApproval = d.program(name, value)
	case "tells-value":
		invoke := tool.Invoke
		tool.Invoke = func(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
			d.note(fmt.Sprintf("value %v%s", c.Run.Value, c.Run.Data))
			return invoke(ctx, c)
		}
	case "idempotent":
		tool.Idempotent = true
	case "version":
		tool.Version = value
	case "kind":
		tool.Kind = agent.ToolKind(value)
	case "url", "callers":
		described := strings.Replace(string(tool.Hosted()), "https://example.com", value, 1)
		if key == "callers" {
			described = strings.Replace(string(tool.Hosted()), "{", `{"allowed_callers":["`+value+`"],`, 1)
		}
		made := agent.NewHostedTool(tool.Kind, tool.Name, json.RawMessage(described), nil)
		made.Description, made.NeedsApproval, made.OnApproval = tool.Description, tool.NeedsApproval, tool.OnApproval
		made.InputGuardrails, made.OutputGuardrails = tool.InputGuardrails, tool.OutputGuardrails
		*tool = made
	case "binding":
		tool.Attributes = []string{value}
	case "input":
		tool.Fields = append(tool.Fields, value)
	case "propose":
		tool.Proposed = append(tool.Proposed, value)
	case "bind":
		tool.Preconditions = func(context.Context, *agent.ToolCall) ([]string, error) { return []string{d.world}, nil }
	case "bind-error":
		tool.Preconditions = func(context.Context, *agent.ToolCall) ([]string, error) {
			return nil, errors.New("no such file")
		}
	case "before", "guard", "guard-again-once":
		tool.InputGuardrails = append(tool.InputGuardrails, agent.ToolInputGuardrail{
			Name: o, BeforeApproval: key == "before",
			Check: func(_ context.Context, c *agent.ToolCall) (guardrail.Verdict, error) {
				if key == "guard-again-once" {
					d.note("guardrail " + o)
					if c.AskedAgain == 0 {
						return guardrail.Verdict{Action: guardrail.AskAgain}, nil
					}
					return guardrail.Verdict{}, nil
				}
				return d.toolVerdict(o, value)
			},
		})
	case "out":
		tool.OutputGuardrails = append(tool.OutputGuardrails, agent.ToolOutputGuardrail{
			Name: o,
			Check: func(context.Context, *agent.ToolCall, agent.ToolOutput) (guardrail.Verdict, error) {
				return d.toolVerdict(o, value)
			},
		})
	case "fails", "fatal",
		"panics", "unsure-once", "moves-world", "custom", "shell", "native", "patch", "hosted", "search", "external":
	default:
		d.t.Fatalf("unknown tool option %q", o)
	}
}

func (d *dialogue) toolVerdict(name, what string) (guardrail.Verdict, error) {
	v, err := d.verdict(name, what, "")
	if v.Action == guardrail.Replace {
		v.Message = "replaced by " + name
	}
	return v, err
}

func (d *dialogue) program(name, what string) func(context.Context, *agent.Interruption) (*agent.ToolApproval, error) {
	return func(_ context.Context, in *agent.Interruption) (*agent.ToolApproval, error) {
		d.note("program " + name + " " + string(in.Kind) + " " + string(in.Call.Arguments))
		switch what {
		case "approve":
			return &agent.ToolApproval{Approve: true}, nil
		case "reject":
			return &agent.ToolApproval{Reason: "the program says no"}, nil
		case "reject-silently":
			return &agent.ToolApproval{}, nil
		case "error":
			return &agent.ToolApproval{Approve: true}, errors.New("program broke")
		case "panic":
			panic("program broke")
		}
		return nil, nil
	}
}

func (d *dialogue) drop(name string) {
	d.current.Tools = slices.DeleteFunc(
		slices.Clone(d.current.Tools), func(t agent.Tool) bool { return t.Name == name })
}
