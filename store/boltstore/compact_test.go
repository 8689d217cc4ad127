package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
)

// openWith opens a store with keys.
func openWith(t testing.TB, path string, ids ...string) *Store {
	t.Helper()
	s, err := Open(path, Config{Keys: testKeys(t, ids...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustUpdate(t testing.TB, s *Store, fn func(approvals.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// records returns all that a store holds: bucket, key, payload and the sequences, one a line.
func records(t testing.TB, s *Store) string {
	t.Helper()
	var all strings.Builder
	err := s.view(t.Context(), func(t *tx) (err error) {
		defer t.end(t.begin(), &err)
		for _, b := range buckets {
			if string(b.name) == string(bucketMeta) {
				continue
			}
			fmt.Fprintf(&all, "%s %d\n", b.name, t.btx.Bucket(b.name).Sequence())
			err := t.scan(b.name, nil, nil, func(k, v []byte) (bool, error) {
				if b.sealed {
					if v, err = t.raw(b.name, k, v); err != nil {
						return false, err
					}
				}
				fmt.Fprintf(&all, "%s %q %q\n", b.name, k, v)
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// sampleFile writes the store that sample makes and returns its path and records.
func sampleFile(t testing.TB) (path, all string) {
	t.Helper()
	path = newPath(t)
	if err := os.WriteFile(path, sample(t), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	all = records(t, s)
	mustClose(t, s)
	return path, all
}

// TestCompact deletes most of a store and compacts it: the file is much smaller, and holds what it held.
func TestCompact(t *testing.T) {
	t.Parallel()
	path, _ := sampleFile(t)
	s := open(t, path)
	mustUpdate(t, s, func(tx approvals.Tx) error {
		for n := range 36 {
			if err := tx.DeleteRun("T1", approvals.RunID(fmt.Sprint("run_", n))); err != nil {
				return err
			}
		}
		return nil
	})
	want := records(t, s)
	mustClose(t, s)
	var calls, last, total int
	progress := func(done, n int) { calls, last, total = calls+1, done, n }
	got, err := Compact(t.Context(), path, CompactConfig{Progress: progress})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.After != info.Size() || got.After > got.Before/2 || !got.WasPlain || got.Records == 0 {
		t.Errorf("%+v, and the file has %d bytes", got, info.Size())
	}
	if calls == 0 || last != total || total != got.Records || info.Mode().Perm() != 0o600 {
		t.Errorf("%d calls, at last %d of %d records; mode %s", calls, last, total, info.Mode())
	}
	s = open(t, path)
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if records(t, s) != want {
		t.Error("the compacted store holds something else")
	}
}

// TestCompactKeepsTheJobsGoing checks that the numbers of jobs go on where they were: an acknowledgement of before must
// not count for a job of afterwards.
func TestCompactKeepsTheJobsGoing(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path)
	job := approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: "run_1"}
	for range 5 {
		mustUpdate(t, s, func(tx approvals.Tx) error { return tx.Enqueue(job) })
	}
	mustUpdate(t, s, func(tx approvals.Tx) error { return tx.DeleteJob("T1", approvals.JobRun, "run_1") })
	mustClose(t, s)
	if _, err := Compact(t.Context(), path, CompactConfig{}); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	mustUpdate(t, s, func(tx approvals.Tx) error { return tx.Enqueue(job) })
	err := s.view(t.Context(), func(tx *tx) error {
		rec, err := tx.job(jobKey("T1", approvals.JobRun, "run_1"))
		if err == nil && rec.Generation != 6 {
			t.Errorf("generation %d, want 6", rec.Generation)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCompactStopsAnywhere ends the work after each of its steps, as an error does: the store is whole, nothing is left
// behind, and the next Compact succeeds.
func TestCompactStopsAnywhere(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"checked", "copied", "synced", "verified", "renamed"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			path, want := sampleFile(t)
			before := regular(path)
			stop, passed := errors.New("stop"), 0
			cfg := CompactConfig{Keys: testKeys(t, "a"), step: func(at string) error {
				if passed++; at == step {
					return stop
				}
				return nil
			}}
			if _, err := Compact(t.Context(), path, cfg); !errors.Is(err, stop) {
				t.Fatalf("got %v", err)
			}
			if left, _ := filepath.Glob(path + "?*"); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			if taken := !bytes.Equal(before, regular(path)); taken != (step == "renamed") {
				t.Errorf("the file was replaced: %v", taken)
			}
			cfg.step = nil
			if _, err := Compact(t.Context(), path, cfg); err != nil {
				t.Fatal(err)
			}
			if s := openWith(t, path, "a"); records(t, s) != want {
				t.Error("the compacted store holds something else")
			}
		})
	}
}

// compactNoisily compacts a file, says when it has come to a step, and waits there to be killed.
func compactNoisily(args []string) error {
	_, err := Compact(childContext(), args[0], CompactConfig{Keys: childKeys(), step: func(at string) error {
		if at == args[1] {
			fmt.Println(at)
			select {}
		}
		return nil
	}})
	return err
}

// TestCompactKilled kills the process at each step: the file opens, holds everything, and can be compacted.
func TestCompactKilled(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"checked", "copied", "synced", "verified", "renamed"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			path, want := sampleFile(t)
			cmd, out := startChild(t, "compact", path, step)
			if said := firstLine(out); said != step {
				t.Fatalf("the child says %q", said)
			}
			cmd.Process.Kill()
			cmd.Wait()
			var s *Store
			if step == "renamed" {
				s = openWith(t, path, "a")
			} else {
				s = open(t, path)
			}
			if records(t, s) != want {
				t.Error("the store holds something else")
			}
			if err := s.Check(t.Context()); err != nil {
				t.Error(err)
			}
			mustClose(t, s)
			if _, err := Compact(t.Context(), path, CompactConfig{Keys: testKeys(t, "a")}); err != nil {
				t.Fatal(err)
			}
			if left, _ := filepath.Glob(path + "?*"); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			if s := openWith(t, path, "a"); records(t, s) != want {
				t.Error("the compacted store holds something else")
			}
		})
	}
}

// TestCompactRefuses checks that the file stays as it is when it cannot be compacted.
func TestCompactRefuses(t *testing.T) {
	t.Parallel()
	path, _ := sampleFile(t)
	t.Run("in use", func(t *testing.T) {
		t.Parallel()
		path, _ := sampleFile(t)
		open(t, path)
		if _, err := Compact(t.Context(), path, CompactConfig{}); !errors.Is(err, ErrInUse) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		none := newPath(t)
		_, err := Compact(t.Context(), none, CompactConfig{})
		if !errors.Is(err, fs.ErrNotExist) || regular(none) != nil {
			t.Errorf("got %v", err)
		}
	})
	t.Run("damaged", func(t *testing.T) {
		t.Parallel()
		path := newPath(t)
		data := regular(sampleCopy(t, path))
		data = bytes.ReplaceAll(data, []byte(`{"amount":100}`), []byte(`{"amount":900}`))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Compact(t.Context(), path, CompactConfig{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("got %v", err)
		}
		if !bytes.Equal(regular(path), data) {
			t.Error("the damaged file was changed")
		}
	})
	t.Run("no room", func(t *testing.T) {
		t.Parallel()
		path, want := sampleFile(t)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		cfg := CompactConfig{free: func(*os.File) (int64, bool) { return info.Size() / 2, true }}
		if _, err := Compact(t.Context(), path, cfg); !errors.Is(err, ErrNoRoom) {
			t.Errorf("got %v", err)
		}
		cfg.free = func(*os.File) (int64, bool) { return 2 * info.Size(), true }
		if _, err := Compact(t.Context(), path, cfg); err != nil {
			t.Errorf("control: %v", err)
		}
		if s := open(t, path); records(t, s) != want {
			t.Error("the store holds something else")
		}
	})
	t.Run("of a newer version", func(t *testing.T) {
		t.Parallel()
		path := newPath(t)
		s := open(t, sampleCopy(t, path))
		err := s.change(func(tx *tx) error { return tx.create([][]byte{[]byte("new")}) })
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, s)
		if _, err := Compact(t.Context(), path, CompactConfig{}); !errors.Is(err, ErrNewer) {
			t.Errorf("got %v", err)
		}
	})
	if left, _ := filepath.Glob(path + "?*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// sampleCopy writes the store that sample makes to a path.
func sampleCopy(t testing.TB, path string) string {
	t.Helper()
	if err := os.WriteFile(path, sample(t), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOpenWhileCompacting has somebody wait for the file while it is replaced: what they write then is in the new file,
// not in the old one that nobody will find again.
func TestOpenWhileCompacting(t *testing.T) {
	t.Parallel()
	path, _ := sampleFile(t)
	opened := make(chan error, 1)
	_, err := Compact(t.Context(), path, CompactConfig{step: func(at string) error {
		if at != "verified" {
			return nil
		}
		go func() { opened <- openAndPut(t, path) }()
		for handles(t, path) < 2 {
			time.Sleep(time.Millisecond)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	if s := open(t, path); !has(t, s, 777_777) {
		t.Error("what was written is gone")
	}
}

func openAndPut(t *testing.T, path string) error {
	s, err := Open(path, Config{})
	for errors.Is(err, ErrInUse) { // on a slow machine
		s, err = Open(path, Config{})
	}
	if err != nil {
		return err
	}
	return errors.Join(s.Update(t.Context(), put(777_777)), s.Close())
}

// handles returns how many times this process has the file open.
func handles(t *testing.T, path string) (n int) {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Error(err)
	}
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs /proc: ", err)
	}
	for _, fd := range all {
		if at, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); err == nil && at == path {
			n++
		}
	}
	return n
}

// TestCompactFollowsALink checks that the file is replaced, not the link to it.
func TestCompactFollowsALink(t *testing.T) {
	t.Parallel()
	path, want := sampleFile(t)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(t.Context(), link, CompactConfig{Keys: testKeys(t, "a")}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link has become %v, %v", info.Mode(), err)
	}
	if s := openWith(t, path, "a"); records(t, s) != want {
		t.Error("the compacted store holds something else")
	}
}

// TestCompactMigrates compacts a file of an older format.
func TestCompactMigrates(t *testing.T) {
	t.Parallel()
	path := storeOf2(t, 20)
	done, err := Compact(t.Context(), path, CompactConfig{Keys: testKeys(t, "a")})
	if err != nil || !done.WasPlain {
		t.Fatal(done, err)
	}
	s := openWith(t, path, "a")
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if all := records(t, s); !strings.Contains(all, "run_000019") {
		t.Errorf("%d bytes of records", len(all))
	}
}
