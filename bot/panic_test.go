package bot

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestPanicMayHaveRecorded: where code panics that records answers, some of them may be recorded. Nobody is told that
// none is.
func TestPanicMayHaveRecorded(t *testing.T) {
	t.Parallel()
	const unsure = "I cannot tell whether this was recorded"
	// panicAt has the nth decision panic after it was recorded.
	panicAt := func(s *stage, n int) {
		s.service.kept = func() {
			if n--; n == 0 {
				panic("a defect")
			}
		}
	}
	t.Run("a click", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, setUp{slack: slackdev.Config{AckTimeout: 200 * time.Millisecond}})
		r := transfer(small)
		card := s.show(r)
		panicAt(s, 1)
		_ = s.click("U0BEN", card, "reject")
		s.whispered("U0BEN", unsure)
		if got := s.service.get(r.ID); got.Status != approvals.RequestRejected {
			t.Errorf("this is no test: the request is %s", got.Status)
		}
	})
	t.Run("several at once", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, setUp{})
		var n batchNote
		for _, last := range "abc" {
			r := transfer(small)
			r.ID = r.ID[:len(r.ID)-1] + approvals.RequestID(last)
			s.service.put(r)
			n.Items = append(n.Items, approvals.BatchItem{Request: r.ID, Digest: r.Digest})
		}
		panicAt(s, 2)
		id, err := s.bot.client.identify(s.ctx())
		if err != nil {
			t.Fatal(err)
		}
		by := approvals.NewUserID(id.workspace, "U0BEN")
		sent := submitted{act: actApproveAll, id: id, by: by}
		sent.arrived, sent.View = time.Now(), &view{ID: "V1"}
		said, err := json.Marshal(s.bot.submitBatch(s.ctx(), sent, n).payload)
		if err != nil || !strings.Contains(string(said), unsure) {
			t.Errorf("the window says %s, %v", said, err)
		}
		if got := s.service.get(n.Items[0].Request); got.Status != approvals.RequestApproved {
			t.Errorf("this is no test: the first request is %s", got.Status)
		}
	})
}
