package approvals_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"countersign/approvals"
)

// TestSecretChangedTwice: a call that is changed twice is masked in every request about it, old and new, and in what
// is said of the run.
func TestSecretChangedTwice(t *testing.T) {
	t.Parallel()
	b, r := secretly(t, lenient())
	second := b.edited(r, bob, `{"amount":6,"memo":"canary-815"}`)
	third := b.edited(second, cara, `{"amount":6,"memo":"canary-0042"}`)
	if _, err := b.reveal(second, bob); !errors.Is(err, approvals.ErrConflict) && !errors.Is(err, approvals.ErrStale) {
		t.Errorf("a request that was replaced is revealed: %v", err)
	}
	for _, q := range b.requests(r.Run) {
		if !strings.Contains(string(q.Arguments), "canary") {
			t.Errorf("control: %s does not hold a value", q.ID)
		}
		texts := []string{q.Shown(), q.ShownOriginal()}
		for _, c := range q.Changes() {
			texts = append(texts, c.String())
		}
		masked, err := json.Marshal(q.Mask())
		if texts = append(texts, string(masked)); err != nil || strings.Contains(strings.Join(texts, "\n"), "canary") {
			t.Errorf("%s: %v, %q", q.ID, err, texts)
		}
	}
	b.must(third, ann, approvals.Approve, "")
	b.reaches(r.Run, approvals.RunDone)
	rec, err := approvals.ReadRun(t.Context(), b.store, ws, r.Run)
	if err != nil {
		t.Fatal(err)
	}
	rec.Output = ""
	if text, err := json.Marshal(rec); err != nil || strings.Contains(string(text), "canary") {
		t.Errorf("the run: %v, %s", err, text)
	}
	for _, p := range b.surface.all() {
		if strings.Contains(p.text, "canary") && p.kind != approvals.NotifyAnswer {
			t.Errorf("posted %q", p.text)
		}
	}
}
