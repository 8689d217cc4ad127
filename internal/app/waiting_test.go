package app

import (
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
	tr, err := newTrail(t.Context(), st, slog.New(slog.DiscardHandler))
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
