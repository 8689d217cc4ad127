package boltstore

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"countersign/approvals"
	"countersign/store/storetest"
)

// gunzipped reads a file of testdata.
func gunzipped(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// frozenStore returns the path of a copy of the store that format 2 wrote; testdata/README.md says what it holds.
func frozenStore(t testing.TB) string {
	t.Helper()
	return frozenFile(t, "format2")
}

// frozenFile returns the path of a copy of a file of testdata.
func frozenFile(t testing.TB, name string) string {
	t.Helper()
	path := newPath(t)
	if err := os.WriteFile(path, gunzipped(t, "testdata/"+name+".db.gz"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// frozenConfig opens a file of testdata.
func frozenConfig(t testing.TB, name string) Config {
	t.Helper()
	if strings.HasPrefix(name, "format4") {
		return Config{Keys: testKeys(t, "a")}
	}
	return Config{}
}

// forEachFrozen runs a test on the store that format 2 wrote, and on what the first programs with formats 3 and 4 made
// of it.
func forEachFrozen(t *testing.T, test func(t *testing.T, open func(testing.TB) *Store)) {
	for _, name := range []string{"format2", "format3.first", "format4.first"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, cfg := frozenFile(t, name), frozenConfig(t, name)
			test(t, func(t testing.TB) *Store { return openFrozen(t, path, cfg) })
		})
	}
}

func openFrozen(t testing.TB, path string, cfg Config) *Store {
	t.Helper()
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	s, err := Open(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// frozenRecord is a line of what format 2 read from the frozen store.
type frozenRecord struct {
	Bucket string
	Key    string
	Record json.RawMessage
	Raw    *string
}

func frozenRecords(t testing.TB) (all []frozenRecord) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(gunzipped(t, "testdata/format2.jsonl.gz")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r frozenRecord
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	return all
}

// TestFrozenStoreIsWhole opens a store that an earlier version of the program wrote: it is in order, its audit chains
// verify, and every record says what it said then.
func TestFrozenStoreIsWhole(t *testing.T) {
	t.Parallel()
	forEachFrozen(t, func(t *testing.T, open func(testing.TB) *Store) {
		s := open(t)
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		report, err := approvals.VerifyAudit(t.Context(), s, approvals.VerifyOptions{})
		if err != nil || len(report.Workspaces) != 2 {
			t.Errorf("audit: %+v, %v", report, err)
		}
		compared := make(map[string]int)
		for _, r := range frozenRecords(t) {
			want, got := r.Record, any(nil)
			err := s.View(t.Context(), func(tx approvals.Tx) (err error) {
				got, err = readAgain(tx, r)
				return err
			})
			if err != nil {
				t.Errorf("%s %s: %v", r.Bucket, r.Key, err)
			}
			if got == nil {
				continue
			}
			compared[r.Bucket]++
			if lost := missing(t, want, got); lost != "" {
				t.Errorf("%s %s reads differently (-then +now):\n%s", r.Bucket, r.Key, lost)
			}
		}
		for _, bucket := range []string{"runs", "effects", "audit", "work"} {
			if compared[bucket] == 0 {
				t.Errorf("nothing of %s was compared", bucket)
			}
		}
	})
}

// TestFrozenFiles opens files of formats 3 and 4 that hold records with all their fields: each says what it said then,
// and the chains of the audit trail hold.
func TestFrozenFiles(t *testing.T) {
	t.Parallel()
	for name, workspaces := range map[string]int{"format3": 3, "format4": 1} {
		s := openFrozen(t, frozenFile(t, name), frozenConfig(t, name))
		storetest.Frozen(t, s, gunzipped(t, "testdata/"+name+".jsonl.gz"))
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		report, err := approvals.VerifyAudit(t.Context(), s, approvals.VerifyOptions{})
		bad, _ := errors.AsType[*approvals.AuditError](err) // nobody wrote a trail beside the records of T3
		if bad == nil || bad.Workspace != "T3" || bad.Kind != approvals.FaultMissing ||
			len(report.Workspaces) != workspaces {
			t.Errorf("%s: audit of %d workspaces, want %d: %v", name, len(report.Workspaces), workspaces, err)
		}
	}
}

// readAgain reads the record of a line through the store; nil for what has no reader of its own.
func readAgain(tx approvals.Tx, r frozenRecord) (any, error) {
	var id struct {
		Workspace approvals.WorkspaceID
		ID        string
		Run       approvals.RunID
		Seq       uint64
		Place     approvals.Place
		Tool      json.RawMessage
		Gen       uint64
	}
	if r.Record == nil {
		return nil, nil
	}
	if err := json.Unmarshal(r.Record, &id); err != nil {
		return nil, err
	}
	switch {
	case r.Bucket == "runs" && strings.HasPrefix(id.ID, "run_"):
		return tx.Run(id.Workspace, approvals.RunID(id.ID))
	case r.Bucket == "runs":
		return tx.Request(id.Workspace, approvals.RequestID(id.ID))
	case r.Bucket == "effects":
		return tx.Effect(id.Workspace, id.Run, id.ID)
	case r.Bucket == "audit":
		entries, err := tx.AuditEntries(id.Workspace, id.Seq, 1)
		if err != nil || len(entries) == 0 {
			return nil, errors.Join(err, errors.New("no entry"))
		}
		return entries[0], nil
	case r.Bucket == "work" && id.Gen == 0:
		list, err := tx.Notifications(id.Workspace, id.Place, "", 100)
		for _, n := range list {
			if string(n.ID) == id.ID {
				return n, err
			}
		}
		return nil, errors.Join(err, errors.New("no notification"))
	}
	return nil, nil
}

// missing compares what a record said with what it says now. Fields that did not exist then are left out.
func missing(t *testing.T, want json.RawMessage, got any) string {
	t.Helper()
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var then, now map[string]any
	if err := errors.Join(json.Unmarshal(want, &then), json.Unmarshal(data, &now)); err != nil {
		t.Fatal(err)
	}
	modernise(then)
	maps.DeleteFunc(now, func(name string, _ any) bool {
		_, known := then[name]
		return !known
	})
	return cmp.Diff(then, now)
}

// modernise writes what format 2 said in other words as it is said now: a quorum as so many seats, the messages that
// wait behind a run as their number.
func modernise(then map[string]any) {
	if queue, ok := then["queue"].([]any); ok {
		then["queued"] = float64(len(queue))
		delete(then, "queue")
	}
	if then["request"] == "" { // of an effect that no request allowed
		delete(then, "request")
	}
	q, ok := then["requirement"].(map[string]any)
	if !ok {
		return
	}
	quorum, _ := q["quorum"].(float64)
	q["seats"] = slices.Repeat([]any{map[string]any{"approvers": q["approvers"]}}, int(quorum))
	delete(q, "quorum")
	delete(q, "approvers")
}

// TestFrozenQueue checks the messages that waited behind a run: they wait in its place now, in the same order.
func TestFrozenQueue(t *testing.T) {
	t.Parallel()
	forEachFrozen(t, func(t *testing.T, open func(testing.TB) *Store) {
		s := open(t)
		place := approvals.Place{Surface: "slack", Channel: "C1OPS", Thread: "946684800.000200"}
		var got []string
		err := s.View(t.Context(), func(tx approvals.Tx) error {
			list, err := tx.Inputs("T1", place, 10)
			for _, in := range list {
				got = append(got,
					fmt.Sprint(in.By.Local(), " ", in.At.Format(time.TimeOnly), " ", in.Message, " ", in.Text))
			}
			return err
		})
		want := []string{
			"UBOB 00:00:08 946684800.900004 Hold on, which invoice?",
			"UBOB 00:00:10 946684800.900005 Never mind – found it.",
			"UDAN 00:00:12 946684800.900006 Thanks!",
		}
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	})
}

// TestFrozenOutcomes checks what the store says became of calls of which format 2 did not say so.
func TestFrozenOutcomes(t *testing.T) {
	t.Parallel()
	forEachFrozen(t, func(t *testing.T, open func(testing.TB) *Store) {
		s := open(t)
		got := make(map[string]approvals.Outcome)
		for _, r := range frozenRecords(t) {
			if r.Bucket != "runs" || strings.Count(r.Key, `\x00\x01`) != 3 {
				continue
			}
			var id struct {
				Workspace approvals.WorkspaceID
				ID        approvals.RequestID
			}
			if err := json.Unmarshal(r.Record, &id); err != nil {
				t.Fatal(err)
			}
			err := s.View(t.Context(), func(tx approvals.Tx) error {
				r, err := tx.RequestHead(id.Workspace, id.ID)
				if err == nil && r.Outcome != approvals.OutcomeNone {
					got[fmt.Sprint(r.Workspace, " ", r.Kind, " ", r.Tool.Name, " ", r.Status)] = r.Outcome
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		want := map[string]approvals.Outcome{
			"T1 confirm pay approved":    approvals.OutcomeRan,
			"T2 confirm pay approved":    approvals.OutcomeRan,
			"T1 confirm charge approved": approvals.OutcomeUnknown, // the question what became of it waits
			"T1 confirm post approved":   approvals.OutcomeRunning, // when the process was killed
			"T1 confirm drop rejected":   approvals.OutcomeNotRun,
			"T1 confirm drop cancelled":  approvals.OutcomeNotRun,
			"T1 confirm quick expired":   approvals.OutcomeNotRun,
			"T1 confirm tune stale":      approvals.OutcomeNotRun,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("outcomes (-want +got):\n%s", d)
		}
	})
}

// TestFrozenFailedCall has a tool of the frozen store say that its call was carried out without success, of which the
// audit trail of that time says nothing: the request says so now, and the trail still agrees with it.
func TestFrozenFailedCall(t *testing.T) {
	t.Parallel()
	path := frozenStore(t)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	var request approvals.RequestID
	err = db.Update(func(btx *bolt.Tx) error {
		tx, b := &tx{btx: btx, path: path}, btx.Bucket(bucketEffects)
		return tx.scan(bucketEffects, nil, nil, func(k, v []byte) (bool, error) {
			var e effect2
			if err := tx.decode2(k, v, &e); err != nil || e.Request == "" || e.Output == nil {
				return true, err
			}
			request, e.Output.Failed = e.Request, true
			return false, b.Put(bytes.Clone(k), seal2(k, &e))
		})
	})
	if err := errors.Join(err, db.Close()); err != nil || request == "" {
		t.Fatal(request, err)
	}
	s := open(t, path)
	err = s.View(t.Context(), func(tx approvals.Tx) error {
		r, err := tx.RequestHead("T1", request)
		if err == nil && r.Outcome != approvals.OutcomeFailed {
			t.Errorf("the outcome is %q", r.Outcome)
		}
		return err
	})
	_, verr := approvals.VerifyAudit(t.Context(), s, approvals.VerifyOptions{})
	if err := errors.Join(err, verr); err != nil {
		t.Error(err)
	}
}

// TestFrozenJobs checks that every job is planned as it was.
func TestFrozenJobs(t *testing.T) {
	t.Parallel()
	forEachFrozen(t, func(t *testing.T, open func(testing.TB) *Store) {
		s := open(t)
		places := map[string]string{"work": "queue", "later": "scheduled"}
		n := 0
		for _, r := range frozenRecords(t) {
			var then struct {
				approvals.Job
				Gen       uint64
				Wants     []dueTime
				NotBefore time.Time `json:"not_before"`
			}
			if places[r.Bucket] == "" {
				continue
			}
			if err := json.Unmarshal(r.Record, &then); err != nil {
				t.Fatal(err)
			}
			if then.Gen == 0 { // a notification
				continue
			}
			n++
			err := s.view(t.Context(), func(tx *tx) error {
				now, err := tx.job(jobKey(then.Workspace, then.Kind, then.Job.ID))
				if err != nil {
					return err
				}
				then.Generation = then.Gen
				want := jobRecord{Job: then.Job, First: 1, DueTimes: then.Wants, NotBefore: then.NotBefore}
				if d := cmp.Diff(want, now.jobRecord); d != "" || string(now.bucket) != places[r.Bucket] {
					t.Errorf("%s is in %s (-then +now):\n%s", r.Key, now.bucket, d)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s: %v", r.Key, err)
			}
		}
		if n < 20 {
			t.Errorf("%d jobs were compared", n)
		}
	})
}
