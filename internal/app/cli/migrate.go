package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"countersign/internal/app"
	"countersign/internal/control"
	"countersign/internal/lineage"
	"countersign/store"
	"countersign/store/transfer"
)

type migrateCommand struct {
	From, To string
	DryRun   bool
	Plain    bool

	began bool // something of FROM may be in TO
}

// command is the command line's view of it.
func (c *migrateCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate FROM TO",
		Short: "Move everything from one store into another, while no bot runs",
		Long: `Move everything that the store FROM holds into the store TO: runs and their states, requests, decisions,
grants, the audit trail, what waits to be delivered, jobs, conversations, installations. Each is "bolt:PATH", a file,
or "postgres://HOST/DATABASE", either way round; COUNTERSIGN_STORE is not looked at.

No bot may run on either, and no command. FROM is only read, and stays as it is. TO must be empty or not there, or what
an interrupted move of the same FROM has left: run the same command again, and it goes on. Until it is done TO is half a
store, which no bot opens.

At the end both are compared, record for record, and the audit chain of every workspace in TO is computed anew. Then set
COUNTERSIGN_STORE to TO, start the bot, and never start one on FROM again: it knows nothing of what happens in TO.

FROM is opened with those of COUNTERSIGN_ENCRYPTION_KEYS that it needs, also when it is plain, and TO is encrypted under
the first of them; without keys, or with --plain, TO is plain.

A password on the command line is seen by others on this machine: leave it out of the URL, and PGPASSWORD or
PGPASSFILE says it.`,
		Example: `  countersign migrate --dry-run bolt:countersign.db 'postgres://bot@db/countersign'
  countersign migrate bolt:countersign.db 'postgres://bot@db/countersign?schema=ops'
  countersign migrate 'postgres://bot@db/countersign' bolt:copy.db`,
		Args: c.stores,
		RunE: l.run(c.Run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.DryRun, "dry-run", false, "read FROM, say what would be moved, and change nothing")
	f.BoolVar(&c.Plain, "plain", false, "do not encrypt TO, although there are keys")
	return cmd
}

// stores takes the two arguments.
func (c *migrateCommand) stores(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return misused("%s needs two stores, FROM and TO", cmd.CommandPath())
	}
	c.From, c.To = args[0], args[1]
	if same(c.From, c.To) {
		return misused("FROM and TO are the same store")
	}
	return none(cmd, args[2:])
}

// same reports whether two URLs name the same store, as far as that shows without opening it: a file may have several
// names. Of a URL that names none, opening it says what is wrong.
func same(from, to string) bool {
	a, err := store.PlaceOf(from)
	b, errTo := store.PlaceOf(to)
	if err != nil || errTo != nil {
		return false
	}
	if store.Describe(from) == store.Describe(to) {
		return true
	}
	infoA, err := os.Stat(a.File) // an error where it is none
	infoB, errTo := os.Stat(b.File)
	return err == nil && errTo == nil && os.SameFile(infoA, infoB)
}

// Run moves the store, or says what would be moved.
func (c *migrateCommand) Run(ctx context.Context, p *Program) error {
	if err := lineage.CheckSelf(); err != nil {
		return fmt.Errorf("migrate: %w: %w", control.ErrNoOperator, err)
	}
	cfg, err := app.ReadConfig()
	if err != nil {
		return err
	}
	keys, err := cfg.Keys()
	if err != nil {
		return app.Misconfigured(fmt.Errorf("COUNTERSIGN_ENCRYPTION_KEYS: %w", err))
	}
	open := store.Config{Logger: cfg.Logger(p.Stderr), Keys: keys}
	from, err := store.OpenSource(ctx, c.From, open)
	if err != nil {
		return c.explain("FROM", err)
	}
	defer from.Close()
	if c.Plain {
		open.Keys = nil
	}
	if c.DryRun {
		return c.try(ctx, p, from, open)
	}
	to, err := store.OpenTarget(ctx, c.To, open)
	if err != nil {
		return c.explain("TO", err)
	}
	defer to.Close()
	return c.move(ctx, p, from, to)
}

// move moves the store and says what was moved.
func (c *migrateCommand) move(ctx context.Context, p *Program, from transfer.Source, to transfer.Target) error {
	c.began = true
	report, err := transfer.Move(ctx, from, to, transfer.Options{
		From: store.Describe(c.From), Progress: p.moving(),
	})
	if err != nil {
		return c.explain("", err)
	}
	if err := to.Close(); err != nil { // a file that was taken away meanwhile
		return fmt.Errorf("migrate: everything was moved, but %w", err)
	}
	return c.printMoved(p.Stdout, report)
}

// try says what would be moved.
func (c *migrateCommand) try(ctx context.Context, p *Program, from transfer.Source, open store.Config) error {
	state, err := c.look(ctx, from, open)
	if err != nil {
		return err
	}
	report, err := transfer.Survey(ctx, from, p.moving())
	if err != nil {
		return c.explain("", err)
	}
	return c.printPlan(p.Stdout, report, state)
}

// look says how TO stands, and changes nothing there.
func (c *migrateCommand) look(ctx context.Context, from transfer.Source, open store.Config) (string, error) {
	open.ReadOnly = true
	to, err := store.OpenTarget(ctx, c.To, open)
	if notThere(err) {
		at, _ := store.PlaceOf(c.To) // it could be opened
		if err := store.CheckPlace(at); err != nil {
			return "", c.explain("TO", err)
		}
		return "TO is not there and would be made", nil
	}
	if err != nil {
		return "", c.explain("TO", err)
	}
	defer to.Close()
	mark, err := transfer.Begun(ctx, from, to)
	switch {
	case err != nil:
		return "", c.explain("", err)
	case mark == nil:
		return "TO is empty", nil
	case mark.Complete:
		return "TO has all of it already; what is left is to compare", nil
	}
	return fmt.Sprintf("TO has %d of these records already, up to the %s", mark.Total(), mark.Kind), nil
}
