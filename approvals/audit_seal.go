package approvals

import (
	"context"
	"fmt"

	"countersign/internal/fault"
)

// sealPage is how many entries are linked into a chain in one transaction.
const sealPage = 500

// seal links what was appended to the trails of all workspaces into their chains. Several replicas may do so at once.
func (w *Worker) seal(ctx context.Context) error {
	all, err := auditWorkspaces(ctx, w.store)
	if err != nil {
		return err
	}
	for _, ws := range all {
		for {
			n, err := sealSome(ctx, w.store, ws)
			if err != nil {
				return fmt.Errorf("seal the audit trail of %s: %w", ws, err)
			}
			if n < sealPage {
				break
			}
		}
	}
	return nil
}

// sealSome links up to sealPage entries and returns how many there were. The order of entries is that of their ids.
func sealSome(ctx context.Context, st Store, ws WorkspaceID) (n int, err error) {
	if n, err = unsealed(ctx, st, ws); n == 0 || err != nil {
		return 0, err
	}
	err = st.Update(ctx, func(tx Tx) error {
		entries, err := tx.UnsealedAudit(ws, sealPage)
		n = len(entries)
		if err != nil || n == 0 {
			return err
		}
		head, err := auditHead(tx, ws)
		if err != nil {
			return err
		}
		link(head, entries)
		if err := fault.Error("audit.seal"); err != nil {
			return err
		}
		return tx.SealAudit(entries...)
	})
	return n, err
}

// unsealed returns how many entries wait, up to one: nothing is written when there are none.
func unsealed(ctx context.Context, st Store, ws WorkspaceID) (n int, err error) {
	err = st.View(ctx, func(tx Tx) error {
		entries, err := tx.UnsealedAudit(ws, 1)
		n = len(entries)
		return err
	})
	return n, err
}
