package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"countersign/approvals"
	"countersign/internal/report"
)

func day(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }

var firstDay = report.Window{From: day(1), To: day(2)}

func silent(int) {}

// TestReport counts what the store has, page by page, with and without the socket between.
func TestReport(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	all := newTestRequests()
	for i := range 2*reportPage + 1 {
		r := named(approvals.RequestID(fmt.Sprintf("req_more_%05d", i)))
		r.Workspace, r.Run, r.Created, r.Status = "T2", "run_9", day(1), approvals.RequestPending
		all = append(all, r)
	}
	putRequests(t, st, all)
	local := &Local{Store: headsOnly{st}} // the arguments of calls are not read
	_, client := serve(t, local)
	for ws, want := range map[approvals.WorkspaceID]int{"": len(all), "T1": 12, "T2": 12 + 2*reportPage + 1} {
		q := ReportQuery{Window: firstDay, Workspace: ws}
		here, err := local.Report(t.Context(), q, silent)
		if err != nil {
			t.Fatal(err)
		}
		there, err := client.Report(t.Context(), q, silent)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(here, there, cmpopts.IgnoreFields(report.Report{}, "Generated")); diff != "" {
			t.Errorf("workspace %q (-on the store +through the socket):\n%s", ws, diff)
		}
		if here.Asked.Requests != want || here.Generated.IsZero() || len(here.Trails) != len(here.Workspaces) ||
			ws != "" && !slices.Equal(here.Workspaces, []approvals.WorkspaceID{ws}) {
			t.Errorf("workspace %q: %d asked, want %d; of %q", ws, here.Asked.Requests, want, here.Workspaces)
		}
	}
	for _, desk := range []Desk{local, client} {
		q := ReportQuery{Window: report.Window{From: day(2), To: day(2)}}
		if _, err := desk.Report(t.Context(), q, silent); !errors.Is(err, approvals.ErrInvalid) {
			t.Errorf("an empty window: %v", err)
		}
		q = ReportQuery{Window: firstDay, Workspace: "T9"}
		if _, err := desk.Report(t.Context(), q, silent); !errors.Is(err, approvals.ErrNotFound) {
			t.Errorf("an unknown workspace: %v", err)
		}
	}
}

// twice is a store that refuses what was read first, as a server does of which the connection is lost: it reads again.
type twice struct{ approvals.Store }

func (s twice) View(ctx context.Context, fn func(approvals.Tx) error) error {
	_ = s.Store.View(ctx, fn)
	return s.Store.View(ctx, fn)
}

// TestReportReadsAgain counts every request once where each page has to be read a second time.
func TestReportReadsAgain(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	var all []*approvals.Request
	for i := range reportPage + 1 {
		r := named(approvals.RequestID(fmt.Sprintf("req_%05d", i)))
		r.Workspace, r.Run, r.Created, r.Status = "T2", "run_9", day(1), approvals.RequestPending
		all = append(all, r)
	}
	putRequests(t, st, all)
	r, err := (&Local{Store: twice{st}}).Report(t.Context(), ReportQuery{Window: firstDay}, silent)
	if err != nil || r.Asked.Requests != len(all) {
		t.Errorf("%d asked, want %d, %v", r.Asked.Requests, len(all), err)
	}
}

// TestReportThroughSocket tells meanwhile how far it is, and facts of errors.
func TestReportThroughSocket(t *testing.T) {
	t.Parallel()
	desk := &fakeDesk{report: report.New(firstDay).Report()}
	_, c := serve(t, desk)
	var told []int
	q := ReportQuery{Window: firstDay, Workspace: "T1"}
	r, err := c.Report(t.Context(), q, func(read int) { told = append(told, read) })
	if diff := cmp.Diff(desk.report, r); diff != "" || err != nil {
		t.Errorf("%v (-want +have):\n%s", err, diff)
	}
	if !slices.Equal(told, []int{10_000, 20_000}) || desk.reported != q {
		t.Errorf("told %d, asked for %+v", told, desk.reported)
	}
	q.Window.To = day(3)
	if r, err := c.Report(t.Context(), q, silent); !errors.Is(err, errOtherVersion) {
		t.Errorf("a report of another window was taken: %v, %v", r, err)
	}
	desk.err = approvals.ErrLimit
	if r, err := c.Report(t.Context(), q, silent); !errors.Is(err, approvals.ErrLimit) || r != nil {
		t.Errorf("%v, %v", r, err)
	}
}

// TestReportBreaksOff and no part of it is taken for the whole.
func TestReportBreaksOff(t *testing.T) {
	t.Parallel()
	_, c := serve(t, &brokenDesk{})
	if r, err := c.Report(t.Context(), ReportQuery{Window: firstDay}, silent); err == nil || r != nil {
		t.Errorf("%v, %v", r, err)
	}
}

// brokenDesk breaks off while it makes a report.
type brokenDesk struct{ fakeDesk }

func (*brokenDesk) Report(_ context.Context, _ ReportQuery, progress func(int)) (*report.Report, error) {
	progress(10_000)
	panic(http.ErrAbortHandler)
}
