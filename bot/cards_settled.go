package bot

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/humanize"
)

// settledCard renders a request that waits for nobody: two lines and one in small print. What was decided, by whom and
// when, and what became of the call; all else is in the details.
func settledCard(r *approvals.Request) card {
	text := append(outcome(r), ", asked for by ", r.Requester)
	if became := whatBecame(r); became != nil {
		text = append(append(text, ". "), became...)
	}
	c := card{text: text, blocks: settledBlocks(r), whole: true}
	var ok bool
	if c.encoded, ok = fitted(c.blocks); !ok {
		return c.shortened(r)
	}
	return c
}

func settledBlocks(r *approvals.Request) []slack.Block {
	first := phrase{strong(question(r)), " · ", r.Requester}
	lines := append([]phrase{first, ending(r)}, afterwards(r)...)
	print := fmt.Sprintf("%s · %s · %s", label(r.Tool.Name, 80), hex.EncodeToString(r.Digest[:8]), r.ID)
	return stamp([]slack.Block{
		paragraph(lines...),
		slack.NewActionBlock("", button(r, actDetails, "Show details", slack.StyleDefault)),
		smallPrint(print),
	}, blockPrefix(r))
}

// maxSaid is how many characters of a reason stand on a settled card; the details have all of it.
const maxSaid = 200

// ending is the sentence of a settled card: how the question ended, and what became of the call.
func ending(r *approvals.Request) phrase {
	switch r.Status {
	case approvals.RequestApproved, approvals.RequestRejected:
		return append(decidedBy(r), became(r)...)
	case approvals.RequestExpired:
		p := phrase{strong("Expired"), " ", at(r, r.Settled), ": " + lowered(expiredWords(r))}
		return append(append(p, " Ask again to have it asked again"), became(r)...)
	case approvals.RequestCancelled:
		p := phrase{strong("Cancelled")}
		if r.CancelledBy != "" {
			p = append(p, " by ", r.CancelledBy)
		}
		p = append(p, " ", at(r, r.Settled))
		if r.CancelledBy == "" && r.Note != "" {
			p = append(p, ": "+lowered(strings.TrimSuffix(label(r.Note, maxSaid), ".")))
		}
		return append(p, became(r)...)
	case approvals.RequestSuperseded:
		p := phrase{strong("Stale"), ": changed"}
		if n := len(r.Decisions); n > 0 {
			p = append(p, " by ", r.Decisions[n-1].By)
		}
		return append(p, " ", at(r, r.Settled), " · ", strong("not run"), "; the card below asks about the new call")
	case approvals.RequestStale:
		p := phrase{strong("Stale"), " ", at(r, r.Settled), ": " + staleReason(r)}
		p = append(p, became(r)...)
		if r.Replaced != nil {
			p = append(p, ". Asked again below")
		}
		return p
	}
	return phrase{strong(statusWord(r.Status))}
}

// decidedBy names those who decided, with what they wrote.
func decidedBy(r *approvals.Request) phrase {
	word := statusWord(r.Status)
	if r.IsQuestion() && r.Status == approvals.RequestApproved {
		word = "Answered"
	}
	p := phrase{strong(word)}
	if s := r.Standing(); s != nil {
		return append(append(p, " by "), append(persons([]approvals.UserID{r.Settler().By}),
			"’s “always” of ", at(r, r.Settled), " (card above)")...)
	}
	deciders := deciding(r)
	for i, d := range deciders {
		p = append(append(p, []any{" by ", ", ", " and "}[joint(i, len(deciders))]), decider(d)...)
	}
	p = append(p, " ", at(r, r.Settled))
	s := r.Settler()
	if s == nil {
		return p
	}
	p = append(p, afterword(r, s.Verdict))
	said := strings.Fields(strings.Join(append(slices.Clone(s.Answers), s.Reason), " "))
	switch {
	case len(said) > 0:
		p = append(p, ": “"+label(strings.Join(said, " "), maxSaid)+"”")
	case s.Input != nil:
		p = append(p, ": "+filledWords(r, s))
	}
	return p
}

