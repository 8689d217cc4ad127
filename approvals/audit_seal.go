package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/internal/fault"
)

const (
	// sealPage is how many entries of a workspace are linked into its chain in one transaction, and sealMany how many
	// when the sealer is behind by sealLatest, or stops.
	sealPage = 100
	sealMany = 500
	// While there are more the sealer rests after each round, which leaves the machine to those who wait: three times
	// as long as the round took, as long once it is behind by sealLate, and not at all once it is by sealLatest; but
	// never longer than sealEvery.
	sealLate   = 2 * time.Second
	sealLatest = 5 * time.Second
	// sealLastFor is how long the last rounds may take when a worker stops.
	sealLastFor = time.Second
)

// sealer links what is appended to the trails of all workspaces into their chains. Several replicas may do so at once.
type sealer struct {
	*Worker
	looked time.Time     // when it last looked at all workspaces
	more   []WorkspaceID // those that had more entries than a page has
	behind time.Duration // how old the oldest entry was that the last round has linked
}

// keepSealing links entries until ctx ends.
func (w *Worker) keepSealing(ctx context.Context) {
	every, idle := sealEvery, sealIdle
	if exclusive(w.store) {
		every, idle = sweepAlone, sweepAlone
	}
	s, before := &sealer{Worker: w}, 0
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		n, err := s.round(ctx, s.page())
		w.report(ctx, "seal the audit trail", err)
		switch {
		case len(s.more) > 0:
			timer.Reset(s.rest(time.Since(began)))
		case n+before > 0 || err != nil:
			timer.Reset(every)
		default:
			timer.Reset(idle)
		}
		before = n
	}
}

// page is how many entries of a workspace the next round links.
func (s *sealer) page() int {
	if s.behind > sealLatest {
		return sealMany
	}
	return sealPage
}

// rest returns how long to rest after a round that took so long, when there are more entries.
func (s *sealer) rest(took time.Duration) time.Duration {
	switch {
	case s.behind > sealLatest:
		return 0
	case s.behind > sealLate:
		return min(took, sealEvery)
	}
	return min(3*took, sealEvery)
}

// sealLast links what was appended last, when nothing more is, so that the end of the trail is not left to others, or
// to the next start, unless it takes long.
func (w *Worker) sealLast(ctx context.Context) {
	if exclusive(w.store) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sealLastFor)
	defer cancel()
	w.report(ctx, "seal the end of the audit trail", w.sealAll(ctx))
}

// sealAll links all that waits.
func (w *Worker) sealAll(ctx context.Context) error {
	s := &sealer{Worker: w}
	var all error
	for {
		_, err := s.round(ctx, sealMany)
		if all = errors.Join(all, err); len(s.more) == 0 || ctx.Err() != nil {
			return all
		}
	}
}

// round links up to so many entries of each workspace, and returns how many it has linked. A workspace whose entries
// cannot be linked keeps none of the others waiting. While some have more, it looks at the others every sealEvery.
func (s *sealer) round(ctx context.Context, page int) (n int, err error) {
	own := WithOwnTransaction(WithoutHurry(ctx))
	all := s.more
	if now := time.Now(); len(all) == 0 || now.Sub(s.looked) >= sealEvery {
		if all, err = unsealed(own, s.store); err != nil { // perhaps of one of them: each will tell
			if all, err = auditWorkspaces(own, s.store); err != nil {
				return 0, err
			}
		}
		s.looked = now
	}
	s.more, s.behind = nil, 0
	for _, ws := range all {
		entries, behind, failed := sealSome(own, s.store, ws, page)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("seal the audit trail of %s: %w", ws, failed))
			continue
		}
		n += len(entries)
		if s.behind = max(s.behind, behind); len(entries) == page {
			s.more = append(s.more, ws)
		}
		if s.sealed != nil && len(entries) > 0 {
			s.sealed(ctx, entries)
		}
	}
	return n, err
}

// sealSome links up to so many entries, and returns them and how old the first one was. The order of entries is that of
// their ids. When nobody knows whether they were linked, the next call finds out.
func sealSome(ctx context.Context, st Store, ws WorkspaceID, page int) (
	entries []*AuditEntry, behind time.Duration, err error,
) {
	err = st.Update(ctx, func(tx Tx) (err error) {
		behind = 0
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

// unsealed returns the workspaces in which entries wait: nothing is written where there are none.
func unsealed(ctx context.Context, st Store) (waiting []WorkspaceID, err error) {
	err = st.View(ctx, func(tx Tx) error {
		waiting = nil
		all, err := tx.AuditWorkspaces()
		for i := 0; i < len(all) && err == nil; i++ {
			var first []*AuditEntry
			if first, err = tx.UnsealedAudit(all[i], 1); len(first) > 0 {
				waiting = append(waiting, all[i])
			}
		}
		return err
	})
	return waiting, err
}
