package approvals

import (
	"context"
	"fmt"
	"time"

	"countersign/internal/fault"
)

const (
	// sealPage is how many entries of a workspace are linked into its chain in one transaction, and sealMany how many
	// when the sealer is behind, or stops.
	sealPage = 100
	sealMany = 500
	// While there are more the sealer rests after each round, which leaves the machine to those who wait: three times
	// as long as the round took, as long once it is behind by sealLate, and not at all once it is by sealLatest.
	sealLate   = 2 * time.Second
	sealLatest = 5 * time.Second
	// sealLastFor is how long the last rounds may take when a worker stops.
	sealLastFor = time.Second
)

// sealRound is what a round of the sealer has found.
type sealRound struct {
	linked int
	more   bool          // there may be more to link
	behind time.Duration // how old the oldest entry was
}

// rest returns how long the sealer rests after a round that took so long.
func (r *sealRound) rest(took time.Duration) time.Duration {
	switch {
	case r.behind > sealLatest:
		return 0
	case r.behind > sealLate:
		return min(took, sealEvery)
	}
	return min(3*took, sealEvery)
}

// keepSealing links what is appended to the trails of all workspaces into their chains until ctx ends. Several replicas
// may do so at once.
func (w *Worker) keepSealing(ctx context.Context) {
	every, idle := sealEvery, sealIdle
	if exclusive(w.store) {
		every, idle = sweepAlone, sweepAlone
	}
	page := sealPage
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		r, err := w.seal(ctx, page)
		w.report(ctx, "seal the audit trail", err)
		page = sealPage
		switch {
		case err == nil && r.more:
			if r.behind > sealLatest {
				page = sealMany
			}
			timer.Reset(r.rest(time.Since(began)))
		case err != nil || r.linked > 0:
			timer.Reset(every)
		default:
			timer.Reset(idle)
		}
	}
}

// sealLast links what was appended last, when nothing more is, so that the end of the trail is not left to others.
func (w *Worker) sealLast(ctx context.Context) {
	if exclusive(w.store) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	within, cancel := context.WithTimeout(ctx, sealLastFor)
	defer cancel()
	w.report(ctx, "seal the end of the audit trail", w.sealAll(within))
}

// sealAll links all that waits.
func (w *Worker) sealAll(ctx context.Context) error {
	for {
		if r, err := w.seal(ctx, sealMany); err != nil || !r.more {
			return err
		}
	}
}

// seal is a round: it links up to so many entries of each workspace.
func (w *Worker) seal(ctx context.Context, page int) (r sealRound, err error) {
	own := WithOwnTransaction(WithoutHurry(ctx))
	all, err := auditWorkspaces(own, w.store)
	if err != nil {
		return r, err
	}
	for _, ws := range all {
		entries, behind, err := sealSome(own, w.store, ws, page)
		if err != nil {
			return r, fmt.Errorf("seal the audit trail of %s: %w", ws, err)
		}
		r.linked += len(entries)
		r.more = r.more || len(entries) == page
		r.behind = max(r.behind, behind)
		if w.sealed != nil && len(entries) > 0 {
			w.sealed(ctx, entries)
		}
	}
	return r, nil
}

// sealSome links up to so many entries, and returns them and how old the first one was. The order of entries is that of
// their ids. When nobody knows whether they were linked, the next call finds out.
func sealSome(ctx context.Context, st Store, ws WorkspaceID, page int) (
	entries []*AuditEntry, behind time.Duration, err error,
) {
	if n, err := unsealed(ctx, st, ws); n == 0 || err != nil {
		return nil, 0, err
	}
	err = st.Update(ctx, func(tx Tx) (err error) {
		entries, err = tx.UnsealedAudit(ws, page)
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
