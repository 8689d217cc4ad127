package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
)

type decideCommand struct {
	IDs                []approvals.RequestID
	given              [len(answers)]bool
	Always, JSON       bool
	Reason, As, Digest string
	Scope, For         string
	Same, AtMost       []string
	Without            []string
	TTL                time.Duration
	Uses               int

	Edit, InputJSON string   // JSON, or @FILE
	Input           []string // NAME=VALUE
	Answer          []string

	arguments, values json.RawMessage // what Edit and InputJSON hold
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
		"let it run, and every later call of the tool by the agent in this run, or as --scope and the others say"},
	{"always-reject", approvals.AlwaysReject, false,
		"let neither it nor any later call of the tool by the agent in this run, or as --scope and the others say"},
	{"retry", approvals.Retry, false, "outcome unknown: run the call again"},
	{"mark-done", approvals.MarkDone, true, "outcome unknown: it happened; --reason is the output for the model"},
	{"give-up", approvals.GiveUp, true, "outcome unknown: leave it; --reason is told to the model"},
	{"provide-result", approvals.ProvideResult, true,
		"an external call: it was carried out; --reason is the result for the model"},
}

// command is the command line's view of it.
func (c *decideCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decide ID…",
		Short: "Answer a request, or several, in the name of a Slack user",
		Long: `Answer the request ID in the name of a Slack user.

The answer counts exactly as a click of that person would: they must be allowed to decide, and the trail says it
came from the command line. Who may use the command is who may read the store's file, or has the
database's credentials.

Several IDs are approved or rejected one after the other, each as if it stood alone; a request that
has to be looked at by itself is left out. The command says what became of each, and fails when one was not decided.

While the bot runs it records the answer; otherwise the command opens the store itself, and needs the bot's
environment to ask Slack who the person is.`,
		Example: `  countersign approvals decide req_06f1k8… --reject --reason "wrong account" --as U0123456789
  countersign approvals decide req_06f1k8… req_06f1ka… --approve --as U0123456789
  countersign approvals decide req_06f1k8… --always-approve --scope thread --ttl 2h --same to --as U0123456789
  countersign approvals decide req_06f1k8… --edit '{"amount": 20}' --as U0123456789
  countersign approvals decide req_06f1ka… --input date=2026-12-01 --input 'guests=4' --as U0123456789
  countersign approvals decide req_06f1kb… --answer blue --as U0123456789
  countersign approvals decide req_06f1k9… --provide-result --reason "deployed as build 4711" --as U0123456789`,
		Args: c.setIDs,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	for i, a := range answers {
		f.BoolVar(&c.given[i], a.flag, false, a.help)
	}
	c.revisionFlags(cmd)
	f.StringVar(&c.As, "as", "", "the Slack `USER` in whose name the answer is recorded, such as U0123456789")
	f.StringVar(&c.For, "for", "",
		"the absent `USER` for whom that person decides as their delegate; may be left out\n"+
			"where they may not decide for themselves and there is one")
	f.BoolVar(&c.Always, "always", false,
		"with --approve or --reject: the same as --always-approve or --always-reject")
	f.StringVar(&c.Scope, "scope", "", "with an --always flag: how far it reaches, a `SCOPE` that the policy names: "+
		"run, thread, channel or workspace")
	f.Func("same",
		"with an --always flag: `ARGUMENTS` that keep the value of this call, such as to,currency or /account/id",
		argumentNames(&c.Same))
	f.Func("at-most", "with an --always flag: numeric `ARGUMENTS` that are not greater than in this call",
		argumentNames(&c.AtMost))
	f.Func("without", "with an --always flag: `ARGUMENTS` that this call does not have, nor may later ones",
		argumentNames(&c.Without))
	f.Func("ttl", "with an --always flag: how `LONG` it holds, such as 2h or 7d; as long as the policy lets it",
		c.setTTL)
	f.Func("uses", "with --always-approve: how `MANY` more calls it is for; any number", c.setUses)
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

// argumentNames returns the setter of a flag that takes the names of arguments, a comma between. One without a name
// would leave out the condition that somebody meant.
func argumentNames(field *[]string) func(string) error {
	return func(value string) error {
		names, err := csv.NewReader(strings.NewReader(value)).Read()
		if err != nil || slices.Contains(names, "") {
			return errors.New("it is names of arguments, such as to,currency; leave the flag out for no condition")
		}
		*field = append(*field, names...)
		return nil
	}
}

// setTTL refuses no time: left out, the flag means as long as the policy lets it.
func (c *decideCommand) setTTL(value string) (err error) {
	if c.TTL, err = readDuration(value); err != nil || c.TTL <= 0 {
		return errors.New("it is how long the answer holds, such as 2h or 7d")
	}
	return nil
}

// setUses refuses no calls: left out, the flag means any number.
func (c *decideCommand) setUses(value string) (err error) {
	if c.Uses, err = strconv.Atoi(value); err != nil || c.Uses < 1 {
		return errors.New("it is a number of calls, 1 or more; leave the flag out for any number")
	}
	return nil
}

// Run records the answer.
func (c *decideCommand) Run(ctx context.Context, p *Program) error {
	verdict, err := c.verdict()
	if err != nil {
		return err
	}
	terms, err := c.terms(verdict)
	if err != nil {
		return err
	}
	if err := c.readRevision(); err != nil {
		return err
	}
	desk, err := p.decidingDesk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	if len(c.IDs) > 1 {
		return c.decideAll(ctx, p, desk, verdict)
	}
	r, err := desk.Request(ctx, c.IDs[0])
	if err != nil {
		return err
	}
	if !strings.HasPrefix(r.Digest.String(), c.Digest) {
		return fmt.Errorf("request %s has digest %s: %w", r.ID, r.Digest, approvals.ErrStale)
	}
	d := approvals.Decision{
		Workspace: r.Workspace, Request: r.ID, Digest: r.Digest, By: approvals.NewUserID(r.Workspace, c.As),
		Verdict: verdict, Reason: c.Reason, Via: control.Via, Grant: terms, Answers: c.Answer,
	}
	if err := c.revise(r, &d); err != nil {
		return err
	}
	if c.For != "" {
		d.For = approvals.NewUserID(r.Workspace, c.For)
	}
	after, err := desk.Decide(ctx, d)
	if err != nil {
		return explainDecision(after, err, &r.RequestHead, verdict)
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
	if c.Edit != "" {
		flags, v = append(flags, "--edit"), approvals.Edit
	}
	if len(c.Input) > 0 || c.InputJSON != "" {
		flags, v = append(flags, "--input"), approvals.ProvideInput
	}
	if len(c.Answer) > 0 {
		flags, v = append(flags, "--answer"), approvals.Answer
	}
	switch {
	case len(c.Input) > 0 && c.InputJSON != "":
		return "", misused("--input and --input-json: give the values in one of these ways")
	case len(flags) == 0:
		return "", misused("what is the answer? One of %s", answerFlags())
	case len(flags) > 1:
		return "", misused("%s: a request has one answer", strings.Join(flags, " and "))
	case c.As != "" && c.For == c.As:
		return "", misused("--for names somebody else, for whom --as decides")
	case c.As == "":
		return "", misused("in whose name? --as takes the id of a Slack user, such as U0123456789")
	case told && strings.TrimSpace(c.Reason) == "":
		return "", misused("%s needs --reason: the model reads it", flags[0])
	case len(c.IDs) > 1:
		return v, c.several(v)
	case c.Always && v == approvals.Approve:
		return approvals.AlwaysApprove, nil
	case c.Always && v == approvals.Reject:
		return approvals.AlwaysReject, nil
	case c.Always:
		return "", misused("--always goes with --approve or --reject")
	}
	return v, nil
}

// terms returns the terms of a standing answer; nil: it is for the rest of the run.
func (c *decideCommand) terms(v approvals.Verdict) (*approvals.GrantTerms, error) {
	given := c.Scope != "" || len(c.Same)+len(c.AtMost)+len(c.Without) > 0 || c.TTL != 0 || c.Uses != 0
	standing := v == approvals.AlwaysApprove || v == approvals.AlwaysReject
	switch {
	case !given:
		return nil, nil
	case !standing:
		return nil, misused("--scope, --same, --at-most, --without, --ttl and --uses go with --always-approve " +
			"or --always-reject")
	}
	scope := approvals.Scope(cmp.Or(c.Scope, string(approvals.ScopeRun)))
	switch scope {
	case approvals.ScopeRun, approvals.ScopeThread, approvals.ScopeChannel, approvals.ScopeWorkspace:
	default:
		return nil, misused("--scope %q: it is run, thread, channel or workspace", c.Scope)
	}
	return &approvals.GrantTerms{
		Scope: scope, Same: c.Same, AtMost: c.AtMost, Without: c.Without, TTL: c.TTL, Uses: c.Uses,
	}, nil
}

// answerFlags lists the flags that are answers.
func answerFlags() string {
	var flags []string
	for _, a := range answers {
		flags = append(flags, "--"+a.flag)
	}
	return strings.Join(append(flags, "--edit", "--input", "--input-json", "--answer"), ", ")
}

// fitting are the flags that answer a question of a kind.
var fitting = map[agent.InterruptionKind]string{
	agent.Confirm:        "--approve, --reject or --edit",
	agent.OutcomeUnknown: "--retry, --mark-done or --give-up",
	agent.ExternalResult: "--provide-result or --reject",
	agent.FieldsRequired: "--input, --input-json or --reject",
}

// takes are the verdicts that answer a question of a kind.
var takes = map[agent.InterruptionKind][]approvals.Verdict{
	agent.Confirm: {
		approvals.Approve, approvals.Reject, approvals.AlwaysApprove, approvals.AlwaysReject, approvals.Edit,
	},
	agent.OutcomeUnknown: {approvals.Retry, approvals.MarkDone, approvals.GiveUp},
	agent.ExternalResult: {approvals.ProvideResult, approvals.Reject},
	agent.FieldsRequired: {approvals.ProvideInput, approvals.Reject},
}

// explainDecision says how the request stands when the answer was too late, and which answers it takes.
func explainDecision(
	r *approvals.Request, err error, asked *approvals.RequestHead, given approvals.Verdict,
) error {
	flags, ok := fitting[asked.Kind]
	verdicts := takes[asked.Kind]
	if asked.IsQuestion() {
		flags, verdicts = "--answer or --reject", []approvals.Verdict{approvals.Answer, approvals.Reject}
	}
	if ok && errors.Is(err, approvals.ErrInvalid) && !slices.Contains(verdicts, given) {
		return fmt.Errorf("%w; this request asks %s: answer with %s", err, questionWords(asked), flags)
	}
	if r != nil && r.SupersededBy != "" && errors.Is(err, approvals.ErrStale) {
		if strings.Contains(err.Error(), string(r.SupersededBy)) {
			return err
		}
		return fmt.Errorf("%w; decide about %s", err, r.SupersededBy)
	}
	if r == nil || r.Status == approvals.RequestPending || !errors.Is(err, approvals.ErrConflict) {
		return err
	}
	if stands := fmt.Sprintf("it is %s", r.Status); !strings.HasSuffix(err.Error(), stands) {
		err = fmt.Errorf("%w: %s", err, stands)
	}
	if d := r.Settler(); d != nil {
		return fmt.Errorf("%w, since %s by %s", err, d.At.UTC().Format(time.RFC3339), decider(*d))
	}
	return err
}
