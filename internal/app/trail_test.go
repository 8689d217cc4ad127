package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"countersign/approvals"
	"countersign/store/storetest"
)

// trailBench is a trail on a store, what it logs and what it counts.
type trailBench struct {
	*testing.T
	store    approvals.Store
	trail    *trail
	log      bytes.Buffer
	registry *prometheus.Registry
	seq      uint64
}

func newTrailBench(t *testing.T, level slog.Level) *trailBench {
	b := &trailBench{T: t, store: storetest.NewMemory().Open(), registry: prometheus.NewRegistry()}
	t.Cleanup(func() { b.store.Close() })
	log := slog.New(slog.NewJSONHandler(&b.log, &slog.HandlerOptions{Level: level}))
	var err error
	if b.trail, err = newTrail(t.Context(), b.store, log, false); err != nil {
		t.Fatal(err)
	}
	b.registry.MustRegister(b.trail)
	return b
}

// append commits entries of T1, sealed, at an instant.
func (b *trailBench) append(at time.Time, entries ...*approvals.AuditEntry) {
	b.Helper()
	err := b.store.Update(b.Context(), func(tx approvals.Tx) error {
		for i, e := range entries {
			e.Workspace, e.Seq, e.At = "T1", b.seq+uint64(i)+1, at
			e.ID = approvals.AuditID(fmt.Sprintf("aud_%09d", e.Seq))
			if err := tx.AppendAudit(e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.seq += uint64(len(entries))
}

func (b *trailBench) put(r approvals.RequestHead) {
	b.Helper()
	err := b.store.Update(b.Context(), func(tx approvals.Tx) error {
		return tx.PutRequest(&approvals.Request{RequestHead: r})
	})
	if err != nil {
		b.Fatal(err)
	}
}

// page is what a scrape reads.
func (b *trailBench) page() string {
	page := httptest.NewRecorder()
	promhttp.HandlerFor(b.registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	return page.Body.String()
}

// numbers fails the test unless the page has the lines.
func (b *trailBench) numbers(lines ...string) {
	b.Helper()
	page := b.page()
	for _, line := range lines {
		if !strings.Contains(page, line+"\n") {
			b.Errorf("want %q in:\n%s", line, page)
		}
	}
}

// logged are the lines so far.
func (b *trailBench) logged() (all []map[string]any) {
	b.Helper()
	for line := range bytes.Lines(b.log.Bytes()) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			b.Fatal(err)
		}
		all = append(all, fields)
	}
	return all
}

var start = time.Date(2026, 11, 2, 15, 0, 0, 0, time.UTC)

// auditFields are the facts that entries of the trail have, by the source of package approvals.
func auditFields(t *testing.T) (names []string) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "approvals", "audit_data.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`json:\"([a-z_]+),").FindAllStringSubmatch(string(source), -1) {
		names = append(names, m[1])
	}
	if len(names) < 30 {
		t.Fatalf("only %d facts", len(names))
	}
	return names
}

// TestLineHoldsListedFactsAlone: every fact of the trail is either a key of the lines or kept out of them on purpose.
func TestLineHoldsListedFactsAlone(t *testing.T) {
	t.Parallel()
	keptOut := []string{"bound", "digest", "epoch", "output", "place", "policy_hash", "policy_vars", "policy_version",
		"reason", "request", "requirement", "secret", "terms", "token"}
	facts := make(map[string]string)
	for _, name := range auditFields(t) {
		facts[name] = "canary " + name
	}
	data, err := json.Marshal(facts)
	if err != nil {
		t.Fatal(err)
	}
	b := newTrailBench(t, slog.LevelDebug)
	b.append(start, &approvals.AuditEntry{Action: approvals.AuditDecision, Actor: "T1/U1", Run: "run_1", Data: data})
	b.trail.finish(t.Context())
	line := b.logged()[0]
	for _, name := range keptOut {
		if strings.Contains(b.log.String(), "canary "+name+`"`) {
			t.Errorf("%s is logged: %s", name, &b.log)
		}
	}
	have := slices.DeleteFunc(slices.Sorted(maps.Keys(line)), func(key string) bool {
		return !strings.HasPrefix(fmt.Sprint(line[key]), "canary ")
	})
	want := slices.DeleteFunc(slices.Sorted(maps.Keys(facts)), func(key string) bool {
		return slices.Contains(keptOut, key)
	})
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("a fact of the trail is neither in eventKeys nor kept out here (-facts +keys):\n%s", diff)
	}
	if line["time"] == nil || line["msg"] != "decision.recorded" || line["workspace"] != "T1" ||
		line["actor"] != "T1/U1" || line["run"] != "run_1" || line["level"] != "INFO" {
		t.Errorf("%v", line)
	}
}

