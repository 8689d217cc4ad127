package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/visible"
)

type verifyCommand struct {
	head agent.Digest
	JSON bool
}

// command is the command line's view of it.
func (c *verifyCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Recompute the audit chain and compare requests and effects with it",
		Long: `Recompute every entry's hash and its link to the entry before, ` +
			`and compare every request and every effect with
what the trail says of it.

A chain without a key shows accidents and careless edits. Whoever can write the store can also write a chain that
holds. Against them, keep a head that is printed here where they cannot write, and give it later with --head: an entry
has it as long as nothing up to that entry was removed or written anew.`,
		Example: `  countersign audit verify
  countersign audit verify --head "$(cat head-of-last-month)"`,
		Args: none,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Func("head", "fail unless an entry has this `HASH`, a head that was printed earlier", c.setHead)
	f.BoolVar(&c.JSON, "json", false, "print one JSON object")
	return cmd
}

func (c *verifyCommand) setHead(value string) error {
	err := c.head.UnmarshalText([]byte(strings.ToLower(value)))
	if err != nil || c.head == (agent.Digest{}) {
		return errors.New("a head is the 64 hexadecimal digits that audit verify has printed")
	}
	return nil
}

// Run prints what was verified, or what is wrong.
func (c *verifyCommand) Run(ctx context.Context, p *Program) error {
	desk, err := p.desk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	return c.verify(ctx, p, desk)
}

// verify verifies and prints the result. The error is nil only when the whole trail is in order.
func (c *verifyCommand) verify(ctx context.Context, p *Program, desk control.Desk) error {
	report, err := desk.VerifyAudit(ctx, approvals.VerifyOptions{Head: c.head})
	broken, ok := errors.AsType[*approvals.AuditError](err)
	if err != nil && !ok {
		return err
	}
	v := newVerified(report, c.head, broken)
	switch {
	case c.JSON:
		return errors.Join(newEncoder(p.Stdout).Encode(v), err)
	case broken != nil:
		fmt.Fprintln(p.Stdout, "audit: BROKEN"+v.Error.where()+": "+visible.Line(v.Error.Reason))
		fmt.Fprintln(p.Stdout, v.Means)
		return errSilent
	}
	return v.print(p.Stdout)
}
