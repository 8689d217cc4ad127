package boltstore

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/approvals"
)

// seal2 returns a record of format 2 as it is stored under the key.
func seal2(k []byte, record any) []byte {
	v := reflect.ValueOf(record).Elem()
	return withChecksum(k, codecs2[v.Type()].encode(nil, v))
}

// storeOf2 makes a store of format 2 with so many runs. Each has two requests, an effect, a notification and three
// jobs, and a message waits behind every seventh.
func storeOf2(t testing.TB, runs int) string {
	t.Helper()
	path := newPath(t)
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(btx *bolt.Tx) error {
		for _, name := range append([][]byte{bucketMeta}, bucketsOf2...) {
			if _, err := btx.CreateBucket(name); err != nil {
				return err
			}
		}
		err := btx.Bucket(bucketMeta).Put(formatKey, withChecksum(formatKey, []byte("2")))
		for n := range runs {
			err = errors.Join(err, putRun2(btx, n))
		}
		return err
	})
	if err := errors.Join(err, db.Sync(), db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func putRun2(btx *bolt.Tx, n int) error {
	id := fmt.Sprintf("%06d", n)
	at := time.Date(2025, 1, 1, 0, 0, n, 0, time.UTC)
	status := []approvals.RunStatus{approvals.RunQueued, approvals.RunWaiting, approvals.RunDone}[n%3]
	place := approvals.Place{Surface: "slack", Channel: "C1", Thread: id}
	r := &run2{Workspace: "T1", ID: approvals.RunID("run_" + id), Place: place, Requester: "T1/U1",
		Status: status, Created: at}
	if status.Ended() {
		r.Ended = at
	}
	if n%7 == 0 {
		r.Queue = []input2{{By: "T1/U2", Text: "and " + id, At: at, Message: id}}
	}
	q := &request2{Workspace: "T1", ID: approvals.RequestID("req_" + id), Run: r.ID, Place: place, Requester: "T1/U1",
		Interruption: "ops/1/call_1", Kind: "confirm", Arguments: []byte(`{"n":` + fmt.Sprint(n) + `}`),
		Requirement: requirement2{Quorum: 2}, Status: approvals.RequestApproved, Created: at, Settled: at}
	pending := &request2{Workspace: "T1", ID: approvals.RequestID("req_p" + id), Run: r.ID, Place: place,
		Requester: "T1/U1", Arguments: []byte(`{}`), Status: approvals.RequestPending, Expires: at.Add(time.Hour)}
	e := &effect2{Workspace: "T1", Run: r.ID, ID: "eff_1", Request: q.ID, Attempt: 1, Intent: at, Done: at}
	note := &approvals.Notification{Workspace: "T1", ID: approvals.NotificationID("ntf_" + id), Place: place}
	put := func(bucket []byte, record any, parts ...string) error {
		k := key(parts...)
		return btx.Bucket(bucket).Put(k, seal2(k, record))
	}
	mark := func(bucket []byte, parts ...string) error { return btx.Bucket(bucket).Put(key(parts...), []byte{}) }
	noteKey := key("T1", place.Key(), "n", string(note.ID))
	err := errors.Join(
		put(bucketRuns, r, "T1", "run_"+id), put(bucketRuns, q, "T1", "run_"+id, "req_"+id),
		put(bucketRuns, pending, "T1", "run_"+id, "req_p"+id), put(bucketEffects, e, "T1", "run_"+id, "eff_1"),
		mark(bucketRequests, "T1", "req_"+id, "run_"+id), mark(bucketRequests, "T1", "req_p"+id, "run_"+id),
		mark(bucketPending, "T1", "req_p"+id, "run_"+id),
		btx.Bucket(bucketWork2).Put(noteKey, appendWithChecksum(nil, noteKey, note)),
		putJob2(btx, bucketWork2, approvals.JobDeliver, place.Key(), &place, at),
		putJob2(btx, bucketWork2, approvals.JobRun, "run_"+id, nil, at),
		putJob2(btx, bucketLater2, approvals.JobTimer, "req_p"+id, nil, at.Add(time.Hour)))
	if !status.Ended() {
		err = errors.Join(err, mark(bucketPlaces, "T1", "slack", "C1", id, "run_"+id),
			mark(bucketRequesters, "T1", "T1/U1", "run_"+id), mark(bucketChannels, "T1", "C1", "run_"+id))
	}
	return err
}

func putJob2(btx *bolt.Tx, bucket []byte, kind approvals.JobKind, id string, p *approvals.Place, due time.Time) error {
	j := &job2{Gen: uint64(1 + len(id)%5), DueTimes: []dueTime{{Gen: 1, Due: due}}}
	j.Job.Workspace, j.Job.Kind, j.Job.ID, j.Job.Due, j.Job.Place = "T1", kind, id, due, p
	k := key("T1", id, "j", string(kind))
	err := btx.Bucket(bucket).Put(k, seal2(k, j))
	if string(bucket) == string(bucketLater2) {
		k := dueKey(&approvals.Job{Workspace: "T1", Kind: kind, ID: id, Due: due})
		err = errors.Join(err, btx.Bucket(bucketLaterDue2).Put(k, []byte{}))
	}
	return err
}

// migrated opens a store, checks it, and returns what it holds.
func migrated(t *testing.T, path string) string {
	t.Helper()
	s, err := Open(path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := contents(s)
	if err := errors.Join(err, s.Check(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMigration brings a store of some size to this format and looks at all that is new in it.
func TestMigration(t *testing.T) {
	t.Parallel()
	const runs = 2500 // several transactions for every step
	path := storeOf2(t, runs)
	migrated(t, path)
	s := open(t, path)
	count := make(map[string]int)
	err := s.view(t.Context(), func(tx *tx) error {
		lapsed, err1 := tx.LapsedLeases(time.Now(), time.Now(), runs)
		ended, err2 := tx.EndedRuns("T1", time.Now(), runs)
		pending, err3 := tx.PendingOf("T1", "T1/U1")
		places, err4 := tx.UndeliveredPlaces(time.Now(), time.Now(), runs)
		head, err5 := tx.RequestHead("T1", "req_000001")
		r, err6 := tx.Request("T1", "req_p000001")
		inputs, err7 := tx.Inputs("T1", approvals.Place{Surface: "slack", Channel: "C1", Thread: "000007"}, 10)
		count["queued"], count["ended"], count["pending"] = len(lapsed), len(ended), pending
		count["places"], count["inputs"], count["seats"] = len(places), len(inputs), len(head.Requirement.Seats)
		if e, err := tx.Effect("T1", "run_000001", "eff_1"); err != nil || e.Interruption != "ops/1/call_1" {
			t.Errorf("an effect is now %+v, %v", e, err)
		}
		if head.Outcome != approvals.OutcomeRan || !r.NextAct.Equal(r.Expires) || string(r.Arguments) != "{}" {
			t.Errorf("a request became %+v, another %+v", head, r)
		}
		err8 := tx.findJobs(func(_ []byte, rec *jobRecord) error {
			count["jobs"]++
			if rec.Generation == 0 || rec.Generation > tx.btx.Bucket(bucketQueue).Sequence() {
				t.Errorf("job %s has generation %d", rec.ID, rec.Generation)
			}
			return nil
		})
		return errors.Join(err1, err2, err3, err4, err5, err6, err7, err8)
	})
	want := map[string]int{"queued": 834, "ended": 833, "pending": runs, "places": runs, "inputs": 1, "seats": 2,
		"jobs": 2 * runs}
	if err != nil || !reflect.DeepEqual(count, want) {
		t.Errorf("%v: there are %v, want %v", err, count, want)
	}
}

// migrateUntil does the first so many transactions of a migration, as a process does that is killed behind them, and
// reports whether there are more.
func migrateUntil(t *testing.T, path string, transactions int) (more bool) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{path: path, clock: newClock(slog.New(slog.DiscardHandler))}
	err = db.Update(func(btx *bolt.Tx) error { return s.tx(btx, true).startMigration() })
	for more = true; more && transactions > 0 && err == nil; transactions-- {
		err = db.Update(func(btx *bolt.Tx) (err error) {
			_, more, err = s.tx(btx, true).migrateSome(migrationFrom2)
			return err
		})
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return more
}

// TestMigrationResumes stops a migration behind every one of its transactions: opening the store again ends it with
// the same result.
func TestMigrationResumes(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(storeOf2(t, 600))
	if err != nil {
		t.Fatal(err)
	}
	copied := func() string {
		path := newPath(t)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	want := migrated(t, copied())
	stops := 0
	for more := true; more; stops++ {
		path := copied()
		more = migrateUntil(t, path, stops)
		s, err := Open(path, Config{ReadOnly: true})
		if err == nil {
			s.Close()
		}
		if more != errors.Is(err, ErrOlder) {
			t.Errorf("read-only, stopped behind %d transactions: %v, want ErrOlder %v", stops, err, more)
		}
		if migrated(t, path) != want {
			t.Errorf("stopped behind %d transactions, the result is another", stops)
		}
	}
	if stops < 10 {
		t.Errorf("control: the migration has only %d transactions", stops)
	}
}

// migrateNoisily opens a store and prints a line for every transaction of its migration.
func migrateNoisily(args []string) error {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := Open(args[0], Config{Logger: log})
	if err != nil {
		return err
	}
	return s.Close()
}

// TestMigrationKilled kills processes in the middle of a migration until one gets to its end.
func TestMigrationKilled(t *testing.T) {
	t.Parallel()
	const runs = 6000
	path := storeOf2(t, runs)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := newPath(t)
	if err := os.WriteFile(whole, data, 0o600); err != nil {
		t.Fatal(err)
	}
	want := migrated(t, whole)
	kills := 0
	for done := false; !done; {
		cmd, out := startChild(t, "migrate", path)
		lines := bufio.NewScanner(out)
		for after := 1 + rand.N(12); lines.Scan(); after-- {
			if after == 0 {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		if done = cmd.ProcessState.Success(); !done {
			kills++
		}
		if !done && cmd.ProcessState.Exited() {
			t.Fatalf("the process ended by itself: %v", cmd.ProcessState)
		}
	}
	if migrated(t, path) != want || kills < 2 {
		t.Errorf("after %d kills the result is another: %v", kills, migrated(t, path) != want)
	}
}

// TestMigrationIsTold checks that the log says what happens, and that a store which is up to date is left alone.
func TestMigrationIsTold(t *testing.T) {
	t.Parallel()
	path := storeOf2(t, 3)
	var log bytes.Buffer
	for _, want := range []string{"new format", ""} {
		log.Reset()
		s, err := Open(path, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if said := log.String(); !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("the log says %q, want %q", said, want)
		}
	}
}

// TestMigrationDamaged meets a record that cannot be read: it is named, and the rest is left for the next try.
func TestMigrationDamaged(t *testing.T) {
	t.Parallel()
	path := storeOf2(t, 3)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	k := key("T1", "run_000001")
	var whole []byte
	err = db.Update(func(btx *bolt.Tx) error {
		b := btx.Bucket(bucketRuns)
		whole = bytes.Clone(b.Get(k))
		return b.Put(k, append(bytes.Clone(whole), 1))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Open(path, Config{}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "run_000001") {
			t.Errorf("open: %v, want ErrDamaged that names the run", err)
		}
	}
	if db, err = bolt.Open(path, 0o600, nil); err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(btx *bolt.Tx) error { return btx.Bucket(bucketRuns).Put(k, whole) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	migrated(t, path)
}

// TestAddedBucket opens a store that lacks a bucket which was added to the format later, and one that has a bucket
// which only a newer version knows.
func TestAddedBucket(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := open(t, path)
	added := append([]bucketInfo{{name: []byte("timers"), sealed: true, added: true}}, buckets...)
	err := s.view(t.Context(), func(tx *tx) error {
		missing, err := tx.missing(added)
		if len(missing) != 1 || string(missing[0]) != "timers" {
			t.Fatalf("missing are %q", missing)
		}
		if tx.has(missing[0], []byte("k")) || tx.seek(missing[0], nil) != nil {
			t.Error("a missing bucket does not read as empty")
		}
		return err
	})
	if err := errors.Join(err, s.addBuckets([][]byte{[]byte("timers")})); err != nil {
		t.Fatal(err)
	}
	err = s.update(t.Context(), func(tx *tx) error {
		if missing, err := tx.missing(added); len(missing) > 0 || err != nil {
			t.Errorf("missing are %q, %v", missing, err)
		}
		return tx.putRaw([]byte("timers"), key("T1", "k"), binary.AppendUvarint(nil, 1))
	})
	if err := errors.Join(err, s.Check(t.Context()), s.Close()); err != nil { // this program does not know it
		t.Error(err)
	}
	s = open(t, path)
	err = s.update(t.Context(), func(tx *tx) error {
		tx.dirty = true
		return tx.btx.DeleteBucket(bucketDead)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Config{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("control: a bucket that every file of the format has is missing: %v, want ErrDamaged", err)
	}
}

// TestInputIDsOf2 checks that messages keep their order, also when a clock was set back between them, and sort among
// those that come later.
func TestInputIDsOf2(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	queue := []input2{{At: at}, {At: at.Add(time.Second)}, {At: at.Add(-time.Hour)}, {At: at.Add(time.Second)},
		{At: at.Add(time.Minute)}}
	last := string(approvals.NewRunID(at.Add(-time.Microsecond))[len("run_"):])
	for i := range queue {
		id, ok := strings.CutPrefix(string(inputID2(queue, i)), "inp_")
		if !ok || id <= last {
			t.Errorf("message %d is %s, behind %s", i, id, last)
		}
		last = id
	}
	next := string(approvals.NewRunID(at.Add(2 * time.Minute))[len("run_"):])
	if next <= last || len(next) != len(last) {
		t.Errorf("a later id is %s, the last message %s", next, last)
	}
}
