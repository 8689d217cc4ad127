package bot

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
)

// What pictures of cards showed that a reader stumbles over.

// TestHeadlineIsWrittenOutOnce: what cannot be seen is written out in a headline once, not what was written out again.
func TestHeadlineIsWrittenOutOnce(t *testing.T) {
	t.Parallel()
	r := transfer("{\"memo\":\"ok\u202Eno\",\"to\":\"acme\"}")
	if got := question(r); got != `transfer_funds: ok\u{202E}no, acme` {
		t.Errorf("the headline is %s", got)
	}
}

// TestHeadlineLeavesSecretsOut: the mask of a secret value says nothing to somebody in a hurry.
func TestHeadlineLeavesSecretsOut(t *testing.T) {
	t.Parallel()
	r := transfer(`{"amount":5,"memo":"hush hush","to":"acme"}`)
	r.Secret = []string{"memo"}
	if got := question(r); got != "transfer_funds: 5, acme" {
		t.Errorf("the headline is %s", got)
	}
}

// TestSettledLineReadsAsASentence: the time stands with the person, not behind what the answer means, values that were
// filled in are no JSON, and nothing is said to be below where nothing is.
func TestSettledLineReadsAsASentence(t *testing.T) {
	t.Parallel()
	settled := func(r *approvals.Request, v approvals.Verdict) *approvals.Request {
		r.Status, r.Settled = approvals.RequestApproved, r.Created.Add(4*time.Minute)
		r.Decisions = []approvals.Decision{{By: user("U0BEN"), Verdict: v, At: r.Settled}}
		return r
	}
	always := settled(transfer(`{"amount":5}`), approvals.AlwaysApprove)
	if got := ending(always).fallback(); !strings.Contains(got, "09:34 UTC, always, until this run ends") {
		t.Errorf("a standing answer: %s", got)
	}
	filled := settled(booking(), approvals.ProvideInput)
	filled.Decisions[0].Input = json.RawMessage(`{"date":"2026-12-01","guests":4}`)
	if got := ending(filled).fallback(); !strings.Contains(got, "values filled in: date 2026-12-01, guests 4 ·") {
		t.Errorf("filled in: %s", got)
	}
	expired := deploy()
	expired.Status, expired.Settled = approvals.RequestExpired, expired.Created
	expired.Outcome = approvals.OutcomeUnknown
	if got := ending(expired).fallback(); !strings.HasSuffix(got, "unknown whether it ran") {
		t.Errorf("expired: %s", got)
	}
}

// TestSecretsAreSpokenOfOnce in the details of a pending request.
func TestSecretsAreSpokenOfOnce(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(detailsView(secretTransfer(), 0, rights{decide: true}).Blocks)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(texts(t, raw), "Secret, and not shown"); n != 1 {
		t.Errorf("said %d times", n)
	}
}
