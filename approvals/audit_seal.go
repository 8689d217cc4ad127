package approvals

import (
	"context"
	"fmt"
	"time"

	"countersign/internal/fault"
)

const (
	// sealPage is how many entries are linked into a chain in one transaction.
	sealPage = 100
	// sealRest is how long the sealer rests after a page, as a multiple of the time that the page took: in a rush it
	// leaves the machine to those who wait. Behind by more than sealBehind, it does not.
	sealRest   = 3
	sealBehind = 5 * time.Second
)

// seal links what was appended to the trails of all workspaces into their chains, and returns how many entries that
// were. Several replicas may do so at once. It rests between pages unless there is hurry.
func (w *Worker) seal(ctx context.Context, hurry bool) (n int, err error) {
	all, err := auditWorkspaces(ctx, w.store)
	if err != nil {
		return 0, err
	}
	for _, ws := range all {
		for {
			began := time.Now()
			entries, behind, err := sealSome(ctx, w.store, ws)
			if err != nil {
				return n, fmt.Errorf("seal the audit trail of %s: %w", ws, err)
			}
			n += len(entries)
			if w.sealed != nil && len(entries) > 0 {
				w.sealed(ctx, entries)
			}
			if len(entries) < sealPage {
				break
			}
			if hurry || behind > sealBehind {
				continue
			}
			if err := rest(ctx, sealRest*time.Since(began)); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// sealLast links what was appended last, when nothing more is, so that the end of the trail is not left to others.
func (w *Worker) sealLast(ctx context.Context) {
	if exclusive(w.store) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sealEvery)
	defer cancel()
	_, err := w.seal(ctx, true)
	w.report(ctx, "seal the end of the audit trail", err)
}

// sealSome links up to sealPage entries, and returns them and how old the first one was. The order of entries is that
// of their ids. When nobody knows whether they were linked, the next call finds out.
func sealSome(ctx context.Context, st Store, ws WorkspaceID) (
	entries []*AuditEntry, behind time.Duration, err error,
) {
	if n, err := unsealed(ctx, st, ws); n == 0 || err != nil {
		return nil, 0, err
	}
	err = st.Update(ctx, func(tx Tx) (err error) {
		entries, err = tx.UnsealedAudit(ws, sealPage)
		if err != nil || len(entries) == 0 {
			return err
		}
		behind = tx.Now().Sub(entries[0].At)
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
	if err != nil {
		return nil, 0, err
	}
	return entries, behind, nil
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
