package bot

import (
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestExpiredCardsSayWhatIsSafe: a call that was never begun is asked for again; where it may have happened people find
// out first, so that nothing happens twice.
func TestExpiredCardsSayWhatIsSafe(t *testing.T) {
	t.Parallel()
	const again, first = "Ask again to have it asked again", "Find out whether it happened before you ask for it again"
	for name, tt := range map[string]struct {
		kind    agent.InterruptionKind
		outcome approvals.Outcome
		want    string
	}{
		"a call":                         {agent.Confirm, approvals.OutcomeNotRun, again},
		"values":                         {agent.FieldsRequired, approvals.OutcomeNotRun, again},
		"a result":                       {agent.ExternalResult, approvals.OutcomeUnknown, first},
		"a result of a call never sent":  {agent.ExternalResult, approvals.OutcomeNotRun, again},
		"what became of a call":          {agent.OutcomeUnknown, approvals.OutcomeUnknown, first},
		"what became of one, not stored": {agent.OutcomeUnknown, approvals.OutcomeNone, first},
	} {
		r := transfer(small)
		r.Kind, r.Status, r.Outcome = tt.kind, approvals.RequestExpired, tt.outcome
		r.Settled = r.Created
		shown := texts(t, encoded(t, newCard(r)))
		if !strings.Contains(shown, tt.want) || strings.Contains(shown, again) != (tt.want == again) {
			t.Errorf("%s: the card shows %q, want %q", name, shown, tt.want)
		}
	}
}

// TestRetryThatNeverBeganLeadsNowhere: a call was to be tried again, and the run was cancelled first. No card asks what
// became of that, so this one leads to none, and says why.
func TestRetryThatNeverBeganLeadsNowhere(t *testing.T) {
	t.Parallel()
	r := transfer(small)
	r.Kind, r.Status, r.Settled = agent.OutcomeUnknown, approvals.RequestApproved, r.Created
	r.Outcome = approvals.OutcomeUnknown
	r.Decisions = []approvals.Decision{{By: user("U0CLEO"), Verdict: approvals.Retry, At: r.Created}}
	r.CancelledBy, r.Note = user("U0ANN"), "The run ended first."
	shown := texts(t, encoded(t, newCard(r)))
	if strings.Contains(shown, "the thread says more") || !strings.Contains(shown, "@U0ANN cancelled the run first") {
		t.Errorf("the card shows %q", shown)
	}
}
