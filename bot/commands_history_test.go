package bot

import (
	"strings"
	"testing"
	"time"

	"countersign/approvals"
)

// TestHistory lists what was decided, the newest first and page by page, with both facts and who decided.
func TestHistory(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	all := listed(s, 40)
	when := time.Unix(1_800_000_000, 0)
	for i, r := range all[:38] {
		r.Status, r.Settled, r.Outcome, r.OutcomeAt = approvals.RequestApproved, when, approvals.OutcomeRan, when
		r.Decisions = []approvals.Decision{{By: user("U0BEN"), Verdict: approvals.Approve, At: when}}
		r.Tool.Name = "pay <!channel> *now*"
		if i == 37 {
			r.Status, r.Outcome = approvals.RequestRejected, approvals.OutcomeNotRun
			r.Decisions[0].Verdict = approvals.Reject
		}
	}
	seen := map[string]bool{}
	text, pages := "history all", 0
	for ; text != "" && pages < 10; pages++ {
		m := s.command("U0BEN", text)
		shown := texts(t, m.Blocks)
		for _, r := range all {
			if strings.Contains(shown, string(r.ID)) {
				seen[string(r.ID)] = true
			}
		}
		if pages == 0 {
			first, second := strings.Index(shown, string(all[37].ID)), strings.Index(shown, string(all[36].ID))
			if first < 0 || second < first {
				t.Errorf("the newest is not the first in %s", shown)
			}
			for _, part := range []string{"Rejected", "not run", "Approved", "ran", "U0BEN"} {
				if !strings.Contains(shown, part) {
					t.Errorf("%q is not in %s", part, shown)
				}
			}
		}
		for _, b := range m.Buttons() {
			if b.ActionID != "list_next" && b.ActionID != "list_first" {
				t.Errorf("the history offers %s", b.ActionID)
			}
		}
		if strings.Contains(m.Text, "<!channel>") {
			t.Errorf("markup in %q", m.Text)
		}
		_, after, more := strings.Cut(m.Text, " after ")
		text = ""
		if more {
			text = "history all after " + strings.Fields(after)[0]
		}
	}
	if len(seen) != 38 || pages > 4 {
		t.Errorf("%d pages list %d of 38 requests", pages, len(seen))
	}
	for _, r := range all[38:] {
		if seen[string(r.ID)] {
			t.Errorf("%s waits", r.ID)
		}
	}
	if m := s.command("U0BEN", "history"); !strings.Contains(m.Text, "Nothing that you asked for") {
		t.Errorf("ben asked for nothing: %s", m.Text)
	}
	if m := s.command("U0ANN", "history mine"); !strings.Contains(m.Text, "/approvals history mine after req_") {
		t.Errorf("what ann asked for: %s", m.Text)
	}
	last := "history all after " + string(all[0].ID)
	if m := s.command("U0BEN", last); !strings.Contains(m.Text, "Nothing older was decided") {
		t.Errorf("behind the last: %s", m.Text)
	}
}

// TestHistoryWithoutAnythingForYou: a page on which nothing is for the viewer says among which requests it looked.
func TestHistoryWithoutAnythingForYou(t *testing.T) {
	t.Parallel()
	for after, want := range map[approvals.RequestID]string{
		"":       "were decided last is for you. There are more: ",
		"req_10": "that come next is for you. There are more: ",
	} {
		l := list{of: listing{listAllHistory, after}, more: "req_1"}
		got := l.titleOfReply().fallback()
		if !strings.Contains(got, want) || !strings.Contains(got, "history all after req_1") {
			t.Errorf("after %q: %s", after, got)
		}
	}
}
