package boltstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/store/seal"
	"countersign/store/storetest"
	"countersign/store/transfer"
)

// TestTransfer moves random data from memory into a file and back, plain and encrypted.
func TestTransfer(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{"plain": {}, "encrypted": {Keys: testKeys(t, "a")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			folder := t.TempDir()
			storetest.Transfer(t, 100, func(testing.TB) storetest.Moving {
				n++
				path := filepath.Join(folder, fmt.Sprint(n))
				return storetest.Moving{
					Target: func() transfer.Target { return must(OpenTarget(path, cfg)) },
					Source: func() transfer.Source { return must(OpenSource(path, cfg)) },
				}
			})
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestTransferFrozen moves a store that an earlier version has written, through memory, into a file under a key: it has
// the same entries then, and the old file has not changed.
func TestTransferFrozen(t *testing.T) {
	t.Parallel()
	old := frozenStore(t)
	mustClose(t, open(t, old)) // which brings it up to date
	before := must(os.ReadFile(old))
	memory := storetest.NewMemory()
	from := must(OpenSource(old, Config{Keys: testKeys(t, "a")}))
	defer from.Close()
	report := must(transfer.Move(t.Context(), from, memory.Transfer(), transfer.Options{}))
	path := newPath(t)
	to := must(OpenTarget(path, Config{Keys: testKeys(t, "a")}))
	must(transfer.Move(t.Context(), memory.Transfer(), to, transfer.Options{}))
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if report.Total() < 100 || len(report.Workspaces) != 2 {
		t.Errorf("moved: %+v", report)
	}
	if string(must(os.ReadFile(old))) != string(before) {
		t.Error("the old file has changed")
	}
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
	arrived := openWith(t, path, "a")
	if err := arrived.Check(t.Context()); err != nil {
		t.Error(err)
	}
	want, got := linesOf(t, open(t, old)), linesOf(t, arrived)
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Fatalf("entry %d: %.300q, want %.300q", i, got[i:min(i+1, len(got))], want[i:min(i+1, len(want))])
		}
	}
	if _, err := approvals.VerifyAudit(t.Context(), arrived, approvals.VerifyOptions{}); err != nil {
		t.Error(err)
	}
}

// linesOf returns what a store holds, but for jobs: what is due meanwhile lies elsewhere.
func linesOf(t *testing.T, s *Store) []string {
	all := strings.Split(records(t, s), "\n")
	return slices.DeleteFunc(all, func(line string) bool {
		return strings.HasPrefix(line, "scheduled") || strings.Contains(line, `\x00\x01j\x00\x01`)
	})
}

// TestHalfIsRefused opens what a move that was interrupted has left behind.
func TestHalfIsRefused(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	to := must(OpenTarget(path, Config{}))
	if err := to.Import(t.Context(), nil, transfer.Mark{Version: transfer.Version}); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]Config{
		"for work": {}, "for reading": {ReadOnly: true}, "to compact": {compacting: true},
	} {
		if _, err := Open(path, cfg); !errors.Is(err, transfer.ErrHalf) || !strings.Contains(err.Error(), "migrate") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenSource(path, Config{}); !errors.Is(err, transfer.ErrHalf) {
		t.Errorf("to move it on: %v", err)
	}
	to = must(OpenTarget(path, Config{}))
	if err := to.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	mustClose(t, open(t, path)) // control: it was the mark alone
}

// TestTargetWithRecords: a store with records of its own is not moved into, and nothing of it is changed before that is
// said: neither is it brought to a new format, nor does it get a key that whoever it belongs to has not.
func TestTargetWithRecords(t *testing.T) {
	t.Parallel()
	encrypted := newPath(t)
	s := openWith(t, encrypted, "a")
	mustUpdate(t, s, func(tx approvals.Tx) error {
		return tx.PutRun(&approvals.Run{Workspace: "T1", ID: "run_1", Status: approvals.RunQueued})
	})
	mustClose(t, s)
	for _, c := range []struct {
		name, path string
		keys       *seal.Keyring
	}{{"of an older format", frozenStore(t), nil}, {"under another key", encrypted, testKeys(t, "b", "a")}} {
		before := must(os.ReadFile(c.path))
		for _, readOnly := range []bool{true, false} {
			to, err := OpenTarget(c.path, Config{Keys: c.keys, ReadOnly: readOnly})
			if !errors.Is(err, transfer.ErrNotEmpty) || !strings.Contains(err.Error(), c.path) {
				t.Errorf("%s, read-only %v: %v, want ErrNotEmpty", c.name, readOnly, err)
			}
			if err == nil {
				to.Close()
			}
		}
		if !bytes.Equal(must(os.ReadFile(c.path)), before) {
			t.Errorf("the store %s has changed", c.name)
		}
	}
	mustClose(t, openWith(t, encrypted, "a"))
}

// TestEmptyTarget: a file with nothing in it can be moved into, which a look at it says too.
func TestEmptyTarget(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTarget(path, Config{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("to look at: %v, want ErrNotExist", err)
	}
	if err := must(OpenTarget(path, Config{})).Close(); err != nil {
		t.Error(err)
	}
}

// TestOlderProgramRefusesHalf shows what a program says that knows nothing of moves: it takes the format for a newer
// one.
func TestOlderProgramRefusesHalf(t *testing.T) {
	t.Parallel()
	if formatMoving <= formatEncrypted {
		t.Error("an older program would read it")
	}
}

// TestEveryBucketIsMoved says of each bucket how its content gets into another store.
func TestEveryBucketIsMoved(t *testing.T) {
	t.Parallel()
	moved := map[string]bool{string(bucketQueue): true, string(bucketScheduled): true, // transfer_queue.go
		string(bucketContents): true, string(bucketSessionKey): true} // with its requests; in an order of their own
	for _, from := range readouts {
		moved[string(from.bucket)] = true
	}
	for _, b := range buckets {
		follows := !b.sealed || string(b.name) == string(bucketPending) || string(b.name) == string(bucketMeta)
		if moved[string(b.name)] == (follows && string(b.name) != string(bucketRequests)) {
			t.Errorf("%s: moved %v, although it follows from others: %v", b.name, moved[string(b.name)], follows)
		}
	}
	others := []transfer.Kind{transfer.KindJob, transfer.KindNotification, transfer.KindCounter,
		transfer.KindSessionKey}
	for _, kind := range transfer.Kinds() {
		if _, ok := readouts[kind]; ok == slices.Contains(others, kind) {
			t.Errorf("%s: read by a bucket: %v", kind, ok)
		}
	}
}

// TestTransferMemory moves many records: what is held in memory meanwhile does not grow with how many there are.
func TestTransferMemory(t *testing.T) {
	if !*long {
		t.Skip("-long")
	}
	const small, large = 20_000, 1_000_000
	few, many := heapOfMove(t, small), heapOfMove(t, large)
	t.Logf("most heap in use: %d MB for %d records, %d MB for %d", few>>20, small, many>>20, large)
	if many > few+64<<20 {
		t.Errorf("%d MB for %d records, %d MB for %d", few>>20, small, many>>20, large)
	}
}

// heapOfMove moves so many records from one file into another one, and returns the most heap that was in use.
func heapOfMove(t *testing.T, n int) (most uint64) {
	t.Helper()
	path, began := newPath(t), time.Now()
	s := open(t, path)
	chunk, _ := json.Marshal(strings.Repeat("a long conversation ", 20))
	for i := 0; i < n; {
		mustUpdate(t, s, func(tx approvals.Tx) error {
			for end := i + 5000; i < end; i++ {
				run := approvals.RunID(fmt.Sprintf("run_%05d", i/100))
				err := tx.PutState("T1", run, agent.Delta{Head: chunk, From: i % 100, Count: 1, Items: chunk})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	mustClose(t, s)
	t.Logf("%d records made in %s", n, time.Since(began))
	began = time.Now()
	from, to := must(OpenSource(path, Config{})), must(OpenTarget(newPath(t), Config{}))
	defer from.Close()
	defer to.Close()
	report, err := transfer.Move(context.Background(), from, to, transfer.Options{Progress: func(transfer.Progress) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}})
	if err != nil || report.Total() < uint64(n) {
		t.Fatal(report.Total(), err)
	}
	t.Logf("moved and compared in %s", time.Since(began))
	return most
}
