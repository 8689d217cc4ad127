package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"countersign/approvals"
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

The copy is consistent, and is verified before the command ends. To restore it, stop the bot and put the copy in
the place of the store's file.`,
		Example: "  countersign backup /backups/countersign-$(date +%F).db",
		Args:    one("the file to make", &c.File),
		RunE:    l.run(c.Run),
	}
	return cmd
}

// Run copies the store and verifies the copy.
func (c *backupCommand) Run(ctx context.Context, p *Program) error {
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
		report, err = verifyCopy(ctx, f.Name())
		return err
	})
	if err != nil {
		return fmt.Errorf("backup: %w", err)
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

func verifyCopy(ctx context.Context, path string) (approvals.AuditReport, error) {
	st, err := store.Open(ctx, "bolt:"+path, store.Config{ReadOnly: true})
	if err != nil {
		return approvals.AuditReport{}, fmt.Errorf("the copy cannot be opened: %w", err)
	}
	defer st.Close()
	return approvals.VerifyAudit(ctx, st, approvals.VerifyOptions{})
}
