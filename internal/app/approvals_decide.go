package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/app/control"
)

type decideCommand struct {
	ID            string `arg:"" help:"The request's id."`
	Approve       bool   `xor:"verdict" required:"" help:"Let the call run."`
	Reject        bool   `xor:"verdict" required:"" help:"Do not let it run."`
	Retry         bool   `xor:"verdict" required:"" help:"Outcome unknown: run the call again."`
	MarkDone      bool   `xor:"verdict" required:"" help:"Outcome unknown: it happened; --reason is the output for the model."`
	GiveUp        bool   `xor:"verdict" required:"" help:"Outcome unknown: leave it; --reason is told to the model."`
	ProvideResult bool   `xor:"verdict" required:"" help:"An external call: it was carried out; --reason is the result for the model."`
	Always        bool   `help:"Also answer every later call of the tool by the agent in this run. With --approve or --reject."`
	Reason        string `help:"A text for the record and the model." placeholder:"TEXT"`
	As            string `required:"" help:"The Slack user in whose name the answer is recorded, such as U0123456789." placeholder:"USER"`
	Digest        string `help:"Decide only if the request's digest starts with this, as shown before." placeholder:"HEX"`
	JSON          bool   `help:"Print the request as it stands afterwards as JSON."`
}

// Help is the text below the usage line.
func (decideCommand) Help() string {
	return `The answer counts exactly as a click of that person would: they must be allowed to decide, and the trail says it
came from the command line. Who may use the command is who may read the store's file.

While the bot runs it records the answer; otherwise the command opens the store itself, and needs the bot's
environment to ask Slack who the person is.

Example:

    countersign approvals decide req_06f1k8… --reject --reason "wrong account" --as U0123456789
    countersign approvals decide req_06f1k9… --provide-result --reason "deployed as build 4711" --as U0123456789
`
}

// Run records the answer.
func (c *decideCommand) Run(ctx context.Context, p *Program) error {
	if c.Always && !c.Approve && !c.Reject {
		return misconfigured(errors.New("--always goes with --approve or --reject"))
	}
	if (c.MarkDone || c.GiveUp || c.ProvideResult) && strings.TrimSpace(c.Reason) == "" {
		return misconfigured(errors.New("--mark-done, --give-up and --provide-result need --reason: the model reads it"))
	}
	cfg, err := ReadConfig()
	if err != nil {
		return err
	}
	desk, done, err := p.decidingDesk(ctx, cfg)
	if err != nil {
		return err
	}
	defer done()
	r, err := desk.Request(ctx, approvals.RequestID(c.ID))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(r.Digest.String(), strings.ToLower(c.Digest)) {
		return fmt.Errorf("request %s has digest %s: %w", r.ID, r.Digest, approvals.ErrStale)
	}
	after, err := desk.Decide(ctx, approvals.Decision{
		ID: approvals.NewDecisionID(time.Now()), Workspace: r.Workspace, Request: r.ID,
		By: approvals.NewUserID(r.Workspace, c.As), Verdict: c.verdict(), Reason: c.Reason, Digest: r.Digest, Via: "cli",
	})
	if err != nil {
		return explainDecision(after, err, r.Kind)
	}
	if c.JSON {
		return (&showCommand{JSON: true}).print(p, after)
	}
	_, err = fmt.Fprintf(p.Stdout, "%s is %s.\n", after.ID, after.Status)
	return err
}

func (c *decideCommand) verdict() approvals.Verdict {
	switch {
	case c.Approve && c.Always:
		return approvals.AlwaysApprove
	case c.Approve:
		return approvals.Approve
	case c.Reject && c.Always:
		return approvals.AlwaysReject
	case c.Reject:
		return approvals.Reject
	case c.Retry:
		return approvals.Retry
	case c.MarkDone:
		return approvals.MarkDone
	case c.ProvideResult:
		return approvals.ProvideResult
	}
	return approvals.GiveUp
}

// answers are the flags that answer a question of a kind.
var answers = map[agent.InterruptionKind]string{
	agent.Confirm:        "--approve or --reject",
	agent.OutcomeUnknown: "--retry, --mark-done or --give-up",
	agent.ExternalResult: "--provide-result or --reject",
}

// explainDecision says how the request stands when the answer was too late, and which answers it takes.
func explainDecision(r *approvals.Request, err error, asked agent.InterruptionKind) error {
	if flags, ok := answers[asked]; ok && errors.Is(err, approvals.ErrInvalid) {
		return fmt.Errorf("%w; this request asks %s: answer with %s", err, questionWords(asked), flags)
	}
	if r == nil || r.Status == approvals.RequestPending || !errors.Is(err, approvals.ErrConflict) {
		return err
	}
	if d := r.Settler(); d != nil {
		return fmt.Errorf("%w: it is %s since %s by %s", err, r.Status, d.At.UTC().Format(time.RFC3339), d.By.Local())
	}
	return fmt.Errorf("%w: it is %s", err, r.Status)
}

// decidingDesk is desk with the right to decide.
func (p *Program) decidingDesk(ctx context.Context, c *Config) (control.Desk, func(), error) {
	if err := c.Check(); err != nil {
		return nil, nil, err
	}
	client, err := control.Dial(ctx, c.StorePath())
	if err == nil {
		return client, func() { client.Close() }, nil
	}
	if !errors.Is(err, control.ErrNotRunning) {
		return nil, nil, err
	}
	return p.openDeciding(ctx, c)
}
