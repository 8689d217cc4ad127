package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
)

type verifyCommand struct {
	head        agent.Digest
	checkpoints checkpointFlags
	JSON        bool
}

// command is the command line's view of it.
func (c *verifyCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Recompute the audit chain and compare requests and effects with it",
		Long: `Recompute every entry's hash and its link to the entry before, and compare every request and every
effect with what the trail says of it. The first entry, or the record, that is not as it was is named, with exit code 1.

A chain without a key shows accidents and careless edits. Whoever can write the store can also write a chain that
holds. Against them, hold it against what was kept where they cannot write: the checkpoints that the bot signs
(COUNTERSIGN_AUDIT_CHECKPOINTS), or a head that was printed here. The last line says how far that proves the trail.`,
		Example: `  countersign audit verify
  countersign audit verify --checkpoints /mnt/worm/checkpoints --key audit-public.pem
  countersign audit verify --head "$(cat head-of-last-month)"`,
		Args: none,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.checkpoints.path, "checkpoints", "", "hold the trail against the checkpoints in this `FILE_OR_DIR`")
	f.StringArrayVar(&c.checkpoints.keys, "key", nil, "the key that has signed them: a PEM `FILE` with the public or "+
		"the private key; again for older keys; without it, COUNTERSIGN_AUDIT_KEY")
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
	kept, err := c.checkpoints.read()
	if err != nil {
		return err
	}
	report, err := desk.VerifyAudit(ctx,
		approvals.VerifyOptions{Head: c.head, Checkpoints: kept.good, Progress: p.progress(time.Now)})
	broken, ok := errors.AsType[*approvals.AuditError](err)
	if err != nil && !ok {
		return err
	}
	if broken == nil {
		broken = kept.fault()
	}
	v := newVerified(report, c.head, &kept, broken)
	switch {
	case c.JSON:
		err = newEncoder(p.Stdout).Encode(v)
	case broken != nil:
		v.printBroken(p.Stdout)
	default:
		err = v.print(p.Stdout)
	}
	if broken != nil {
		return errors.Join(err, errSilent)
	}
	return err
}
