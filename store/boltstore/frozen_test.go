package boltstore

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"countersign/agent"
	"countersign/approvals"
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
	path := newPath(t)
	if err := os.WriteFile(path, gunzipped(t, "testdata/format2.db.gz"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
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
	s := open(t, frozenStore(t))
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
	s := open(t, frozenStore(t))
	place := approvals.Place{Surface: "slack", Channel: "C1OPS", Thread: "946684800.000200"}
	var got []string
	err := s.View(t.Context(), func(tx approvals.Tx) error {
		list, err := tx.Inputs("T1", place, 10)
		for _, in := range list {
			got = append(got, fmt.Sprint(in.By.Local(), " ", in.At.Format(time.TimeOnly), " ", in.Message, " ", in.Text))
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
}

// TestFrozenOutcomes checks what the store says became of calls of which format 2 did not say so.
func TestFrozenOutcomes(t *testing.T) {
	t.Parallel()
	s := open(t, frozenStore(t))
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
}

// TestFrozenRunsGoOn decides everything that waits in a store which an earlier version of the program wrote, by the
// people of that time: every run ends, each call has run as often as it should, and the audit chains go on.
func TestFrozenRunsGoOn(t *testing.T) {
	t.Parallel()
	path := frozenStore(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(48 * time.Hour) // it is January 2000 in a bubble; the last entry of the file is an hour old
		s := open(t, path)
		defer s.Close()
		w := newFrozenWorld(t)
		svc, stop := w.start(t, s)
		for answered := -1; answered != 0; {
			calm()
			answered = answerAll(t, svc)
		}
		stop()
		report, err := svc.VerifyAudit(t.Context())
		if err := errors.Join(err, s.Check(t.Context())); err != nil {
			t.Errorf("%+v: %v", report, err)
		}
		for id, status := range runStatuses(t, s) {
			if want := frozenEnds(status); status != want {
				t.Errorf("run %s is %s", id, status)
			}
		}
		want := map[string]int{"pay": 4, "wire": 1, "restart": 4, "drop": 2, "tune": 1}
		if d := cmp.Diff(want, w.ran); d != "" {
			t.Errorf("executions by tool (-want +got):\n%s", d)
		}
		if n := w.posts; n == 0 {
			t.Error("nothing was posted")
		}
	})
}

// calm waits until nothing is under way that needs less than a few seconds.
func calm() {
	for range 50 {
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
	}
}

// answerAll answers what waits, in the affirmative, and returns how much that was.
func answerAll(t *testing.T, svc *approvals.Service) (n int) {
	t.Helper()
	for _, ws := range []approvals.WorkspaceID{"T1", "T2"} {
		page, err := svc.Pending(t.Context(), approvals.PendingQuery{Workspace: ws, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Requests {
			d := approvals.Decision{Workspace: ws, Request: r.ID, By: approvals.NewUserID(ws, "UCARA"),
				Verdict: approvals.Approve, Digest: r.Digest, Via: "button"}
			if r.Place.Direct {
				d.By = r.Requester
			}
			switch r.Kind {
			case agent.OutcomeUnknown:
				d.Verdict, d.Reason = approvals.MarkDone, "I looked: it happened"
			case agent.ExternalResult:
				d.Verdict, d.Reason = approvals.ProvideResult, "deployed by hand"
			}
			if _, err := svc.Decide(t.Context(), d); err != nil {
				t.Errorf("decide %s of %s: %v", r.ID, r.Tool.Name, err)
				return 0
			}
			n++
		}
	}
	return n
}

func runStatuses(t *testing.T, s *Store) map[string]approvals.RunStatus {
	t.Helper()
	statuses := make(map[string]approvals.RunStatus)
	err := s.view(t.Context(), func(tx *tx) error {
		return tx.scan(bucketRuns, nil, nil, func(k, v []byte) (bool, error) {
			if countParts(k) != 2 {
				return true, nil
			}
			r := new(approvals.Run)
			err := tx.decode(bucketRuns, k, v, r)
			statuses[fmt.Sprint(r.Workspace, " ", r.ID, " of ", r.Agent)] = r.Status
			return true, err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return statuses
}

// frozenEnds returns how a run of that status should have ended: done, unless it failed or was cancelled already.
func frozenEnds(status approvals.RunStatus) approvals.RunStatus {
	if status == approvals.RunFailed || status == approvals.RunCancelled {
		return status
	}
	return approvals.RunDone
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
