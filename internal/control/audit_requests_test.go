package control

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
)

// exporter is a desk that has two requests to export, and may break off behind them.
type exporter struct {
	fakeDesk
	asked chan [2]time.Time // from and to of each export
	err   error
}

var exportedRequests = []*approvals.ExportedRequest{
	{Workspace: "T1", ID: "req_1", Created: time.Unix(1, 2).UTC(), Arguments: json.RawMessage(`{"a":"<b>"}`),
		Decisions: []approvals.ExportedDecision{{By: "T1/U1", Verdict: approvals.Approve}}, Audit: "ok"},
	{Workspace: "T1", ID: "req_2", Arguments: json.RawMessage(`{}`), Decisions: []approvals.ExportedDecision{},
		Audit: "it is another"},
}

func (e *exporter) ExportRequests(
	_ context.Context, what approvals.RequestExport, fn func(*approvals.ExportedRequest) error,
) error {
	e.asked <- [2]time.Time{what.From, what.To}
	if what.Progress != nil {
		what.Progress(1000)
		what.Progress(2000)
	}
	for _, r := range exportedRequests {
		if err := fn(r); err != nil {
			return err
		}
	}
	return e.err
}

// TestExportRequestsThroughTheSocket as they are; half of them are never taken for all.
func TestExportRequestsThroughTheSocket(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 1, 0, 0, 0, 5, time.UTC)
	for _, broken := range []error{nil, errors.New("disk on fire")} {
		desk := &exporter{err: broken, asked: make(chan [2]time.Time, 1)}
		_, c := serve(t, desk)
		var got []*approvals.ExportedRequest
		var read []int
		what := approvals.RequestExport{From: from}
		if broken == nil { // the other one is not asked for its progress
			what.Progress = func(n int) { read = append(read, n) }
		}
		err := c.ExportRequests(t.Context(), what, func(r *approvals.ExportedRequest) error {
			got = append(got, r)
			return nil
		})
		if (err == nil) != (broken == nil) {
			t.Errorf("%v", err)
		}
		if diff := cmp.Diff(exportedRequests, got); broken == nil && diff != "" {
			t.Errorf("(-want +have):\n%s", diff)
		}
		if broken == nil && !slices.Equal(read, []int{1000, 2000}) {
			t.Errorf("told of %d", read)
		}
		if asked := <-desk.asked; !asked[0].Equal(from) || !asked[1].IsZero() {
			t.Errorf("the bot was asked for %s to %s", asked[0], asked[1])
		}
	}
}
