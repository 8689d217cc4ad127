package boltstore

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/approvals"
)

// holdOpen opens a store, says so, and waits to be killed.
func holdOpen(args []string) error {
	s, err := Open(args[0], Config{})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("open")
	_, err = os.Stdin.Read(make([]byte, 1)) // until it is killed
	return err
}

func TestSecondProcess(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	cmd, out := startChild(t, "hold", path)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	for _, cfg := range []Config{{}, {ReadOnly: true}} {
		_, err := Open(path, cfg)
		text := fmt.Sprint(err)
		if !errors.Is(err, ErrInUse) || !strings.Contains(text, path) || !strings.Contains(text, "COUNTERSIGN_STORE") {
			t.Errorf("open: %v", err)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	open(t, path) // the lock has gone with the process
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	at := func(name string, data []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fifo := filepath.Join(folder, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		cfg        Config
		want       error
		says       string
	}{
		{"folder", folder, Config{}, ErrNotStore, "no regular file"},
		{"fifo", fifo, Config{}, ErrNotStore, "no regular file"},
		{"no such folder", filepath.Join(folder, "none", "store.db"), Config{}, fs.ErrNotExist, "create it first"},
		{"text", at("text", bytes.Repeat([]byte("no store\n"), 5000)), Config{}, ErrNotStore, ""},
		{"one byte", at("byte", []byte{1}), Config{}, ErrNotStore, ""},
		{"zeros", at("zeros", make([]byte, 1<<16)), Config{}, ErrNotStore, ""},
		{"empty and read-only", at("empty", nil), Config{ReadOnly: true}, ErrNotStore, "empty"},
		{"missing and read-only", filepath.Join(folder, "missing"), Config{ReadOnly: true}, fs.ErrNotExist, ""},
		{"another program's", foreignBolt(t), Config{}, ErrNotStore, "another program"},
		{"newer", storeOfFormat(t, formatEncrypted+1), Config{}, ErrNewer, "upgrade"},
		{"too old", storeOfFormat(t, oldestFormat-1), Config{}, ErrOlder, "name a new file"},
		{"too old and read-only", storeOfFormat(t, oldestFormat-1), Config{ReadOnly: true},
			ErrOlder, "name a new file"},
		{"older and read-only", frozenStore(t), Config{ReadOnly: true}, ErrOlder, "start the bot once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := regular(c.path)
			s, err := Open(c.path, c.cfg)
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), c.path) {
				t.Errorf("got %v, want %v that says %q", err, c.want, c.says)
			}
			if !bytes.Equal(before, regular(c.path)) {
				t.Error("the file was changed")
			}
		})
	}
}

// regular returns what a regular file holds.
func regular(path string) []byte {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, _ := os.ReadFile(path)
	return data
}

func foreignBolt(t *testing.T) string {
	path := newPath(t)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte("theirs"))
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func storeOfFormat(t *testing.T, version int) string {
	path := newPath(t)
	s := open(t, path)
	err := s.update(t.Context(), func(tx *tx) error { return tx.putFormat(version) })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpenEmptyFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if err := s.Update(t.Context(), put(1)); err != nil {
		t.Error(err)
	}
}

func TestOpenUnwritable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the superuser may write everything")
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "store.db")
	if _, err := Open(path, Config{}); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

func TestNewFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
	if !s.Exclusive() {
		t.Error("an open store is exclusive")
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path)
	if err := errors.Join(s.Update(t.Context(), put(1)), s.Close()); err != nil {
		t.Fatal(err)
	}
	var readers []*Store
	for range 2 { // several may read
		r, err := Open(path, Config{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		readers = append(readers, r)
	}
	for _, r := range readers {
		if !has(t, r, 1) || r.Exclusive() {
			t.Error("cannot read, or takes itself for the only one")
		}
		if err := r.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if err := r.Update(t.Context(), put(2)); !errors.Is(err, ErrReadOnly) {
			t.Errorf("update: %v", err)
		}
		if err := r.Dispatch(t.Context(), nil); !errors.Is(err, ErrReadOnly) {
			t.Errorf("dispatch: %v", err)
		}
	}
}

// TestBackup copies a store while others write to it.
func TestBackup(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	for n := range 50 {
		if err := s.Update(t.Context(), put(n)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wrote := make(chan error)
	go func() {
		var err error
		for n := 50; ctx.Err() == nil && err == nil; n++ {
			err = s.Update(t.Context(), put(n))
		}
		wrote <- err
	}()
	for range 5 {
		path := newPath(t)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := s.Backup(t.Context(), f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if info, _ := os.Stat(path); info.Size() != n {
			t.Errorf("%d bytes, says %d", info.Size(), n)
		}
		restored := open(t, path)
		if err := restored.Check(t.Context()); err != nil || !has(t, restored, 49) {
			t.Errorf("backup: %v", err)
		}
	}
	cancel()
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	done, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.Backup(done, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled backup: %v", err)
	}
}

// TestCheckIndexes damages indexes in ways that leave the file whole.
func TestCheckIndexes(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*tx) error{
		"entry missing":  func(t *tx) error { return t.drop(bucketPending, key("T1", "req_1", "run_1")) },
		"entry too many": func(t *tx) error { return t.putRaw(bucketPending, key("T1", "req_2", "run_1"), nil) },
		"request lost":   func(t *tx) error { return t.drop(bucketRequests, key("T1", "req_1", "run_1")) },
		"content lost":   func(t *tx) error { return t.drop(bucketContents, key("T1", "run_1", "req_1")) },
		"run not found":  func(t *tx) error { return t.drop(bucketQueue, key("T1", "run_1", partRun)) },
		"job not due":    func(t *tx) error { return t.dropAll(bucketScheduledDue, nil, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, newPath(t))
			err := s.Update(t.Context(), func(tx approvals.Tx) error {
				return errors.Join(tx.PutRequest(request("req_1", "run_1", approvals.RequestPending)),
					tx.PutRun(&approvals.Run{Workspace: "T1", ID: "run_1", Status: approvals.RunQueued}),
					tx.Enqueue(approvals.Job{
						Workspace: "T1", Kind: approvals.JobRun, ID: "run_1", Due: time.Now().Add(time.Hour),
					}))
			})
			if err := errors.Join(err, s.Check(t.Context())); err != nil {
				t.Fatal(err)
			}
			if err := s.update(t.Context(), damage); err != nil {
				t.Fatal(err)
			}
			if err := s.Check(t.Context()); !errors.Is(err, ErrDamaged) {
				t.Errorf("check: %v, want ErrDamaged", err)
			}
		})
	}
}

// TestNewerRecord reads a record that a newer version of the program has written, as after a release was rolled back:
// it is not taken for damage, and everything else goes on.
func TestNewerRecord(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	k := key("T1", "run_1", "newer")
	err := s.update(t.Context(), func(tx *tx) error {
		fields := reflect.TypeFor[approvals.EffectRecord]().NumField()
		return errors.Join(put(1)(tx), tx.putRaw(bucketEffects, k, binary.AppendUvarint(nil, uint64(fields+1))))
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func(tx approvals.Tx) error {
		_, err := tx.Effect("T1", "run_1", "newer")
		return err
	}
	for what, err := range map[string]error{"view": s.View(t.Context(), read), "update": s.Update(t.Context(), read)} {
		if !errors.Is(err, ErrNewer) || errors.Is(err, ErrDamaged) ||
			strings.Contains(err.Error(), "backup in its place") {
			t.Errorf("%s: %v, want ErrNewer", what, err)
		}
		if !strings.Contains(err.Error(), s.Path()) || !strings.Contains(err.Error(), "nothing is lost") {
			t.Errorf("%s: %v does not name the file or does not reassure", what, err)
		}
	}
	if err := s.Update(t.Context(), put(2)); err != nil || !has(t, s, 1) || !has(t, s, 2) {
		t.Errorf("afterwards: %v", err)
	}
	control := s.update(t.Context(), func(tx *tx) error { return tx.store(bucketEffects, k, []byte("damaged")) })
	if err := s.View(t.Context(), read); control != nil || !errors.Is(err, ErrDamaged) {
		t.Errorf("control: %v, %v, want ErrDamaged", control, err)
	}
}
