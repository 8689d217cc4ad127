package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"countersign/internal/control"
	"countersign/store"
)

type compactCommand struct{}

// command is the command line's view of it.
func (c *compactCommand) command(l *commandLine) *cobra.Command {
	return &cobra.Command{
		Use:   "compact",
		Short: "Rewrite the store's file: give space back, encrypt it, replace a key",
		Long: `Write all records of the store into a new file and put it in the place of the old one. No bot may run.

The new file lacks the space that deleted records have left. With COUNTERSIGN_ENCRYPTION_KEYS all of it is encrypted
under the first key, also what was plain before or under an older key, which is not needed any more afterwards. Without
keys a plain store stays plain.

The new file is written beside the old one, which takes about as much room as the records have, and is checked before
it takes the old one's place. When the command is interrupted the store is whole; run it again. The blocks of the old
file are free then, and not overwritten: who reads the raw disk may find them.

A store in PostgreSQL needs none of this: the database gives space back by itself.`,
		Example: "  countersign compact",
		Args:    none,
		RunE:    l.run(c.Run),
	}
}

// Run compacts the store and says what that brought.
func (c *compactCommand) Run(ctx context.Context, p *Program) error {
	env, cfg, err := p.storeConfig()
	if err != nil {
		return err
	}
	if err := fileOnly(env, "compact", insteadOfCompact); err != nil {
		return err
	}
	done, err := control.Compact(ctx, cfg, (&progressPrinter{w: p.Stderr}).print)
	if err != nil {
		return interrupted(explainStore(err), "the store is whole, as it was; run the command again")
	}
	_, err = fmt.Fprintf(p.Stdout, "%s: %d bytes before, %d after; %d records, %s\n", cfg.Path, done.Before, done.After,
		done.Records, c.state(cfg, done))
	return err
}

// state says how the records are stored now.
func (c *compactCommand) state(cfg control.Config, done store.Compacted) string {
	switch {
	case cfg.Keys == nil:
		return "not encrypted"
	case done.WasPlain:
		return "encrypted now, under the key " + cfg.Keys.First()
	}
	return "encrypted under the key " + cfg.Keys.First()
}

// progressPrinter prints a line for every tenth of the work.
type progressPrinter struct {
	w      io.Writer
	tenths int // printed so far
}

func (p *progressPrinter) print(done, total int) {
	if total == 0 || done*10/total <= p.tenths {
		return
	}
	p.tenths = done * 10 / total
	fmt.Fprintf(p.w, "compact: %d of %d records\n", done, total)
}
