package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
)

type decideCommand struct {
	ID                 string
	given              [len(answers)]bool
	Always, JSON       bool
	Reason, As, Digest string
}

// answers are the flags of which a decision has one.
var answers = [...]struct {
	flag    string
	verdict approvals.Verdict
	told    bool // the reason is what the model reads
	help    string
}{
	{"approve", approvals.Approve, false, "let the call run"},
	{"reject", approvals.Reject, false, "do not let it run"},
	{"always-approve", approvals.AlwaysApprove, false,
		"let it run, and every later call of the tool by the agent in this run"},
	{"always-reject", approvals.AlwaysReject, false,
		"let neither it nor any later call of the tool by the agent in this run"},
	{"retry", approvals.Retry, false, "outcome unknown: run the call again"},
	{"mark-done", approvals.MarkDone, true, "outcome unknown: it happened; --reason is the output for the model"},
	{"give-up", approvals.GiveUp, true, "outcome unknown: leave it; --reason is told to the model"},
	{"provide-result", approvals.ProvideResult, true,
		"an external call: it was carried out; --reason is the result for the model"},
}

// command is the command line's view of it.
func (c *decideCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decide ID",
		Short: "Answer a request in the name of a Slack user",
		Long: `Answer the request ID in the name of a Slack user.

The answer counts exactly as a click of that person would: they must be allowed to decide, and the trail says it
came from the command line. Who may use the command is who may read the store's file.

While the bot runs it records the answer; otherwise the command opens the store itself, and needs the bot's
environment to ask Slack who the person is.`,
		Example: `  countersign approvals decide req_06f1k8… --reject --reason "wrong account" --as U0123456789
  countersign approvals decide req_06f1k9… --provide-result --reason "deployed as build 4711" --as U0123456789`,
		Args: one("a request's id", &c.ID),
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	for i, a := range answers {
		f.BoolVar(&c.given[i], a.flag, false, a.help)
	}
	f.StringVar(&c.As, "as", "", "the Slack `USER` in whose name the answer is recorded, such as U0123456789")
	f.BoolVar(&c.Always, "always", false,
		"with --approve or --reject: the same as --always-approve or --always-reject")
	f.StringVar(&c.Reason, "reason", "", "a `TEXT` for the record and the model")
	f.Func("digest", "decide only if the request's digest starts with `HEX`, at least the 16 digits on its card",
		c.setDigest)
	f.BoolVar(&c.JSON, "json", false, "print the request as it stands afterwards as JSON")
	return cmd
}

// shownDigits is how many digits of a digest cards show. Fewer would bind an answer to too little: of every 256 calls
// one has a digest that starts with two given digits.
const shownDigits = 16

func (c *decideCommand) setDigest(value string) error {
	c.Digest = strings.ToLower(value)
	if len(value) < shownDigits || strings.Trim(c.Digest, "0123456789abcdef") != "" {
		return fmt.Errorf("give at least the %d hexadecimal digits that the card shows, or leave the flag out",
			shownDigits)
	}
	return nil
}

// Run records the answer.
func (c *decideCommand) Run(ctx context.Context, p *Program) error {
	verdict, err := c.verdict()
	if err != nil {
		return err
	}
	desk, err := p.decidingDesk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	r, err := desk.Request(ctx, approvals.RequestID(c.ID))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(r.Digest.String(), c.Digest) {
		return fmt.Errorf("request %s has digest %s: %w", r.ID, r.Digest, approvals.ErrStale)
	}
	after, err := desk.Decide(ctx, approvals.Decision{
		Workspace: r.Workspace, Request: r.ID, Digest: r.Digest, By: approvals.NewUserID(r.Workspace, c.As),
		Verdict: verdict, Reason: c.Reason, Via: control.Via,
	})
	if err != nil {
		return explainDecision(after, err, r.Kind)
	}
	if c.JSON {
		return (&showCommand{JSON: true}).print(p, after)
	}
	return c.conclude(ctx, p, desk, after)
}

// verdict refuses what is not one answer of one person.
func (c *decideCommand) verdict() (approvals.Verdict, error) {
	var flags []string
	var v approvals.Verdict
	told := false
	for i, a := range answers {
		if c.given[i] {
			flags, v, told = append(flags, "--"+a.flag), a.verdict, a.told
		}
	}
	switch {
	case len(flags) == 0:
		return "", misused("what is the answer? One of %s", answerFlags())
	case len(flags) > 1:
		return "", misused("%s: a request has one answer", strings.Join(flags, " and "))
	case c.As == "":
		return "", misused("in whose name? --as takes the id of a Slack user, such as U0123456789")
	case told && strings.TrimSpace(c.Reason) == "":
		return "", misused("%s needs --reason: the model reads it", flags[0])
	case c.Always && v == approvals.Approve:
		return approvals.AlwaysApprove, nil
	case c.Always && v == approvals.Reject:
		return approvals.AlwaysReject, nil
	case c.Always:
		return "", misused("--always goes with --approve or --reject")
	}
	return v, nil
}

// answerFlags lists the flags that are answers.
func answerFlags() string {
	var flags []string
	for _, a := range answers {
		flags = append(flags, "--"+a.flag)
	}
	return strings.Join(flags, ", ")
}

// fitting are the flags that answer a question of a kind.
var fitting = map[agent.InterruptionKind]string{
	agent.Confirm:        "--approve or --reject",
	agent.OutcomeUnknown: "--retry, --mark-done or --give-up",
	agent.ExternalResult: "--provide-result or --reject",
}

// explainDecision says how the request stands when the answer was too late, and which answers it takes.
func explainDecision(r *approvals.Request, err error, asked agent.InterruptionKind) error {
	if flags, ok := fitting[asked]; ok && errors.Is(err, approvals.ErrInvalid) {
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
