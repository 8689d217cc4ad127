package boltstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// sample makes a store with trees of several levels and returns its file.
func sample(t testing.TB) []byte {
	t.Helper()
	path := newPath(t)
	s := open(t, path)
	for round := range 3 {
		err := s.Update(t.Context(), func(tx approvals.Tx) error {
			for n := range 400 {
				status := []approvals.RequestStatus{approvals.RequestPending, approvals.RequestApproved}[(n+round)%2]
				id := approvals.RequestID(fmt.Sprint("req_", n*7919%1000))
				r := request(id, approvals.RunID(fmt.Sprint("run_", n%40)), status)
				p := approvals.Place{Channel: fmt.Sprint("C", n%10)}
				err := errors.Join(tx.PutRequest(r), put(n)(tx),
					tx.PutRun(&approvals.Run{Workspace: "T1", ID: r.Run, Place: p, Status: approvals.RunQueued}),
					tx.PutState("T1", r.Run,
						agent.Delta{Head: make([]byte, 300), From: round, Count: 1, Items: make([]byte, n*10)}),
					tx.Enqueue(approvals.Job{
						Workspace: "T1", Kind: approvals.JobRun, ID: string(r.Run), Due: time.Unix(int64(n), 0),
					}),
					tx.AppendSession("T1", p, string(r.ID), []byte("[]")))
				if err != nil {
					return err
				}
			}
			return putLinked(tx, round)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Check(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := readHeads(bytes.NewReader(data)).newest()
	if err != nil {
		t.Fatal(err)
	}
	return data[:h.high*h.pageSize] // without the reserve at its end
}

// contents reads every entry of every bucket, and returns a sum of it all.
func contents(s *Store) (string, error) {
	sum := sha256.New()
	err := s.view(context.Background(), func(t *tx) (err error) {
		defer t.end(t.begin(), &err)
		for _, b := range buckets {
			err := t.scan(b.name, nil, nil, func(k, v []byte) (bool, error) {
				if b.sealed {
					if _, err := cutChecksum(k, v); err != nil {
						return false, t.damaged(err)
					}
				}
				fmt.Fprint(sum, len(b.name), len(k), len(v))
				sum.Write(b.name)
				sum.Write(k)
				sum.Write(v)
				return true, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // the sum may have been cut off in its middle
		return "", err
	}
	return string(sum.Sum(nil)), nil
}

// A damage is "cut-N", which leaves N bytes, or "flip-N", which turns bit N over.
func damageFile(data []byte, how string) []byte {
	kind, number, _ := strings.Cut(how, "-")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		panic(err)
	case kind == "cut":
		return data[:n]
	}
	flipped := bytes.Clone(data)
	flipped[n/8] ^= 1 << (n % 8)
	return flipped
}

// surviveDamage damages the store args[0] in the ways that the lines of args[1] name, each time opening it, reading all
// of it, writing to it and checking it. It prints for each what came of it: an error, the same contents as before, or
// something else.
func surviveDamage(args []string) error {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	list, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	s, err := Open(args[0], Config{})
	if err != nil {
		return err
	}
	whole, err := contents(s)
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	scratch := args[0] + ".damaged"
	for how := range strings.Lines(string(list)) {
		how = strings.TrimSpace(how)
		if err := os.WriteFile(scratch, damageFile(data, how), 0o600); err != nil {
			return err
		}
		fmt.Println(how, tryDamaged(scratch, whole, !inLength(how)))
		if err := os.Remove(scratch); err != nil { // what failed may still have it open
			return err
		}
	}
	return nil
}

// inLength reports whether the damage is a flip in the bytes of a page's header that say how many pages follow it.
// Leaves are not read at the start, and a write to one that claims millions of pages has bbolt note each of them as
// free, until memory is out: docs/reliability.md.
func inLength(how string) bool {
	number, isFlip := strings.CutPrefix(how, "flip-")
	bit, err := strconv.Atoi(number)
	at := bit / 8 % 4096
	return isFlip && err == nil && at >= 12 && at < 16
}

// tryDamaged writes too, if write is set or Check has found nothing.
func tryDamaged(path, whole string, write bool) string {
	s, err := Open(path, Config{})
	if err != nil {
		known := errors.Is(err, ErrDamaged) || errors.Is(err, ErrNotStore)
		if !known || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "goroutine") {
			return "unclear: " + err.Error()
		}
		return "refused"
	}
	defer s.Close()
	got, err := contents(s)
	check := s.Check(context.Background())
	var uerr error
	if write || check == nil {
		uerr = s.Update(context.Background(), put(1_000_000))
	}
	switch {
	case errors.Is(err, ErrDamaged) || errors.Is(check, ErrDamaged):
		return "noticed"
	case err != nil || check != nil:
		return fmt.Sprint("unclear: ", err, check)
	case got != whole:
		return "differs"
	case uerr != nil:
		return "unclear: " + uerr.Error()
	}
	return "same"
}

// TestDamage cuts files short and flips bits in them. A process that opens, reads and writes them must survive, and
// must not take what is damaged for whole.
func TestDamage(t *testing.T) {
	t.Parallel()
	data := sample(t)
	cuts, flips := 30, 150
	if *long {
		cuts, flips = 500, 5000
	}
	want := make(map[string]string)
	for range cuts {
		n := 1 + rand.N(len(data)-1)
		if rand.N(4) == 0 {
			n = max(1, n&^4095) // at the end of a page
		}
		want[fmt.Sprint("cut-", n)] = "refused"
	}
	for i := range flips {
		bit := rand.N(len(data) * 8)
		if i%4 == 0 { // the beginnings of pages hold the structure
			bit = bit/8/4096*4096*8 + rand.N(64*8)
		}
		if i%10 == 1 { // and there, how many entries the page has: one less is an entry lost without a trace
			bit = bit/8/4096*4096*8 + 80 + rand.N(4)
		}
		want[fmt.Sprint("flip-", bit)] = ""
	}
	path := newPath(t)
	list := path + ".list"
	err := errors.Join(os.WriteFile(path, data, 0o600),
		os.WriteFile(list, []byte(strings.Join(slices.Sorted(maps.Keys(want)), "\n")), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	compareOutcomes(t, want, childLines(t, "damage", path, list))
}

func compareOutcomes(t *testing.T, want, got map[string]string) {
	counts := make(map[string]int)
	for name, want := range want {
		outcome, ok := got[name]
		kind, _, _ := strings.Cut(outcome, ":")
		counts[kind]++
		switch {
		case !ok:
			t.Errorf("%s: the process did not survive, or an earlier one killed it", name)
		case want != "" && outcome != want:
			t.Errorf("%s: %s, want %s", name, outcome, want)
		case kind == "differs" || kind == "unclear":
			t.Errorf("%s: %s", name, outcome)
		}
	}
	t.Logf("outcomes: %v", counts)
	if counts["refused"] == 0 || counts["noticed"] == 0 {
		t.Errorf("outcomes %v: the test does not test", counts)
	}
}

// childLines runs a child that prints lines of a name and an outcome.
func childLines(t *testing.T, name string, args ...string) map[string]string {
	t.Helper()
	cmd, out := startChild(t, name, args...)
	lines := make(map[string]string)
	var all bytes.Buffer
	if _, err := all.ReadFrom(out); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
	for line := range strings.Lines(all.String()) {
		name, outcome, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines[name] = outcome
	}
	return lines
}

// TestWalkOutOfTime checks a store on a machine that stands still meanwhile: what it could not look at is not damage,
// and the list of free pages is looked at in any case.
func TestWalkOutOfTime(t *testing.T) {
	t.Parallel()
	data := sample(t)
	h, _, err := readHeads(bytes.NewReader(data)).newest()
	if err != nil {
		t.Fatal(err)
	}
	walk := func(data []byte) error {
		return (&walker{r: bytes.NewReader(data), head: h, deadline: time.Now().Add(-time.Hour)}).walk()
	}
	if err := walk(data); err != nil {
		t.Errorf("a store that is whole: %v", err)
	}
	damaged := bytes.Clone(data)
	damaged[h.freelist*h.pageSize+8] ^= 0xff
	if err := walk(damaged); err == nil {
		t.Error("a damaged list of free pages was not noticed")
	}
}

// TestCutWhileOpen cuts a file that is open: reads beyond its end fault within the map.
func TestCutWhileOpen(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	if err := os.WriteFile(path, sample(t), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if err := os.Truncate(path, 8192); err != nil {
		t.Fatal(err)
	}
	if _, err := contents(s); !errors.Is(err, ErrDamaged) {
		t.Errorf("read: %v, want ErrDamaged", err)
	}
	if err := s.Check(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Errorf("check: %v, want ErrDamaged", err)
	}
	var w bytes.Buffer
	if _, err := s.Backup(t.Context(), &w); !errors.Is(err, ErrDamaged) || w.Len() > 0 {
		t.Errorf("backup: %v and %d bytes, want ErrDamaged and none", err, w.Len())
	}
	for range 2 {
		if err := s.Update(t.Context(), put(1)); !errors.Is(err, ErrDamaged) {
			t.Errorf("write: %v, want ErrDamaged", err)
		}
	}
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		put(1)(tx) // and does not look at what it says
		return nil
	})
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("a write whose caller misses the damage: %v, want ErrDamaged", err)
	}
	if err := s.Close(); err != nil && !strings.Contains(err.Error(), "closed") {
		t.Errorf("close: %v", err)
	}
}

// TestHeads damages one copy of the head, which may hide the newest commit, and both.
func TestHeads(t *testing.T) {
	t.Parallel()
	data := sample(t)
	for _, c := range []struct {
		name   string
		pages  []int
		accept bool
		want   error
	}{
		{"first", []int{0}, false, ErrDamaged},
		{"second", []int{1}, false, ErrDamaged},
		{"first accepted", []int{0}, true, nil},
		{"second accepted", []int{1}, true, nil},
		{"both accepted", []int{0, 1}, true, ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			damaged := bytes.Clone(data)
			for _, p := range c.pages {
				damaged[p*os.Getpagesize()+40] ^= 4
			}
			path := newPath(t)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(path, Config{AcceptOlder: c.accept})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if err == nil {
				s.Close()
			}
		})
	}
}

// FuzzWalk lets the walker loose on damaged pages: it must end, without a panic.
func FuzzWalk(f *testing.F) {
	data := sample(f)
	h, _, err := readHeads(bytes.NewReader(data)).newest()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(8192), []byte{1, 2, 3})
	f.Add(uint32(h.root*h.pageSize), []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(uint32(h.freelist*h.pageSize+8), []byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		damaged := bytes.Clone(data)
		copy(damaged[int(at)%len(damaged):], patch)
		for _, leaves := range []bool{false, true} {
			w := &walker{r: bytes.NewReader(damaged), head: h, leaves: leaves, entry: func(_, k, v []byte) error {
				cutChecksum(k, v)
				return nil
			}}
			if err := w.walk(); err == nil && leaves && w.pages > h.high {
				t.Errorf("read %d pages of %d", w.pages, h.high)
			}
		}
	})
}
