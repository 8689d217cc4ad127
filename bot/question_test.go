package bot

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// wonder is a question of an agent, with these options.
func wonder(options []string) *approvals.Request {
	args := map[string]any{"question": "Which <!channel> *colour* shall it have?\nCleo likes blue."}
	if options != nil {
		args["options"] = options
	}
	r := of(approvals.ToolSnapshot{Name: "ask_team", Kind: agent.KindAsk, Description: "Asks the team."}, args)
	r.Kind, r.Requirement.Seats = agent.ExternalResult, approvals.Quorum(2, approvals.Approvers{ChannelMembers: true})
	return r
}

// questionCards are cards of questions that wait, and that have ended.
func questionCards() map[string]*approvals.Request {
	options := []string{"blue", "<@U0ANN> & `red`", "neither"}
	ended := func(
		status approvals.RequestStatus, outcome approvals.Outcome, all ...approvals.Decision,
	) *approvals.Request {
		r := wonder(options)
		r.Status, r.Version, r.Settled, r.Decisions = status, 2, r.Created.Add(4*time.Minute), all
		r.Outcome, r.OutcomeAt = outcome, r.Settled
		return r
	}
	several := wonder(options)
	several.Arguments = []byte(strings.Replace(string(several.Arguments), `{`, `{"several":true,`, 1))
	return map[string]*approvals.Request{
		"pending": wonder(options), "several": several, "words": wonder(nil),
		"answered": ended(approvals.RequestApproved, approvals.OutcomeRan,
			approvals.Decision{By: user("U0BEN"), Verdict: approvals.Answer, Reason: "Asked Cleo.",
				Answers: options[1:2]}),
		"rejected": ended(approvals.RequestRejected, approvals.OutcomeNotRun,
			approvals.Decision{By: user("U0BEN"), Verdict: approvals.Reject}),
		"expired": ended(approvals.RequestExpired, approvals.OutcomeNotRun),
	}
}

// TestQuestionCardsOfferNoApproval offers to decline, and nothing that would let a call run or report a result.
func TestQuestionCardsOfferNoApproval(t *testing.T) {
	t.Parallel()
	for name, r := range questionCards() {
		c := newCard(r)
		raw, err := json.Marshal(c.blocks)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []string{"approve", "provide_result", "retry", "Approve", "The call ", "mrkdwn"} {
			if strings.Contains(string(raw), wrong) {
				t.Errorf("%s holds %q:\n%s", name, wrong, raw)
			}
		}
		if strings.Contains(string(raw), `"action_id":"reject"`) != (r.Status == approvals.RequestPending) {
			t.Errorf("%s: reject is not where it belongs:\n%s", name, raw)
		}
		shown := texts(t, raw)
		want := "@U0ANN's agent ops asks:Which <!channel> *colour* shall it have?\nCleo likes blue."
		if r.Status == approvals.RequestPending && !strings.Contains(shown, want) {
			t.Errorf("%s does not ask: %s", name, shown)
		}
		if r.Status == approvals.RequestPending && !strings.Contains(shown, "decide "+string(r.ID)+" --answer ") {
			t.Errorf("%s does not say how to answer: %s", name, shown)
		}
		if text := fmt.Sprint(c.text...); strings.Contains(text, "colour") {
			t.Errorf("%s: the notification holds the question: %s", name, text)
		}
	}
}