// filledWords are the values that somebody filled in, with their names.
func filledWords(r *approvals.Request, d *approvals.Decision) string {
	all, ok := membersOf(d.Input)
	if !ok {
		return label(r.ShownInput(d), maxSaid)
	}
	var parts []string
	for _, m := range all {
		var text string
		switch {
		case isSecret(r, m.name):
			text = "•••"
		case json.Unmarshal(m.value, &text) != nil:
			text = string(m.value)
		}
		parts = append(parts, m.name+" "+text)
	}
	return label(strings.Join(parts, ", "), maxSaid)
}

// became says in a few words what became of the call.
func became(r *approvals.Request) phrase {
	if r.IsQuestion() {
		return nil
	}
	switch r.Outcome {
	case approvals.OutcomeRunning:
		return phrase{" · ", strong("running")}
	case approvals.OutcomeRan:
		if by := reporter(r); by != "" {
			return phrase{" · ", strong("ran"), ", as ", by, " reports"}
		}
		return append(phrase{" · ", strong("ran"), " ", at(r, r.OutcomeAt)}, inNumbers(", ", r)...)
	case approvals.OutcomeFailed:
		p := append(phrase{" · ", strong("failed"), " ", at(r, r.OutcomeAt)}, inNumbers(": ", r)...)
		return append(p, " (the agent was told)")
	case approvals.OutcomeNotRun:
		p := phrase{" · ", strong("not run")}
		switch {
		case r.Status != approvals.RequestApproved:
		case r.CancelledBy != "":
			p = append(p, ": ", r.CancelledBy, " cancelled the run first")
		case r.Note != "":
			p = append(p, ": "+lowered(strings.TrimSuffix(label(r.Note, maxSaid), ".")))
		}
		return p
	case approvals.OutcomeUnknown:
		p := phrase{" · ", strong("unknown"), " whether it ran"}
		if r.Kind == agent.Confirm { // a card below asks what became of it
			p = append(p, "; see below")
		}
		return p
	}
	if r.Status == approvals.RequestApproved {
		return phrase{" · waits for its turn"}
	}
	return nil
}

// inNumbers is how the call ended as far as its tool has told, behind a separator; nothing where it has not.
func inNumbers(separator string, r *approvals.Request) phrase {
	if words := r.OutcomeStatus.String(); words != "" {
		return phrase{separator + words}
	}
	return nil
}

// afterwards are the few further lines that nobody should have to open the details for.
func afterwards(r *approvals.Request) (lines []phrase) {
	if by := callbackLine(r); by != nil {
		lines = append(lines, by)
	}
	if alone := droppedAlways(r); alone != nil {
		lines = append(lines, alone)
	}
	for _, d := range r.Decisions {
		if d.Void != "" {
			lines = append(lines, append(append(phrase{"The answer of "}, decider(d)...),
				" did not count: "+label(d.Void, 120)+"."))
			if len(lines) == 5 {
				break
			}
		}
	}
	return append(lines, reviewLines(r)...)
}

// staleReason says what differs from what was shown.
func staleReason(r *approvals.Request) string {
	p := r.Replaced
	switch {
	case p == nil:
		return lowered(strings.TrimSuffix(staleWords(r.Kind), "."))
	case !p.Differs():
		return "the call is the same, and the answer to it did not hold any more"
	}
	return differences(p) + " changed after it was shown"
}

// at is a point in time of a request: the time of day where the day is that on which it was asked.
func at(r *approvals.Request, t time.Time) any {
	const day = time.DateOnly
	if t.UTC().Format(day) == r.Created.UTC().Format(day) {
		return clock(t)
	}
	return t
}

// lowered begins a sentence as a part of another one.
func lowered(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[size:]
}

func wrote(v approvals.Verdict) string {
	if v == approvals.ProvideResult {
		return " reports as the result:"
	}
	return " wrote:"
}

// outcome is the sentence that ends a request.
func outcome(r *approvals.Request) phrase {
	p := phrase{strong(statusWord(r.Status))}
	if r.IsQuestion() && r.Status == approvals.RequestApproved {
		p = phrase{strong("Answered")}
	}
	if r.Status == approvals.RequestCancelled && r.CancelledBy != "" {
		return append(p, " by ", r.CancelledBy, ": ", toolName(r))
	}
	if r.Status == approvals.RequestSuperseded && len(r.Decisions) > 0 {
		return append(p, ", arguments changed by ", r.Decisions[len(r.Decisions)-1].By, ": ", toolName(r))
	}
	deciders := deciding(r)
	for i, d := range deciders {
		p = append(append(p, []any{" by ", ", ", " and "}[joint(i, len(deciders))]), decider(d)...)
	}
	if s := r.Settler(); s != nil {
		p = append(p, afterword(r, s.Verdict))
	}
	return append(p, ": ", toolName(r))
}

