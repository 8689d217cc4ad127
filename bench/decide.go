package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"countersign/approvals"
)

// benchDecide compares complete decisions (rights, status, digest, decision, audit link, outbox, job in one
// transaction) with the barest durable write there is: one put and one commit of bbolt.
func benchDecide(ctx context.Context, o options) error {
	for _, width := range []int{1, 64} {
		total, repetitions := o.scale(2000*min(width, 8), 200), o.scale(3, 1)
		var ours, raw, batch, tuned []Figures
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
			if f, err = rawCommits(ctx, "bbolt Batch, default settings", dir, min(total, 400*width), width, (*bbolt.DB).Batch); err != nil {
				return err
			}
			batch = append(batch, f)
			if f, err = rawCommits(ctx, fittedBatch, dir, total, width, (*bbolt.DB).Batch); err != nil {
				return err
			}
			tuned = append(tuned, f)
		}
		fmt.Printf("decisions at %d at once: %.0f %% of raw Update, %.0f %% of default Batch, %.0f %% of fitted Batch (per second)\n\n", width,
			100*median(ours).PerSecond/median(raw).PerSecond, 100*median(ours).PerSecond/median(batch).PerSecond,
			100*median(ours).PerSecond/median(tuned).PerSecond)
		printFigures(fmt.Sprintf("%d at once", width), ours, raw, batch, tuned)
	}
	return nil
}

// fittedBatch names the measurement in which a batch is exactly as large as the load, the best that Batch can do.
const fittedBatch = "bbolt Batch, size fitted to the load"

func decisions(ctx context.Context, dir string, total, width int) (Figures, error) {
	rig, err := newServiceRig(dir, nil)
	if err != nil {
		return Figures{}, err
	}
	defer rig.close()
	ids, err := rig.seed(ctx, total+min(2*width, 64))
	if err != nil {
		return Figures{}, err
	}
	var next atomic.Int64
	return measure(ctx, "Service.Decide", total, width, func(ctx context.Context, _ int) error {
		r := ids[next.Add(1)-1]
		_, err := rig.service.Decide(ctx, approvals.Decision{
			Workspace: benchWorkspace, Request: r.ID, By: benchApprover, Verdict: approvals.Approve, Digest: r.Digest, Via: "button",
		})
		return err
	})
}

func rawCommits(ctx context.Context, name, dir string, total, width int, commit func(*bbolt.DB, func(*bbolt.Tx) error) error) (Figures, error) {
	db, err := bbolt.Open(filepath.Join(dir, "raw-"+strconv.Itoa(len(name))+".db"), 0o600, nil)
	if err != nil {
		return Figures{}, err
	}
	defer db.Close()
	if name == fittedBatch {
		db.MaxBatchSize, db.MaxBatchDelay = width, time.Millisecond
	}
	bucket, value := []byte("b"), make([]byte, 1024)
	if err := db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucketIfNotExists(bucket); return err }); err != nil {
		return Figures{}, err
	}
	return measure(ctx, name, total, width, func(_ context.Context, i int) error {
		return commit(db, func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put([]byte(strconv.Itoa(i)), value) })
	})
}
