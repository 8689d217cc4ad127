package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"countersign/agent"
	"countersign/approvals"
)

// benchDecide compares complete decisions (rights, status, digest, decision, audit link, outbox, job in one
// transaction) with the barest durable write there is: one put and one commit of bbolt.
func benchDecide(ctx context.Context, o options) error {
	for _, width := range []int{1, 64} {
		total, repetitions := o.scale(2000*min(width, 8), 200), o.scale(3, 1)
		var ours, raw, grouped, scattered, batch, tuned []Figures
		for n := range repetitions {
			dir := filepath.Join(o.dir, fmt.Sprintf("decide-%d-%d", width, n))
			f, err := decisions(ctx, dir, total, width)
			if err != nil {
				return err
			}
			ours = append(ours, f)
			if f, err = rawCommits(ctx, "bbolt Update, one put", dir, total, width, (*bbolt.DB).Update); err != nil {
				return err
			}
			raw = append(raw, f)
			if f, err = rawCommits(ctx, groupCommit, dir, total, width, nil); err != nil {
				return err
			}
			grouped = append(grouped, f)
			if f, err = rawCommits(ctx, groupScattered, dir, total, width, nil); err != nil {
				return err
			}
			scattered = append(scattered, f)
			few := min(total, 400*width)
			f, err = rawCommits(ctx, "bbolt Batch, default settings", dir, few, width, (*bbolt.DB).Batch)
			if err != nil {
				return err
			}
			batch = append(batch, f)
			if f, err = rawCommits(ctx, fittedBatch, dir, total, width, (*bbolt.DB).Batch); err != nil {
				return err
			}
			tuned = append(tuned, f)
		}
		share := func(of []Figures) float64 { return 100 * median(ours).PerSecond / median(of).PerSecond }
		fmt.Printf("decisions at %d at once: %.0f %% of raw Update, %.0f %% of raw group commit (%.0f %% of one that "+
			"replaces records), %.0f %% of default Batch, %.0f %% of fitted Batch (per second)\n\n",
			width, share(raw), share(grouped), share(scattered), share(batch), share(tuned))
		printFigures(fmt.Sprintf("%d at once", width), ours, raw, grouped, scattered, batch, tuned)
	}
	return nil
}

const (
	// groupCommit names the measurement of puts that share a commit with whoever waits, as the store's do.
	groupCommit = "bbolt, group commit, one put each"
	// groupScattered names the same with puts that replace records here and there, as decisions do, where the others
	// append.
	groupScattered = "bbolt, group commit, one record replaced each"
	// fittedBatch names the measurement in which a batch is exactly as large as the load, the best that Batch can do.
	fittedBatch = "bbolt Batch, size fitted to the load"
)

func decisions(ctx context.Context, dir string, total, width int) (Figures, error) {
	rig, err := newServiceRig(dir, nil)
	if err != nil {
		return Figures{}, err
	}
	defer rig.close()
	requests, err := rig.seed(ctx, total+min(2*width, 64), benchRequirement)
	if err != nil {
		return Figures{}, err
	}
	type shown struct { // what a click brings back; the records are the store's
		id     approvals.RequestID
		digest agent.Digest
	}
	clicks := make([]shown, len(requests))
	for i, r := range requests {
		clicks[i] = shown{r.ID, r.Digest}
	}
	requests = nil
	var next atomic.Int64
	return measure(ctx, "Service.Decide", total, width, func(ctx context.Context, _ int) error {
		c := clicks[next.Add(1)-1]
		_, err := rig.service.Decide(ctx, approvals.Decision{
			Workspace: benchWorkspace, Request: c.id, By: benchApprover, Verdict: approvals.Approve, Digest: c.digest,
			Via: "button",
		})
		return err
	})
}

func rawCommits(
	ctx context.Context, name, dir string, total, width int, commit func(*bbolt.DB, func(*bbolt.Tx) error) error,
) (Figures, error) {
	db, err := bbolt.Open(filepath.Join(dir, "raw-"+strconv.Itoa(len(name))+".db"), 0o600, nil)
	if err != nil {
		return Figures{}, err
	}
	defer db.Close()
	if name == fittedBatch {
		db.MaxBatchSize, db.MaxBatchDelay = width, time.Millisecond
	}
	if name == groupCommit || name == groupScattered {
		g := newGroup(db, width)
		defer g.close()
		commit = g.update
	}
	bucket, value := []byte("b"), make([]byte, 1024)
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	if err != nil {
		return Figures{}, err
	}
	key := func(i int) []byte { return []byte(strconv.Itoa(i)) }
	if name == groupScattered {
		key = func(i int) []byte { // in no order
			sum := sha256.Sum256([]byte(strconv.Itoa(i)))
			return sum[:16]
		}
		if err := fill(db, bucket, value, total, key); err != nil {
			return Figures{}, err
		}
	}
	return measure(ctx, name, total, width, func(_ context.Context, i int) error {
		return commit(db, func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put(key(i), value) })
	})
}

// fill puts the records that are to be replaced.
func fill(db *bbolt.DB, bucket, value []byte, total int, key func(int) []byte) error {
	return db.Update(func(tx *bbolt.Tx) error {
		for i := range total {
			if err := tx.Bucket(bucket).Put(key(i), value); err != nil {
				return err
			}
		}
		return nil
	})
}