// joint picks the word before the i-th of n names.
func joint(i, n int) int {
	switch {
	case i == 0:
		return 0
	case i < n-1:
		return 1
	}
	return 2
}

// aboutOutcome says when it was decided and how long that took, what became of the call, and why nobody decided.
func aboutOutcome(r *approvals.Request) []phrase {
	var lines []phrase
	if !r.Settled.IsZero() { // right below the sentence of which it is the time
		lines = append(lines, phrase{r.Settled, ", after " + humanize.Duration(r.Settled.Sub(r.Created))})
	}
	if became := whatBecame(r); became != nil {
		lines = append(lines, became)
	}
	if sending := sendingLine(r); sending != nil {
		lines = append(lines, sending)
	}
	if by := callbackLine(r); by != nil {
		lines = append(lines, by)
	}
	if r.Status == approvals.RequestExpired {
		lines = append(lines, phrase{expiredWords(r)})
	}
	if r.Status == approvals.RequestStale {
		lines = append(lines, staleLines(r)...)
	}
	lines = append(lines, otherVotes(r)...)
	if a := r.Standing(); a != nil {
		lines = append(lines,
			phrase{"By the answer for all calls of this tool, given to ", code(string(a.Request)), "."})
	}
	if alone := droppedAlways(r); alone != nil {
		lines = append(lines, alone)
	}
	lines = append(lines, reviewLines(r)...)
	for _, d := range r.Decisions {
		if d.Void != "" {
			lines = append(lines, append(append(phrase{"The answer of "}, decider(d)...),
				" did not count: "+label(d.Void, 120)+"."))
		}
	}
	if r.CancelledBy != "" {
		if r.Status == approvals.RequestApproved {
			lines = append(lines, phrase{r.CancelledBy, " cancelled the run first."})
		}
		return lines
	}
	if r.Note != "" && r.Status != approvals.RequestExpired { // what expired has its words above
		lines = append(lines, phrase{label(r.Note, 500)})
	}
	return lines
}

// whatBecame says what became of the call, as far as it is known: the second fact beside the decision. Nil for the
// question what became of a call, as long as nobody knows.
func whatBecame(r *approvals.Request) phrase {
	if r.IsQuestion() {
		return questionEnded(r)
	}
	switch r.Outcome {
	case approvals.OutcomeRunning:
		return phrase{"The call is ", strong("running"), "."}
	case approvals.OutcomeRan:
		if by := reporter(r); by != "" {
			return phrase{"The call ", strong("ran"), ", as ", by, " reports."} // when it ran, nobody knows
		}
		return append(append(phrase{"The call ", strong("ran"), ", ", r.OutcomeAt}, inNumbers(": ", r)...), ".")
	case approvals.OutcomeFailed:
		p := append(phrase{"The call ", strong("failed"), ", ", r.OutcomeAt}, inNumbers(": ", r)...)
		return append(p, "; the agent was told.")
	case approvals.OutcomeNotRun:
		return phrase{"The call was ", strong("not run"), "."}
	case approvals.OutcomeUnknown:
		return phrase{"It is ", strong("unknown"), " whether the call ran."}
	}
	if r.Status == approvals.RequestApproved {
		return phrase{"The call waits for its turn."}
	}
	return nil
}

// callbackLine says whose token the result came with that ended the request; nil where none did.
func callbackLine(r *approvals.Request) phrase {
	d := r.Settler()
	switch {
	case d == nil || d.Via != approvals.ViaCallback:
		return nil
	case d.Issuer == "":
		return phrase{"The result came by the callback that was sent with the call; no person has looked at it."}
	}
	return phrase{"The result came by the callback that ", d.Issuer, " had made; no person has looked at it."}
}

