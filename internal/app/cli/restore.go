package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"countersign/internal/app"
	"countersign/internal/control"
	"countersign/internal/lineage"
	"countersign/internal/visible"
	"countersign/store"
)

type restoreCommand struct {
	File  string
	Force bool
}

// command is the command line's view of it.
func (c *restoreCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of the store, while no bot runs",
		Long: `Put FILE, which backup has made, in the place of the store that COUNTERSIGN_STORE names.

No bot may run on the store. FILE is copied and checked first: every checksum, the audit trail, and the records
against it; a file that does not hold up is not taken, and FILE itself is only read. Where there is a store already,
--force is needed, and the file that was there is kept beside it, with .before-restore- and the time behind its name.

The store is then as it was when the backup was made, and nothing that happened since is known to it: what was decided
since is asked again, and a call that was approved before and carried out since may be carried out again. The command
says what is under way in the store. Before the bot is started again, commands show it in full:

  countersign approvals list --status all
  countersign audit verify --head HASH    # a head that was kept since is not there any more`,
		Example: `  countersign restore /backups/countersign-2026-11-22.db
  countersign restore --force /backups/countersign-2026-11-22.db`,
		Args: one("the file to restore", &c.File),
		RunE: l.run(c.Run),
	}
	cmd.Flags().BoolVar(&c.Force, "force", false, "replace the store that is there, and keep its file")
	return cmd
}

// Run checks a copy of the backup and puts it in the place of the store.
func (c *restoreCommand) Run(ctx context.Context, p *Program) error {
	cfg, err := app.ReadConfig()
	if err != nil {
		return err
	}
	if err := cfg.Check(); err != nil {
		return err
	}
	if err := fileOnly(cfg, "restore", insteadOfRestore); err != nil {
		return err
	}
	if err := c.checkFile(); err != nil {
		return app.Misconfigured(fmt.Errorf("restore: %w", err))
	}
	aside, err := c.admit(ctx, cfg.StorePlace())
	if err != nil {
		return err
	}
	restored, err := c.replace(ctx, p, cfg.StorePath(), aside)
	if err != nil {
		return fmt.Errorf("restore: %w", interrupted(err, "the store is as it was"))
	}
	return restored.print(p.Stdout, cfg.StorePath(), c.File, aside)
}

// checkFile says what is wrong with the file to restore before anything is done.
func (c *restoreCommand) checkFile() error {
	const name = "name a file that \"countersign backup\" has made"
	info, err := os.Stat(c.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s; %s", c.File, name)
	case err != nil:
		return fmt.Errorf("%w; %s", err, name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file; %s", c.File, name)
	}
	f, err := os.Open(c.File)
	if err != nil {
		return fmt.Errorf("this user must be able to read %s: %w", c.File, err)
	}
	return f.Close()
}

// admit says whether the store may be replaced, and how the file that is there will be called; empty: none is there.
func (c *restoreCommand) admit(ctx context.Context, at store.Place) (aside string, err error) {
	path := at.File
	if err := lineage.CheckSelf(); err != nil {
		return "", fmt.Errorf("restore: %w: %w", control.ErrNoOperator, err)
	}
	bot, err := control.Dial(ctx, path)
	switch {
	case err == nil:
		bot.Close()
		return "", fmt.Errorf("restore: a bot runs on %s; stop it first", path)
	case !errors.Is(err, control.ErrNotRunning):
		return "", fmt.Errorf("restore: %w", err)
	}
	there, err := os.Stat(path)
	replaceable := err == nil && there.Mode().IsRegular() // whatever it holds
	if err := store.CheckPlace(at); err != nil && !(errors.Is(err, store.ErrNotStore) && replaceable) {
		return "", fmt.Errorf("restore: %w", app.ExplainStore(err))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("restore: %w", err)
	}
	if file, err := os.Stat(c.File); err == nil && os.SameFile(there, file) {
		return "", app.Misconfigured(fmt.Errorf("restore: %s is the store itself", c.File))
	}
	if !c.Force {
		return "", app.Misconfigured(fmt.Errorf("restore: there is a store at %s; --force replaces it and keeps its "+
			"file", path))
	}
	file, err := filepath.EvalSymlinks(path) // a link may lead to another disk
	if err != nil {
		return "", fmt.Errorf("restore: %w", err)
	}
	return file + ".before-restore-" + time.Now().UTC().Format("20060102T150405.000Z"), nil
}

// replace copies the backup beside the store, checks the copy and exchanges the files.
func (c *restoreCommand) replace(ctx context.Context, p *Program, path, aside string) (*restored, error) {
	folder, err := store.Beside(path)
	if err != nil {
		return nil, err
	}
	f, err := store.CreateTemp(folder)
	if err != nil {
		return nil, unmade(filepath.Join(folder, filepath.Base(path)), err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := errors.Join(copyFile(ctx, f, c.File), f.Sync()); err != nil {
		return nil, unwritten(f, path, "the store is as it was", err)
	}
	found, err := p.inspect(ctx, f)
	if err != nil {
		return nil, &untaken{file: c.File, copied: f.Name(), err: err}
	}
	return found, app.ExplainStore(store.Replace(path, f.Name(), aside))
}

// untaken is why a backup is not restored, in words about the backup: its copy is gone when they are read.
type untaken struct {
	file, copied string
	err          error
}

func (e *untaken) Error() string {
	why := strings.ReplaceAll(e.err.Error(), e.copied, e.file)
	switch {
	case errors.Is(e.err, store.ErrPlain):
		why = "it is not encrypted, although COUNTERSIGN_ENCRYPTION_KEYS is set: restore it without that variable, " +
			"then run \"countersign compact\" with it, which encrypts all of it"
	case errors.Is(e.err, store.ErrDamaged):
		why = strings.ReplaceAll(why, store.MendDamaged, "; take another backup")
	}
	return e.file + " is not taken: " + why
}

func (e *untaken) Unwrap() error { return e.err }

// copyFile writes the file at path to f, until ctx ends.
func copyFile(ctx context.Context, f io.Writer, path string) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(f, readerUntil{ctx, from})
	return err
}

// readerUntil reads until ctx ends.
type readerUntil struct {
	ctx context.Context
	io.Reader
}

func (r readerUntil) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// print says what the store is now, and what will happen.
func (r *restored) print(w io.Writer, path, file, aside string) error {
	_, err := fmt.Fprintf(w, "%s is as %s has it: %d audit entries verified", visible.Line(path), visible.Line(file),
		r.entries)
	if err == nil && !r.newest.IsZero() {
		_, err = fmt.Fprintf(w, ", the newest of %s", r.newest.UTC().Format(time.RFC3339))
	}
	lines := r.lines()
	if aside != "" {
		lines = append(lines, "The file that was there is kept: "+visible.Line(aside))
	}
	fmt.Fprintln(w)
	for _, line := range lines {
		if err == nil {
			_, err = fmt.Fprintln(w, line)
		}
	}
	return err
}
