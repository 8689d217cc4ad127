package bot

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/agent/scripted"
	"countersign/approvals"
)

// TestEditorsCopyLeadsToWhatIsAskedNow: Dan changes a call that he was shown in a direct message. He may not decide
// about it then, so that no card follows there: the one that he has leads to the question that is asked now.
func TestEditorsCopyLeadsToWhatIsAskedNow(t *testing.T) {
	t.Parallel()
	w := newOffice(t, namedPolicy{who: approvals.Approvers{Users: usersOf("U0BEN", "U0DAN")}},
		pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	own := w.copyIn(w.slack.DM("U0DAN"))
	r := w.pendingFor("U0DAN")[0]
	if _, err := w.engine.Decide(w.ctx(), approvals.Decision{
		Workspace: testWorkspace, Request: r.ID, By: user("U0DAN"), Verdict: approvals.Edit, Digest: r.Digest,
		Arguments: json.RawMessage(`{"amount":400,"to":"acme"}`), Via: "cli",
	}); err != nil {
		t.Fatal(err)
	}
	w.settledAt(own, "Stale")
	now := requestOf(t, w.card(thread, 2))
	m, _ := w.slack.Message(own.Channel, own.TS)
	for _, part := range []string{wordsAskedAnew + now, "/archives/C0GENERAL/p"} {
		if said := texts(t, m.Blocks) + string(m.Blocks); !strings.Contains(said, part) {
			t.Errorf("%q is not in %s", part, texts(t, m.Blocks))
		}
	}
	if n := len(w.cardsIn(own.Channel)); n != 1 {
		t.Errorf("Dan, who may not decide about his own change, has %d cards", n)
	}
}
