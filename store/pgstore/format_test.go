package pgstore

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"countersign/approvals"
)

// Programs of two versions: the later one has a field that the earlier one does not know.
var (
	lastVersion = Config{format: formatSettings{number: 1}}
	nextVersion = Config{format: formatSettings{number: 2, later: []laterField{
		{format: 2, kind: kindEffect, path: []string{"tool"}}}}}
)

// writesField has the store write a record with the later field and reports whether it was written.
func writesField(t *testing.T, s *Store, id string) bool {
	t.Helper()
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		return tx.PutEffect(&approvals.EffectRecord{Workspace: "T1", Run: "run_1", ID: id, Tool: "pay"})
	})
	if err != nil {
		t.Fatal(err)
	}
	return fieldWritten(t, s, id)
}

func fieldWritten(t *testing.T, s *Store, id string) bool {
	t.Helper()
	var data string
	if err := s.clicks.QueryRow(t.Context(), "select convert_from(record, 'UTF8') from effect_records where id = $1",
		id).Scan(&data); err != nil {
		t.Fatal(err)
	}
	return strings.Contains(data, `"tool":"pay"`)
}

// TestRollout replaces two replicas one by one. As long as one of the earlier version is there nothing is written that
// it cannot read, by whichever replica; from then on it is, and the earlier version does not come back.
func TestRollout(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	old1, old2 := openStore(t, url, lastVersion), openStore(t, url, lastVersion)
	new1 := openStore(t, url, nextVersion)
	if writesField(t, new1, "1") || new1.Format() != 1 {
		t.Error("a field was written that other replicas cannot read")
	}
	if err := old1.Close(); err != nil {
		t.Fatal(err)
	}
	new2 := openStore(t, url, nextVersion)
	if writesField(t, new2, "2") {
		t.Error("a field was written that the last replica cannot read")
	}
	restarted := openStore(t, url, lastVersion) // as when the rollout is given up
	restarted.Close()
	if err := old2.Close(); err != nil {
		t.Fatal(err)
	}
	new2.renew(t.Context())
	if !writesField(t, new2, "3") || new2.Format() != 2 {
		t.Error("the field is not written although every replica can read it")
	}
	// The other one has not heard of that yet. It finds the field, and so it does not lose it.
	if new1.Format() != 1 {
		t.Fatalf("the other replica is at format %d before it has asked", new1.Format())
	}
	err := new1.Update(t.Context(), func(tx approvals.Tx) error {
		e, err := tx.Effect("T1", "run_1", "3")
		if err != nil {
			return err
		}
		e.Attempt++
		return tx.PutEffect(e)
	})
	if err != nil || !fieldWritten(t, new1, "3") {
		t.Errorf("%v; a field was lost by a replica that had not heard of the new format", err)
	}
	_, err = Open(t.Context(), url, lastVersion)
	if !errors.Is(err, ErrNewer) || !errors.Is(err, approvals.ErrNewer) {
		t.Errorf("the earlier version opens the store: %v", err)
	}
	for _, words := range []string{"format 2", "reads 1", "nothing is lost", program()} {
		if err != nil && !strings.Contains(err.Error(), words) {
			t.Errorf("it is not said: %q: %v", words, err)
		}
	}
	readOnly := lastVersion
	readOnly.ReadOnly = true
	if _, err = Open(t.Context(), url, readOnly); !errors.Is(err, ErrNewer) {
		t.Errorf("the earlier version reads the store: %v", err)
	}
}

// TestOthersAreCounted: each process learns how many others write to the store, which decides how many callers share a
// transaction. Those that only read do not count.
func TestOthersAreCounted(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	first := openStore(t, url, Config{})
	check := func(when string, s *Store, want int) {
		t.Helper()
		s.renew(t.Context())
		if got := s.Replicas() - 1; got != want {
			t.Errorf("%s: %d others, want %d", when, got, want)
		}
	}
	check("alone", first, 0)
	openStore(t, url, Config{ReadOnly: true})
	check("beside one that reads", first, 0)
	second := openStore(t, url, Config{})
	if got := second.Replicas() - 1; got != 1 {
		t.Errorf("the second one knows of %d others when it has opened the store, want 1", got)
	}
	check("beside a second one", first, 1)
	second.Close()
	check("alone again", first, 0)
	gone := openStore(t, url, Config{})
	lapse := "update replicas set until = until - interval '2 minutes' where id = $1"
	if _, err := first.clicks.Exec(t.Context(), lapse, gone.id); err != nil {
		t.Fatal(err)
	}
	check("beside one whose announcement has lapsed", first, 0)
}

