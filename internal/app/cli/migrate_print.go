package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/app"
	"countersign/internal/visible"
	"countersign/store"
	"countersign/store/transfer"
)

// moving returns what says how far a move is, every now and then.
func (p *Program) moving() func(transfer.Progress) {
	last := time.Now()
	return func(at transfer.Progress) {
		now := time.Now()
		if now.Sub(last) < quiet {
			return
		}
		last = now
		done := "copied"
		if at.Comparing {
			done = "compared"
		}
		fmt.Fprintf(p.Stderr, "countersign: %d records %s (%s)\n", at.Records, done, at.Kind)
	}
}

// explain adds to an error what to do about it. which is the store that could not be opened, if that is it.
func (c *migrateCommand) explain(which string, err error) error {
	about := "migrate"
	if which != "" {
		about += ": " + which
	}
	if which == "FROM" && notThere(err) {
		at, _ := store.PlaceOf(c.From) // it could be opened
		what := "file " + at.File
		if at.Shared() {
			what = "store in " + at.String()
		}
		return app.Misconfigured(fmt.Errorf("%s: there is no %s; FROM is the store to move, as COUNTERSIGN_STORE "+
			"names it for the bot", about, what))
	}
	if which == "TO" {
		switch { // its advice is for a store that a bot works on
		case errors.Is(err, store.ErrPlain):
			return app.Misconfigured(fmt.Errorf("%s: it was begun without encryption: run the command as it was "+
				"begun, with --plain or without COUNTERSIGN_ENCRYPTION_KEYS, or name another TO", about))
		case errors.Is(err, store.ErrKeys):
			return app.Misconfigured(fmt.Errorf("%s: %w; it was begun encrypted: run the command as it was begun, "+
				"with the same COUNTERSIGN_ENCRYPTION_KEYS and without --plain, or name another TO", about, err))
		}
	}
	err = fmt.Errorf("%s: %w", about, err)
	broken, isBroken := errors.AsType[*approvals.AuditError](err)
	switch {
	case isBroken:
		return fmt.Errorf("%w\nThe audit trail does not hold (%s): nothing of it is handed over as moved. "+
			"\"countersign audit verify\" on FROM says more", err, broken.Kind)
	case which == "" && (errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrDamagedRecord)):
		return fmt.Errorf("%s; the same command again ends in the same way. If that is FROM, begin again with its "+
			"newest backup; in either case name another TO", strings.ReplaceAll(err.Error(), store.MendDamaged, ""))
	case errors.Is(err, store.ErrInUse), errors.Is(err, transfer.ErrInUse):
		return fmt.Errorf("%w; stop the bot first: a store is moved while nobody works on it", err)
	case errors.Is(err, transfer.ErrNotEmpty):
		return app.Misconfigured(fmt.Errorf("%w; name a file that is not there, or an empty schema. "+
			"A move that was cut off goes on where it was: if this is the target of one, it has ended, and "+
			"\"countersign audit verify\" on it says whether it holds", err))
	case errors.Is(err, transfer.ErrOther):
		return app.Misconfigured(fmt.Errorf("%w; remove TO, or name another one, and begin again", err))
	case errors.Is(err, transfer.ErrChanged):
		return fmt.Errorf("%w: a bot or a command was at work on FROM; remove TO, stop them, and begin again", err)
	case errors.Is(err, transfer.ErrDiffers):
		return fmt.Errorf("%w; FROM is whole and TO is not to be used: remove TO and begin again", err)
	case errors.Is(err, store.ErrKeys):
		return app.Misconfigured(fmt.Errorf("%w; COUNTERSIGN_ENCRYPTION_KEYS takes the keys of FROM, and the first of "+
			"all that it holds encrypts TO", err))
	case errors.Is(err, store.ErrHalf), errors.Is(err, store.ErrURL), errors.Is(err, store.ErrUnsupported),
		errors.Is(err, store.ErrPlain), errors.Is(err, store.ErrPlace),
		errors.Is(err, store.ErrNotStore), errors.Is(err, store.ErrOlder), errors.Is(err, approvals.ErrNewer),
		errors.Is(err, store.ErrRefused):
		return app.Misconfigured(err)
	case errors.Is(err, context.Canceled) && c.DryRun:
		return fmt.Errorf("migrate: %w", interrupted(err, "nothing was changed"))
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("migrate: %w", interrupted(err, goesOn))
	case c.began:
		return fmt.Errorf("%w; %s", err, goesOn)
	}
	return err
}

// goesOn is how things stand after a move that did not end.
const goesOn = "FROM is unchanged: run the same command again, which goes on where it was"

// notThere reports whether an error of opening a store says that there is none; not, that a database cannot be asked,
// whose socket is a file that is not there either.
func notThere(err error) bool { return errors.Is(err, fs.ErrNotExist) && !store.Waits(err) }

func (c *migrateCommand) printMoved(w io.Writer, r transfer.Report) error {
	from, to := store.Describe(c.From), store.Describe(c.To)
	fmt.Fprintf(w, "%s: %d records from %s", shown(to), r.Total(), shown(from))
	if r.Resumed > 0 {
		fmt.Fprintf(w, ", %d of them by an earlier attempt", r.Resumed)
	}
	fmt.Fprintln(w)
	printKinds(w, r)
	for _, t := range r.Workspaces {
		fmt.Fprintf(w, "audit: ok, workspace %s, %d entries, head %s\n", shown(string(t.Workspace)), t.Entries, t.Head)
	}
	_, err := fmt.Fprintf(w, "The two stores are the same, record for record. Set COUNTERSIGN_STORE to %s and start "+
		"the bot; start none on %s any more.\n", shown(to), shown(from))
	return err
}

func (c *migrateCommand) printPlan(w io.Writer, r transfer.Report, state string) error {
	fmt.Fprintf(w, "%s: %d records would be moved to %s. %s.\n",
		shown(store.Describe(c.From)), r.Total(), shown(store.Describe(c.To)), state)
	printKinds(w, r)
	for _, t := range r.Workspaces {
		fmt.Fprintf(w, "audit: ok, workspace %s, %d entries, head %s\n", shown(string(t.Workspace)), t.Entries, t.Head)
	}
	_, err := fmt.Fprintln(w, "Nothing was changed.")
	return err
}

// printKinds prints how many records there are of each kind that there is, and their digest where it was computed.
func printKinds(w io.Writer, r transfer.Report) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, k := range r.Kinds {
		if k.Records == 0 {
			continue
		}
		fmt.Fprintf(t, "  %d\t%s", k.Records, k.Kind)
		if k.Digest != (agent.Digest{}) {
			fmt.Fprintf(t, "\tsha256 %.16s…", k.Digest)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

func shown(name string) string { return visible.Line(name) }
