package bot

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/approvals"
)

// together is how many characters all texts of a message may have: it is written nowhere, and was found out by people.
const together = 13_200

// TestEveryCardIsBounded: whatever a request is about and however it stands, its card stays below what Slack takes: 50
// blocks, 3,000 characters in one text, and all texts together.
func TestEveryCardIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.OneOf(hostile(), rapid.Just("plain words and "), rapid.Just("x")).Draw(t, "unit") + "-"
		size := rapid.OneOf(rapid.IntRange(0, 16<<10), rapid.IntRange(8<<10, 13<<10)).Draw(t, "size")
		r := anyKind(memo(t, unit, size)).Draw(t, "request")
		r.Kind = rapid.SampledFrom(everyQuestion).Draw(t, "question")
		r.Status = rapid.SampledFrom([]approvals.RequestStatus{
			approvals.RequestPending, approvals.RequestApproved, approvals.RequestRejected, approvals.RequestExpired,
			approvals.RequestCancelled, approvals.RequestStale,
		}).Draw(t, "status")
		r.Note = strings.Repeat(unit, rapid.IntRange(0, 400).Draw(t, "note"))
		for range rapid.IntRange(0, 30).Draw(t, "decisions") {
			r.Decisions = append(r.Decisions, approvals.Decision{
				By: user("U0BEN"), Verdict: approvals.Reject, Reason: strings.Repeat(unit, maxReason/len(unit)),
			})
		}
		bounded(t, r)
	})
	largest := 0
	for size := 0; size <= together; size += 100 {
		largest = max(largest, bounded(t, transfer(memo(t, "plain words and ", size))))
	}
	if largest < together/2 {
		t.Errorf("the largest card has %d characters: the limit was not tried", largest)
	}
}

// memo is arguments of about this size.
func memo(t interface{ Fatalf(string, ...any) }, unit string, size int) string {
	text, err := json.Marshal(map[string]string{"a": strings.Repeat(unit, size/len(unit)+1)})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(text)
}

// bounded fails unless Slack takes the request's card, and returns how many characters it has.
func bounded(t interface{ Fatalf(string, ...any) }, r *approvals.Request) (sum int) {
	const each = 3000
	c := newCard(r)
	blocks := decoded(t, c.blocks)
	walkText(blocks, func(kind, text string) {
		if kind != "text" && kind != "plain_text" {
			return
		}
		if sum += units(text); units(text) > each {
			t.Fatalf("a text of %d characters", units(text))
		}
	})
	if len(blocks) > maxBlocks || sum > together || units(c.text.fallback()) > each {
		t.Fatalf("a card of %d blocks with %d characters, and %d beside them",
			len(blocks), sum, units(c.text.fallback()))
	}
	return sum
}