// TestReplicaThatWasAway: a replica that was frozen, or cut off, for so long that the others have gone on without it
// ends its use of the store, and gives back its jobs.
func TestReplicaThatWasAway(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	var log lockedBuffer
	cfg := lastVersion
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	old := openStore(t, url, cfg)
	ended := make(chan error, 1)
	go func() {
		ended <- old.Dispatch(t.Context(), func(context.Context, approvals.Job) error { return nil })
	}()
	control := openStore(t, url, nextVersion)
	if control.Format() != 1 {
		t.Fatal("control: the format was raised while a replica is there that cannot read it")
	}
	if _, err := old.clicks.Exec(t.Context(), "update replicas set until = until - interval '2 minutes' where id = $1",
		old.id); err != nil {
		t.Fatal(err)
	}
	control.renew(t.Context())
	if control.Format() != 2 {
		t.Fatalf("the format is %d", control.Format())
	}
	old.renew(t.Context())
	if err := <-ended; !errors.Is(err, approvals.ErrNewer) {
		t.Errorf("Dispatch ended with %v", err)
	}
	if err := old.Update(t.Context(), writeEffect("1")); !errors.Is(err, ErrNewer) {
		t.Errorf("it still writes: %v", err)
	}
	if said := log.String(); strings.Count(said, "level=ERROR") != 1 || !strings.Contains(said, "ALERT") {
		t.Errorf("the log says: %s", said)
	}
}

// TestAnnouncementsAndRaises: of many replicas that come and go at once, none that is there is left behind.
func TestAnnouncementsAndRaises(t *testing.T) {
	t.Parallel()
	for range 5 {
		url := newURL(t)
		openStore(t, url, lastVersion).Close() // migrated
		var wg sync.WaitGroup
		var mu sync.Mutex
		var olds, news []*Store
		for i := range 6 {
			wg.Go(func() {
				cfg, list := lastVersion, &olds
				if i%2 == 1 {
					cfg, list = nextVersion, &news
				}
				s, err := Open(t.Context(), url, cfg)
				if err != nil {
					if !errors.Is(err, ErrNewer) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				defer mu.Unlock()
				*list = append(*list, s)
			})
		}
		wg.Wait()
		for _, s := range news {
			if len(olds) > 0 && s.Format() != 1 {
				t.Errorf("format %d is in force, and %d replicas do not know it", s.Format(), len(olds))
			}
		}
		for _, s := range append(olds, news...) {
			s.Close()
		}
	}
}

// TestJobOfNewerVersion: a replica that cannot do a job leaves it to the others, and does not count that against it.
func TestJobOfNewerVersion(t *testing.T) {
	t.Parallel()
	url := newURL(t)
	old, next := openStore(t, url, Config{}), openStore(t, url, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	refused, done := make(chan approvals.Job, 100), make(chan approvals.Job, 100)
	wg.Go(func() {
		old.Dispatch(ctx, func(_ context.Context, j approvals.Job) error {
			refused <- j
			return errors.Join(errors.New("resume the run"), approvals.ErrNewer)
		})
	})
	job := approvals.Job{Workspace: "T1", Kind: approvals.JobRun, ID: "run_1", Group: "C1"}
	if err := old.Update(ctx, func(tx approvals.Tx) error { return tx.Enqueue(job, job) }); err != nil {
		t.Fatal(err)
	}
	<-refused
	wg.Go(func() {
		next.Dispatch(ctx, func(_ context.Context, j approvals.Job) error {
			done <- j
			return nil
		})
	})
	if j := <-done; j.Attempts != 0 {
		t.Errorf("it was counted %d times against the job", j.Attempts)
	}
	if n := len(refused); n != 0 {
		t.Errorf("the replica that cannot do the job was given it %d more times", n)
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, path, want string }{
		{`{"a":1,"b":2}`, "b", `{"a":1}`},
		{`{"a":1}`, "b", `{"a":1}`},
		{`{"a":[{"b":1,"c":"<&>"},{"b":2}],"z":9007199254740993}`, "a.b",
			`{"a":[{"c":"<&>"},{}],"z":9007199254740993}`},
		{`{"a":{"b":{"c":1}}}`, "a.b.c", `{"a":{"b":{}}}`},
		{`{"a":null}`, "a.b", `{"a":null}`},
		{`{"a":[1,[{"b":1}]]}`, "a.b", `{"a":[1,[{}]]}`},
	} {
		got, found, err := without([]byte(c.data), strings.Split(c.path, "."))
		if err != nil || string(got) != c.want || found != (c.data != c.want) {
			t.Errorf("%s without %s: %s, %v, %v, want %s", c.data, c.path, got, found, err, c.want)
		}
	}
}

// lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