// TestLinesAreOfWhatWasCommitted, once each, however often they are looked for, and at the level that was asked for.
func TestLinesAreOfWhatWasCommitted(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]int{slog.LevelDebug: 3, slog.LevelInfo: 2, slog.LevelWarn: 0} {
		b := newTrailBench(t, level)
		b.append(start, &approvals.AuditEntry{Action: approvals.AuditRunSubmitted, Run: "run_1"},
			&approvals.AuditEntry{Action: approvals.AuditRunClaimed, Run: "run_1"})
		undone := errors.New("undone")
		err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
			e := &approvals.AuditEntry{Workspace: "T1", Seq: 3, ID: "aud_9", At: start}
			e.Action = approvals.AuditRunFailed
			return errors.Join(tx.AppendAudit(e), undone)
		})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		b.append(start, &approvals.AuditEntry{Action: approvals.AuditRunDone, Run: "run_1"})
		for range 3 {
			b.trail.finish(t.Context())
		}
		lines := b.logged()
		if len(lines) != want || strings.Contains(b.log.String(), "run.failed") {
			t.Errorf("%s: %d lines, want %d:\n%s", level, len(lines), want, &b.log)
		}
		if len(lines) > 0 && lines[len(lines)-1]["status"] != "done" {
			t.Errorf("%v", lines)
		}
		b.numbers(`countersign_audit_entries_total{action="run.done"} 1`)
		b.numbers(`countersign_audit_entries_total{action="run.failed"} 0`) // nothing uncommitted is in it
	}
}

// TestTrailFollows what is committed without being asked, and ends with its context.
func TestTrailFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTrailBench(t, slog.LevelInfo)
		ended := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- b.trail.follow(ctx) }()
		for i := range 3 {
			b.append(start, &approvals.AuditEntry{Action: approvals.AuditRunDone, Run: "run_1"})
			time.Sleep(trailEvery + time.Millisecond)
			synctest.Wait()
			if n := len(b.logged()); n != i+1 {
				t.Errorf("%d lines, want %d", n, i+1)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		b.append(start, &approvals.AuditEntry{Action: approvals.AuditRunDone, Run: "run_1"})
		b.trail.finish(ctx) // the last words, though the context has ended
		if n := len(b.logged()); n != 4 {
			t.Errorf("%d lines at the end", n)
		}
	})
}

// TestSettledRequestsAreCounted by how they ended, by policy, and by how long that took.
func TestSettledRequestsAreCounted(t *testing.T) {
	t.Parallel()
	b := newTrailBench(t, slog.LevelError)
	for i, policy := range []string{"money", "money", "default_policy"} {
		b.put(approvals.RequestHead{Workspace: "T1", ID: approvals.RequestID(fmt.Sprintf("req_%d", i)), Run: "run_1",
			Requirement: approvals.Requirement{Policy: policy}, Created: start, Status: approvals.RequestApproved})
	}
	at := func(d time.Duration, action approvals.AuditAction, id approvals.RequestID, data string) {
		e := &approvals.AuditEntry{Action: action, Run: "run_1", Request: id}
		if data != "" {
			e.Data = json.RawMessage(data)
		}
		b.append(start.Add(d), e)
	}
	at(2*time.Second, approvals.AuditDecisionRefused, "req_0", `{"why":"unauthorized"}`)
	at(10*time.Second, approvals.AuditRequestApproved, "req_0", "")
	at(20*time.Minute, approvals.AuditRequestExpired, "req_1", "")
	at(time.Minute, approvals.AuditRequestRejected, "req_2", "")
	at(time.Minute, approvals.AuditRequestRejected, "req_gone", "")
	at(time.Minute, approvals.AuditRequestUnmet, "", `{"policy":"money"}`)
	at(time.Second, approvals.AuditDecision, "req_0", `{"verdict":"approve"}`)
	b.numbers(
		`countersign_decisions_total{verdict="approve"} 1`, `countersign_decisions_total{verdict="break_glass"} 0`,
		`countersign_requests_settled_total{policy="money",status="approved"} 1`,
		`countersign_requests_settled_total{policy="money",status="expired"} 1`,
		`countersign_requests_settled_total{policy="default_policy",status="rejected"} 1`,
		`countersign_requests_settled_total{policy="-",status="rejected"} 1`,
		`countersign_decisions_refused_total{policy="money",why="unauthorized"} 1`,
		`countersign_requests_unmet_total{policy="money"} 1`,
		`countersign_request_seconds_bucket{status="approved",le="5"} 0`,
		`countersign_request_seconds_bucket{status="approved",le="15"} 1`,
		`countersign_request_seconds_sum{status="expired"} 1200`,
		`countersign_request_seconds_count{status="rejected"} 1`,
	)
}

// TestPoliciesAsLabels: names of policies, which change with the agents file, do not make ever more series.
func TestPoliciesAsLabels(t *testing.T) {
	t.Parallel()
	b := newTrailBench(t, slog.LevelError)
	for i := range policiesNamed + 50 {
		b.append(start, &approvals.AuditEntry{Action: approvals.AuditRequestUnmet,
			Data: json.RawMessage(fmt.Sprintf(`{"policy":"p%d"}`, i))})
	}
	page := b.page()
	if n := strings.Count(page, "countersign_requests_unmet_total{"); n != policiesNamed+1 {
		t.Errorf("%d series, want %d", n, policiesNamed+1)
	}
	b.numbers(`countersign_requests_unmet_total{policy="(others)"} 50`)
}
