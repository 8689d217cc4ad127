package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReportOfARun counts what was asked and decided, beside a running bot and without one.
func TestReportOfARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	thread := w.mention("pay 5")
	w.card(thread, 1)
	w.must("approvals", "decide", w.pending(), "--approve", "--as", ben)
	w.answer(thread, "R-1")
	w.card(w.mention("pay 6"), 1)
	w.sealed()
	for _, running := range []bool{true, false} {
		if !running {
			bot.stop()
		}
		var got struct {
			Asked   struct{ Requests, Trail int }
			Decided struct {
				Approved, Rejected int
				Rate               *float64 `json:"approval_rate"`
			}
			Pending   struct{ Requests int }
			Tools     []struct{ Name string }
			Approvers []struct {
				Person string
				Given  int
			}
			Calls  struct{ Request int }
			Trails []struct {
				Workspace, Head string
				Entries         uint64
			}
		}
		out := w.must("audit", "report", "--from", "1h", "--format", "json")
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		if got.Asked.Requests != 2 || got.Asked.Trail != 2 || got.Pending.Requests != 1 || got.Decided.Approved != 1 ||
			got.Decided.Rejected != 0 || got.Decided.Rate == nil || *got.Decided.Rate != 1 || len(got.Tools) != 1 ||
			got.Tools[0].Name != "pay" || len(got.Approvers) != 1 || got.Approvers[0].Given != 1 ||
			!strings.HasSuffix(got.Approvers[0].Person, ben) || got.Calls.Request != 1 || len(got.Trails) != 1 {
			t.Errorf("running %v: %s", running, out)
		}
		head := got.Trails[0].Head
		if verified := w.must("audit", "verify", "--head", head); !strings.Contains(verified, head) {
			t.Errorf("running %v: the head of the report is not the one of the trail:\n%s", running, verified)
		}
		if text := w.must("audit", "report", "--from", "1h"); !strings.Contains(text, "APPROVAL REPORT") ||
			!strings.Contains(text, head) {
			t.Errorf("running %v:\n%s", running, text)
		}
		page := filepath.Join(t.TempDir(), "report.html")
		w.must("audit", "report", "--from", "1h", "-o", page)
		if b, err := os.ReadFile(page); err != nil || !strings.HasPrefix(string(b), "<!DOCTYPE html>") ||
			!strings.Contains(string(b), head) {
			t.Errorf("running %v: %v", running, err)
		}
		if _, complaint, code := w.run("audit", "report", "--from", "1h", "--workspace", "T9"); code != 1 ||
			!strings.Contains(complaint, "there is no workspace") {
			t.Errorf("running %v: an unknown workspace: %d %s", running, code, complaint)
		}
	}
	if _, complaint, code := w.run("audit", "report"); code != 2 || !strings.Contains(complaint, "--month") {
		t.Errorf("without a window: %d %s", code, complaint)
	}
}
