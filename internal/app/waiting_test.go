package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"countersign/approvals"
	"countersign/store/storetest"
)

// TestWhatWaitsIsCounted in all workspaces: requests that wait for people, and what could not be delivered.
func TestWhatWaitsIsCounted(t *testing.T) {
	t.Parallel()
	st := storetest.NewMemory().Open()
	t.Cleanup(func() { st.Close() })
	fill := func(tx approvals.Tx) error {
		for i, ws := range []approvals.WorkspaceID{"T1", "T2"} {
			if err := tx.AppendAudit(&approvals.AuditEntry{Workspace: ws, ID: "aud_1", Action: "a"}); err != nil {
				return err
			}
			for j := range 120 + i { // more than is read at once
				n := &approvals.Notification{Workspace: ws, ID: approvals.NotificationID(fmt.Sprintf("ntf_%03d", j)),
					Place: approvals.Place{Surface: "slack", Channel: "C1", Thread: "1"}, Dead: time.Unix(1, 0)}
				if err := tx.PutNotification(n); err != nil {
					return err
				}
			}
			alive := &approvals.Notification{Workspace: ws, ID: "ntf_alive",
				Place: approvals.Place{Surface: "slack", Channel: "C1", Thread: "1"}}
			if err := tx.PutNotification(alive); err != nil {
				return err
			}
			for _, status := range []approvals.RequestStatus{approvals.RequestPending, approvals.RequestApproved} {
				r := &approvals.Request{RequestHead: approvals.RequestHead{Workspace: ws, Run: "run_1", Status: status,
					ID: approvals.RequestID("req_" + status)}}
				if err := tx.PutRequest(r); err != nil {
					return err
				}
			}
		}
		return nil
	}
	tr, err := newTrail(t.Context(), st, slog.New(slog.DiscardHandler), false)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(tr)
	compare := func(requests, letters int) {
		t.Helper()
		page := httptest.NewRecorder()
		handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
		handler.ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
		for name, n := range map[string]int{"requests_pending": requests, "dead_letters": letters} {
			want := fmt.Sprintf("# TYPE countersign_%[1]s gauge\ncountersign_%[1]s %[2]d\n", name, n)
			if !strings.Contains(page.Body.String(), want) {
				t.Errorf("want %q in:\n%s", want, page.Body)
			}
		}
	}
	compare(0, 0)
	if err := st.Update(t.Context(), fill); err != nil {
		t.Fatal(err)
	}
	tr.waiting.counted = time.Time{} // the numbers are old
	compare(2, 241)
}

// put commits records.
func put(t *testing.T, st approvals.Store, fn func(tx approvals.Tx) error) {
	t.Helper()
	if err := st.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// TestWaitingIsMeasured: how long the oldest waits, how many runs are where, and how many grants are active, as all of
// that changes.
func TestWaitingIsMeasured(t *testing.T) {
	t.Parallel()
	b := newTrailBench(t, slog.LevelError)
	now := time.Now()
	place := func(i int) approvals.Place {
		return approvals.Place{Surface: "slack", Channel: "C1", Thread: fmt.Sprint(i)}
	}
	run := func(tx approvals.Tx, i int, s approvals.RunStatus) error {
		r := &approvals.Run{Workspace: "T1", ID: approvals.RunID(fmt.Sprintf("run_%d", i)), Place: place(i), Status: s,
			Requester: "T1/U1", Created: now, Version: 1}
		if s == approvals.RunRunning {
			r.Owner, r.LeaseUntil = "w", now.Add(time.Hour)
		}
		return tx.PutRun(r)
	}
	request := func(tx approvals.Tx, i int, run approvals.RunID, asked time.Time, s approvals.RequestStatus) error {
		return tx.PutRequest(&approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T1", Run: run,
			ID: approvals.RequestID(fmt.Sprintf("req_%d", i)), Status: s, Created: asked}})
	}
	grant := func(id approvals.GrantID, expires time.Time, used int) *approvals.Grant {
		return &approvals.Grant{Workspace: "T1", ID: id, Agent: "a", Tool: "t", Expires: expires, Uses: 2, Used: used}
	}
	note := &approvals.Notification{Workspace: "T1", ID: "ntf_1", Place: place(1), Created: now.Add(-time.Hour)}
	younger := &approvals.Notification{Workspace: "T1", ID: "ntf_2", Place: place(2), Created: now}
	b.append(start, &approvals.AuditEntry{Action: approvals.AuditRunSubmitted})
	put(t, b.store, func(tx approvals.Tx) error {
		return errors.Join(
			run(tx, 1, approvals.RunQueued), run(tx, 2, approvals.RunRunning), run(tx, 3, approvals.RunRunning),
			run(tx, 4, approvals.RunWaiting), run(tx, 5, approvals.RunDone),
			request(tx, 1, "run_4", now.Add(-2*time.Hour), approvals.RequestPending),
			request(tx, 2, "run_4", now, approvals.RequestPending),
			request(tx, 3, "run_3", now, approvals.RequestPending), // of a run that works all the same
			request(tx, 4, "run_4", now.Add(-9*time.Hour), approvals.RequestApproved),
			tx.PutGrant(grant("grant_1", now.Add(time.Hour), 0)), tx.PutGrant(grant("grant_2", now.Add(time.Hour), 2)),
			tx.PutGrant(grant("grant_3", now.Add(-time.Hour), 0)), tx.PutGrant(grant("grant_4", now.Add(time.Hour), 1)),
			tx.PutNotification(note), tx.PutNotification(younger),
		)
	})
	b.numbers("countersign_requests_pending 3", `countersign_runs_active{status="queued"} 1`,
		`countersign_runs_active{status="running"} 2`, `countersign_runs_active{status="waiting"} 1`,
		"countersign_grants_active 2", "countersign_outbox_notifications 2")
	if age := b.gauge("countersign_request_oldest_pending_seconds"); age < 7200 || age > 7500 {
		t.Errorf("the oldest request has waited %g s", age)
	}
	if age := b.gauge("countersign_outbox_oldest_seconds"); age < 3600 || age > 3900 {
		t.Errorf("the oldest notification has waited %g s", age)
	}
	put(t, b.store, func(tx approvals.Tx) error {
		return errors.Join(request(tx, 1, "run_4", now, approvals.RequestApproved),
			request(tx, 2, "run_4", now, approvals.RequestApproved),
			request(tx, 3, "run_3", now, approvals.RequestExpired), tx.DeleteNotification(note),
			tx.DeleteNotification(younger), tx.PutGrant(grant("grant_4", now.Add(time.Hour), 2)),
			tx.PutGrant(grant("grant_5", now.Add(time.Hour), 0)))
	})
	b.numbers("countersign_grants_active 2") // counted a moment ago
	b.trail.waiting.counted = time.Now().Add(-waitingAge)
	b.numbers("countersign_requests_pending 0", "countersign_request_oldest_pending_seconds 0",
		`countersign_runs_active{status="waiting"} 0`, "countersign_outbox_notifications 0",
		"countersign_outbox_oldest_seconds 0", "countersign_grants_active 2")
	if n := len(b.trail.waiting.grants.open); n != 2 {
		t.Errorf("%d grants are remembered", n)
	}
}

// gauge reads one number off the page.
func (b *trailBench) gauge(name string) (v float64) {
	b.Helper()
	_, rest, found := strings.Cut(b.page(), "\n"+name+" ")
	if _, err := fmt.Sscan(rest, &v); !found || err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	return v
}