// reporter returns the person who says that the call ran; empty where the tool itself does.
func reporter(r *approvals.Request) approvals.UserID {
	if d := r.Settler(); d != nil && (d.Verdict == approvals.MarkDone || d.Verdict == approvals.ProvideResult) {
		return d.By
	}
	return r.OutcomeBy
}

func expiredWords(r *approvals.Request) string {
	answered := slices.ContainsFunc(r.Decisions, func(d approvals.Decision) bool { return d.Void == "" })
	switch {
	case r.IsQuestion():
		return "Nobody answered in time."
	case r.Kind == agent.OutcomeUnknown && answered:
		return "Too few people answered in time. It will not run again."
	case r.Kind == agent.OutcomeUnknown:
		return "Nobody answered in time. It will not run again."
	case r.Kind == agent.ExternalResult:
		return "Nobody provided a result in time."
	case r.Kind == agent.FieldsRequired:
		return "Nobody filled in the values in time."
	case answered:
		return "Too few people decided in time."
	}
	return "Nobody decided in time."
}

// deciding returns the decisions that count toward the outcome.
func deciding(r *approvals.Request) []approvals.Decision {
	if r.Settler() == nil {
		return nil
	}
	var out []approvals.Decision
	for _, d := range r.Decisions {
		if d.Void == "" && d.Verdict.Affirms() == (r.Status == approvals.RequestApproved) {
			out = append(out, d)
		}
	}
	return out
}

func statusWord(s approvals.RequestStatus) string {
	switch s {
	case approvals.RequestPending:
		return "Pending"
	case approvals.RequestApproved:
		return "Approved"
	case approvals.RequestRejected:
		return "Rejected"
	case approvals.RequestExpired:
		return "Expired"
	case approvals.RequestCancelled:
		return "Cancelled"
	case approvals.RequestStale:
		return "Stale"
	case approvals.RequestSuperseded:
		return "Superseded"
	}
	return label(string(s), 40)
}

// verdictWord is the past tense of a verdict.
func verdictWord(v approvals.Verdict) string {
	switch v {
	case approvals.Approve, approvals.AlwaysApprove:
		return "approved"
	case approvals.Reject, approvals.AlwaysReject:
		return "rejected"
	case approvals.Retry:
		return "approved to run again"
	case approvals.MarkDone:
		return "marked as done"
	case approvals.GiveUp:
		return "given up"
	case approvals.ProvideResult:
		return "result provided"
	case approvals.BreakGlass:
		return "approved in an emergency"
	case approvals.Edit:
		return "arguments changed"
	case approvals.ProvideInput:
		return "values filled in"
	case approvals.Answer:
		return "answered"
	}
	return label(string(v), 40)
}

// afterword says what the verdict that settled the request adds to the outcome.
func afterword(r *approvals.Request, v approvals.Verdict) string {
	switch v {
	case approvals.AlwaysApprove, approvals.AlwaysReject:
		switch {
		case r.Lasting():
			return ", always, until this run ends"
		case r.Granted():
			return ", and later calls by a grant"
		}
	case approvals.Retry:
		return ", to run again"
	case approvals.MarkDone:
		return ", as having happened"
	case approvals.GiveUp:
		return ", given up"
	case approvals.ProvideResult:
		return ", result provided"
	case approvals.BreakGlass:
		return ", in an emergency, past the policy"
	case approvals.ProvideInput:
		return ", values filled in"
	}
	return ""
}

// outcomeFor is the sentence for somebody who came too late.
func outcomeFor(r *approvals.Request) phrase {
	p := phrase{"Already decided. "}
	switch r.Kind {
	case agent.OutcomeUnknown:
		p = phrase{"Already settled. "}
	case agent.ExternalResult, agent.FieldsRequired:
		p = phrase{"Already answered. "}
	}
	if r.Status == approvals.RequestSuperseded {
		p = phrase{"Nothing was recorded: ", code(string(r.SupersededBy)), " has taken the place of this request. "}
	}
	p = append(p, outcome(r)...)
	if !r.Settled.IsZero() {
		p = append(p, ", ", r.Settled)
	}
	p = append(p, ".")
	if became := whatBecame(r); became != nil {
		p = append(append(p, " "), became...)
	}
	return p
}
