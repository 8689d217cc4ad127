package approvals

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"countersign/internal/fault"
)

// When checkpoints are made: at the start, at the end, and when so many entries were added since the last one, or when
// it is so old and there is anything new.
const (
	CheckpointEntries  = 1000
	CheckpointInterval = 10 * time.Minute
)

const (
	// checkpointPoll is how often it is looked whether a checkpoint is due.
	checkpointPoll = 15 * time.Second
	// checkpointRest is the longest pause after checkpoints that could not be kept.
	checkpointRest = 5 * time.Minute
)

// CheckpointSink keeps checkpoints where whoever can write the store cannot change them.
type CheckpointSink interface {
	// KeepCheckpoint returns nil once the checkpoint is kept for good. The same one may come again after an error.
	KeepCheckpoint(ctx context.Context, c *Checkpoint) error
}

// CheckpointWriter makes checkpoints of the audit trails of a store. It never reads the checkpoints that it has made,
// and nothing waits for it. Where several processes use the store, one of them makes each: they take turns, and each
// refers to the one before it that the same process has made. One that a process was about to keep when it died is made
// by another one, or after the next start; now and then there are two of the same entry then. All fields are needed but
// Kept.
type CheckpointWriter struct {
	Store  Store
	Key    ed25519.PrivateKey
	Sink   CheckpointSink
	Logger *slog.Logger
	// Kept is told of every try to keep a checkpoint, and what came of it.
	Kept func(c *Checkpoint, err error)

	last map[WorkspaceID]keptCheckpoint
}

// keptCheckpoint is the newest checkpoint of a workspace that the sink has, and when it got it, on this machine's
// clock.
type keptCheckpoint struct {
	checkpoint *Checkpoint
	at         time.Time
}

// Run makes checkpoints until ctx ends. One that cannot be kept raises an alert and is made anew later, with what was
// added since.
func (w *CheckpointWriter) Run(ctx context.Context) error {
	failures := 0
	for {
		if err := w.write(ctx, due, checkpointTurns); err == nil {
			failures = 0
		} else if ctx.Err() == nil {
			failures++
			w.Logger.Error("ALERT: a checkpoint of the audit trail is not kept; it is tried again. "+
				"Until then the end of the trail is not proven", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(checkpointPoll<<min(failures, 8), checkpointRest)):
		}
	}
}

// Finish makes checkpoints of what was added since the last ones. It is for the end of the process, when Run has
// returned.
func (w *CheckpointWriter) Finish(ctx context.Context) {
	added := func(head *AuditEntry, last keptCheckpoint) bool { return head.Seq > last.seq() }
	err := w.write(ctx, added, func(head *AuditEntry, _ time.Time, _ keptCheckpoint) [][]string {
		return [][]string{{headTurn(head)}}
	})
	if err != nil {
		w.Logger.Error("ALERT: the last checkpoint of the audit trail is not kept; the next start makes one",
			"error", err)
	}
}

// due reports whether it is time for a checkpoint.
func due(head *AuditEntry, last keptCheckpoint) bool {
	added := head.Seq - last.seq()
	return last.checkpoint == nil || added >= CheckpointEntries ||
		added > 0 && time.Since(last.at) >= CheckpointInterval
}

func (k keptCheckpoint) seq() uint64 {
	if k.checkpoint == nil {
		return 0
	}
	return k.checkpoint.Seq
}

// write makes a checkpoint of every chain for which one is wanted, if it is this process's turn. An error with one
// workspace leaves the others alone.
func (w *CheckpointWriter) write(
	ctx context.Context, wanted func(head *AuditEntry, last keptCheckpoint) bool,
	takes func(head *AuditEntry, now time.Time, last keptCheckpoint) [][]string,
) error {
	heads, now, err := w.heads(ctx)
	if err != nil {
		return err
	}
	if w.last == nil {
		w.last = make(map[WorkspaceID]keptCheckpoint)
	}
	var errs []error
	for _, head := range heads {
		last := w.last[head.Workspace]
		if !wanted(head, last) {
			continue
		}
		turn, err := w.take(ctx, head.Workspace, takes(head, now, last))
		if err != nil || turn == nil {
			errs = append(errs, err)
			continue
		}
		if err := fault.Error("checkpoint.sign"); err != nil {
			return err
		}
		c := NewCheckpoint(head, now, last.checkpoint, w.Key)
		err = w.Sink.KeepCheckpoint(ctx, c)
		if w.Kept != nil {
			w.Kept(c, err)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("keep a checkpoint of %s: %w", head.Workspace, err))
			after := context.WithoutCancel(ctx) // another process may be able to keep it
			errs = append(errs, giveTurn(after, w.Store, head.Workspace, turn...))
			continue
		}
		w.last[head.Workspace] = keptCheckpoint{c, time.Now()}
		if err := keepTurn(context.WithoutCancel(ctx), w.Store, head.Workspace, turn...); err != nil {
			w.Logger.Warn("a checkpoint of the audit trail is kept, and that is not recorded: another process may "+
				"make it once more", "error", err)
		}
	}
	return errors.Join(errs...)
}

// take takes the first of the turns that is free; nil: none is.
func (w *CheckpointWriter) take(ctx context.Context, ws WorkspaceID, turns [][]string) ([]string, error) {
	for _, turn := range turns {
		if mine, err := beginTurn(ctx, w.Store, ws, turn...); err != nil || mine {
			return turn, err
		}
	}
	return nil, nil
}

// checkpointTurns are the turns of which any one lets a process make a checkpoint of the chain up to head, each with
// its keys: nobody has made one of the same head, and none in this interval, or of as many entries. How many entries a
// process has not made a checkpoint of says nothing of what others have made: beside the second there is always the
// first.
func checkpointTurns(head *AuditEntry, now time.Time, last keptCheckpoint) [][]string {
	turns := [][]string{{headTurn(head), turnOf("checkpoint", now, CheckpointInterval)}}
	if head.Seq-last.seq() >= CheckpointEntries {
		behind := fmt.Sprintf("turn checkpoint behind %d", head.Seq/CheckpointEntries*CheckpointEntries)
		turns = append(turns, []string{headTurn(head), behind})
	}
	return turns
}

func headTurn(head *AuditEntry) string { return fmt.Sprintf("turn checkpoint of %d", head.Seq) }

// heads reads the newest entry of every chain.
func (w *CheckpointWriter) heads(ctx context.Context) (heads []*AuditEntry, now time.Time, err error) {
	err = w.Store.View(ctx, func(tx Tx) error {
		heads, now = nil, tx.Now()
		all, err := tx.AuditWorkspaces()
		if err != nil {
			return err
		}
		for _, ws := range all {
			head, err := tx.AuditHead(ws)
			if errors.Is(err, ErrNotFound) {
				continue // nothing of it is linked yet
			}
			if err != nil {
				return err
			}
			heads = append(heads, head)
		}
		return nil
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read the heads of the audit trails: %w", err)
	}
	return heads, now, nil
}
