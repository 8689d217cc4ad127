package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/internal/app"
	"countersign/store"
)

type backupCommand struct {
	File string
}

// command is the command line's view of it.
func (c *backupCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the store to a file, also while the bot runs",
		Long: `Copy the store to FILE, which must not exist, also while the bot runs.

The copy is consistent, and is verified before the command ends. restore puts it back. The copy of an encrypted store
is encrypted as the store is: to verify it, and later to use it, takes the same COUNTERSIGN_ENCRYPTION_KEYS.

A store in PostgreSQL is copied with the database's own tools, such as pg_dump.`,
		Example: "  countersign backup /backups/countersign-$(date +%F).db",
		Args:    one("the file to make", &c.File),
		RunE:    l.run(c.Run),
	}
	return cmd
}

// Run copies the store and verifies the copy.
func (c *backupCommand) Run(ctx context.Context, p *Program) error {
	cfg, _, err := p.storeConfig()
	if err != nil {
		return err
	}
	if err := fileOnly(cfg, "backup", insteadOfBackup); err != nil {
		return err
	}
	desk, err := p.desk(ctx)
	if err != nil {
		return err
	}
	defer desk.Close()
	var report approvals.AuditReport
	err = writeNew(c.File, func(f *os.File) error {
		if err := desk.Backup(ctx, f); err != nil {
			return err
		}
		report, err = p.verifyCopy(ctx, f.Name())
		return err
	})
	if err != nil {
		return fmt.Errorf("backup: %w", interrupted(err, "no file was made"))
	}
	info, err := os.Stat(c.File)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	var entries uint64
	for _, ws := range report.Workspaces {
		entries += ws.Entries
	}
	_, err = fmt.Fprintf(p.Stdout, "%s: %d bytes, %d audit entries verified\n", c.File, info.Size(), entries)
	return err
}

func (p *Program) verifyCopy(ctx context.Context, path string) (approvals.AuditReport, error) {
	st, err := p.openCopy(ctx, path, true)
	if err != nil {
		return approvals.AuditReport{}, err
	}
	defer st.Close()
	return approvals.VerifyAudit(ctx, st, approvals.VerifyOptions{})
}

// openCopy opens a backup with the keys of the environment.
func (p *Program) openCopy(ctx context.Context, path string, readOnly bool) (approvals.Store, error) {
	_, c, err := p.storeConfig()
	if err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, "bolt:"+path, store.Config{ReadOnly: readOnly, Keys: c.Keys})
	switch {
	case errors.Is(err, store.ErrNotStore), errors.Is(err, store.ErrPlace), errors.Is(err, store.ErrOlder):
		return nil, fmt.Errorf("the copy cannot be verified: %w", err) // COUNTERSIGN_STORE names another file
	case err != nil:
		return nil, app.ExplainStore(fmt.Errorf("the copy cannot be verified: %w", err))
	}
	return st, nil
}
