package bot

import (
	"cmp"
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
	text := append(outcome(r), wordsAskedForBy(r.Requester)...)
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
		slack.NewActionBlock("", button(r, actDetails, wordsShowDetails, slack.StyleDefault)),
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
		return append(wordsExpiredAt(at(r, r.Settled), lowered(whyExpired(r)), afterExpiry(r)), became(r)...)
	case approvals.RequestCancelled:
		p := phrase{strong(wordsStatus(r.Status))}
		if r.CancelledBy != "" {
			p = append(p, wordsBy, r.CancelledBy)
		}
		p = append(p, " ", at(r, r.Settled))
		if r.CancelledBy == "" && r.Note != "" {
			p = append(p, ": "+lowered(strings.TrimSuffix(label(r.Note, maxSaid), ".")))
		}
		return append(p, became(r)...)
	case approvals.RequestSuperseded:
		var who phrase
		if n := len(r.Decisions); n > 0 {
			who = phrase{wordsBy, r.Decisions[n-1].By}
		}
		return wordsSupersededBy(who, at(r, r.Settled))
	case approvals.RequestStale:
		p := phrase{strong(wordsStatus(r.Status)), " ", at(r, r.Settled), ": " + staleReason(r)}
		p = append(p, became(r)...)
		if r.Replaced != nil {
			p = append(p, wordsAskedAgain)
		}
		return p
	}
	return phrase{strong(wordsStatus(r.Status))}
}

// afterExpiry says what to do about a request that has expired: nothing is to happen twice.
func afterExpiry(r *approvals.Request) string {
	switch {
	case r.Outcome == approvals.OutcomeNotRun:
	case r.Kind == agent.OutcomeUnknown, r.Outcome != approvals.OutcomeNone:
		return wordsFindOutFirst
	}
	return wordsAskAgain
}

// decidedBy names those who decided, with what they wrote.
func decidedBy(r *approvals.Request) phrase {
	word := wordsStatus(r.Status)
	if r.IsQuestion() && r.Status == approvals.RequestApproved {
		word = wordsAnsweredStatus
	}
	p := append(phrase{strong(word)}, settledBy(r)...)
	if r.Standing() != nil {
		return append(p, wordsToAnotherCall(at(r, r.Settled))...)
	}
	p = append(p, " ", at(r, r.Settled))
	s := r.Settler()
	if s == nil {
		return p
	}
	p = append(p, afterword(r, s.Verdict))
	said := strings.Fields(strings.Join(append(slices.Clone(s.Answers), r.ShownReason(s)), " "))
	switch {
	case len(said) > 0:
		p = append(p, ": “"+label(strings.Join(said, " "), maxSaid)+"”")
	case s.Input != nil:
		p = append(p, ": "+filledWords(r, s))
	}
	return p
}

// settledBy names those whose answers settled the request, and says whose were given to another one.
func settledBy(r *approvals.Request) (p phrase) {
	deciders := deciding(r)
	for i, d := range deciders {
		p = append(append(p, []any{wordsBy, ", ", wordsAnd}[joint(i, len(deciders))]), decider(d)...)
		if d.Standing != nil {
			p = append(p, wordsTheirAlways)
		}
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
		return wordsRunningNow()
	case approvals.OutcomeRan:
		if by := reporter(r); by != "" {
			return wordsRanReported(by)
		}
		return append(append(wordsRanAt(at(r, r.OutcomeAt)), inNumbers(", ", r)...), tries(r, wordsTriedAgain())...)
	case approvals.OutcomeFailed:
		p := append(wordsFailedAt(at(r, r.OutcomeAt), inNumbers(": ", r)), leftOpen(r, wordsMayHaveActed())...)
		return append(p, tries(r, wordsTriedAgain())...)
	case approvals.OutcomeNotRun:
		return append(wordsNotRunAtAll(), neverBegan(r)...)
	case approvals.OutcomeUnknown:
		p := wordsUnknownWhether()
		if why := neverBegan(r); why != nil && r.Kind == agent.OutcomeUnknown { // nothing new is asked about it
			return append(p, why...)
		}
		if r.Kind == agent.Confirm || r.Status == approvals.RequestApproved { // where it is asked what became of it
			p = append(p, wordsSeeThread)
		}
		return p
	}
	if what := callAwaits(r); what != "" {
		return phrase{" · " + what}
	}
	return nil
}

// callAwaits says what the approved call of a request waits for; empty where it waits for nothing.
func callAwaits(r *approvals.Request) string {
	switch r.CallWaits() {
	case approvals.WaitsForPeople:
		return wordsAskedNext
	case approvals.WaitsForResult:
		return wordsCallAwaitsResult
	case approvals.WaitsForTurn:
		return wordsWaitsForTurn
	}
	return ""
}

// tries is what to say of a call that ended when it was tried again; nothing of others.
func tries(r *approvals.Request, say phrase) phrase {
	if !r.TriedAgain {
		return nil
	}
	return say
}

// neverBegan says why nothing was begun under an approval; nil where that is not so, or the reason is not known.
func neverBegan(r *approvals.Request) phrase {
	switch {
	case r.Status != approvals.RequestApproved:
		return nil
	case r.CancelledBy != "":
		return wordsRunCancelledFirst(r.CancelledBy)
	case r.Note != "":
		return phrase{": " + lowered(strings.TrimSuffix(label(r.Note, maxSaid), "."))}
	}
	return nil
}

// leftOpen is what to say of a call that failed with an answer that leaves open what was done; nothing of others.
func leftOpen(r *approvals.Request, say phrase) phrase {
	if !r.OutcomeStatus.MayHaveActed() {
		return nil
	}
	return say
}

// inNumbers is how the call ended as far as its tool has told, behind a separator; nothing where it has not.
func inNumbers(separator string, r *approvals.Request) phrase {
	if words := r.OutcomeStatus.String(); words != "" {
		return phrase{separator + words}
	}
	return nil
}

// mostAfterwards is how many of those lines a card has, beside what a review says.
const mostAfterwards = 5

// afterwards are the few further lines that nobody should have to open the details for.
func afterwards(r *approvals.Request) (lines []phrase) {
	if by := callbackLine(r); by != nil {
		lines = append(lines, by)
	}
	if alone := droppedAlways(r); alone != nil {
		lines = append(lines, alone)
	}
	lines = append(lines, voided(r)...)
	return append(lines[:min(len(lines), mostAfterwards)], reviewLines(r)...)
}

// voided says which answers did not count. Whoever has given another one since is not said to have given none.
func voided(r *approvals.Request) (lines []phrase) {
	for i, d := range r.Decisions {
		if d.Void == "" {
			continue
		}
		again := func(o approvals.Decision) bool { return o.By == d.By && o.Void == "" }
		say := wordsDidNotCount
		if slices.ContainsFunc(r.Decisions[i+1:], again) {
			say = wordsEarlierDidNotCount
		}
		lines = append(lines, say(decider(d), label(d.Void, 120)))
	}
	return lines
}

// staleReason says what differs from what was shown; as long as nothing is asked instead, why the request has ended.
func staleReason(r *approvals.Request) string {
	p := r.Replaced
	switch {
	case p == nil:
		return lowered(strings.TrimSuffix(cmp.Or(label(r.Note, maxSaid), staleWords(r.Kind)), "."))
	case !p.Differs():
		return wordsAnswerDidNotHold
	}
	return wordsChangedAfterShown(differences(p))
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
		return wordsReportsResult
	}
	return wordsWrote
}

// outcome is the sentence that ends a request.
func outcome(r *approvals.Request) phrase {
	p := phrase{strong(wordsStatus(r.Status))}
	if r.IsQuestion() && r.Status == approvals.RequestApproved {
		p = phrase{strong(wordsAnsweredStatus)}
	}
	if r.Status == approvals.RequestCancelled && r.CancelledBy != "" {
		return append(p, wordsBy, r.CancelledBy, ": ", toolName(r))
	}
	if r.Status == approvals.RequestSuperseded { // which its card calls so too
		p = phrase{strong(wordsStatus(approvals.RequestStale))}
		if n := len(r.Decisions); n > 0 {
			p = append(p, wordsArgumentsChangedBy(r.Decisions[n-1].By)...)
		}
		return append(p, ": ", toolName(r))
	}
	p = append(p, settledBy(r)...)
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
		lines = append(lines, phrase{r.Settled, wordsAfter(humanize.Duration(r.Settled.Sub(r.Created)))})
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
		lines = append(lines, phrase{whyExpired(r)})
	}
	if r.Status == approvals.RequestStale {
		lines = append(lines, staleLines(r)...)
	}
	lines = append(lines, otherVotes(r)...)
	if a := r.Standing(); a != nil {
		lines = append(lines, wordsTakenFrom(a.Request))
	}
	if alone := droppedAlways(r); alone != nil {
		lines = append(lines, alone)
	}
	lines = append(lines, reviewLines(r)...)
	lines = append(lines, voided(r)...)
	if r.CancelledBy != "" {
		if r.Status == approvals.RequestApproved {
			lines = append(lines, wordsCancelledFirst(r.CancelledBy))
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
		return wordsCallRunning()
	case approvals.OutcomeRan:
		if by := reporter(r); by != "" {
			return wordsCallRanReported(by) // when it ran, nobody knows
		}
		return append(wordsCallRan(r.OutcomeAt, inNumbers(": ", r)), tries(r, wordsCallTriedAgain())...)
	case approvals.OutcomeFailed:
		p := append(wordsCallFailed(r.OutcomeAt, inNumbers(": ", r)), leftOpen(r, wordsCallMayHaveActed())...)
		return append(p, tries(r, wordsCallTriedAgain())...)
	case approvals.OutcomeNotRun:
		return wordsCallNotRun()
	case approvals.OutcomeUnknown:
		return wordsCallUnknown()
	}
	if what := callAwaits(r); what != "" {
		return wordsCallWaits(what)
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
		return wordsResultByTrigger()
	}
	return wordsResultByCallback(d.Issuer)
}

// reporter returns the person who says that the call ran; empty where the tool itself does.
func reporter(r *approvals.Request) approvals.UserID {
	d := r.Settler()
	if r.Status == approvals.RequestStale { // what was reported reached nobody, and stays what was reported
		d = answerOf(r, func(d *approvals.Decision) bool { return d.Verdict == approvals.ProvideResult })
	}
	if d != nil && (d.Verdict == approvals.MarkDone || d.Verdict == approvals.ProvideResult) {
		return d.By
	}
	return r.OutcomeBy
}

// whyExpired says why nobody decided a request that expired.
func whyExpired(r *approvals.Request) string {
	answered := slices.ContainsFunc(r.Decisions, func(d approvals.Decision) bool { return d.Void == "" })
	switch {
	case r.IsQuestion():
		return wordsNobodyAnswered
	case r.Kind == agent.OutcomeUnknown && answered:
		return wordsTooFewAnswered
	case r.Kind == agent.OutcomeUnknown:
		return wordsNobodyFoundOut
	case r.Kind == agent.ExternalResult:
		return wordsNobodyProvided
	case r.Kind == agent.FieldsRequired:
		return wordsNobodyFilledIn
	case answered:
		return wordsTooFewDecided
	}
	return wordsNobodyDecided
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

// afterword says what the verdict that settled the request adds to the outcome.
func afterword(r *approvals.Request, v approvals.Verdict) string {
	switch v {
	case approvals.AlwaysApprove, approvals.AlwaysReject:
		switch {
		case r.Lasting() && r.Overruled != "":
			return wordsAlwaysBefore
		case r.Lasting():
			return wordsAlwaysInRun
		case r.Granted() && v == approvals.AlwaysReject:
			return wordsGrantAgainst
		case r.Granted():
			return wordsGrantFor
		}
	case approvals.Retry:
		return wordsToRunAgain
	case approvals.MarkDone:
		return wordsAsHappened
	case approvals.GiveUp:
		return wordsAsGivenUp
	case approvals.ProvideResult:
		return wordsWithResult
	case approvals.BreakGlass:
		return wordsInEmergency
	case approvals.ProvideInput:
		return wordsWithValues
	}
	return ""
}

// outcomeFor is the sentence for somebody who came too late.
func outcomeFor(r *approvals.Request) phrase {
	p := append(cameTooLate(r), outcome(r)...)
	if !r.Settled.IsZero() {
		p = append(p, ", ", r.Settled)
	}
	p = append(p, ".")
	if became := whatBecame(r); became != nil {
		p = append(append(p, " "), became...)
	}
	if r.Status == approvals.RequestExpired {
		p = append(p, " "+afterExpiry(r)+".")
	}
	return p
}

// cameTooLate begins outcomeFor: others have answered, or nobody has, and nobody can any more.
func cameTooLate(r *approvals.Request) phrase {
	switch {
	case r.Status == approvals.RequestSuperseded:
		return wordsPlaceTaken(cmp.Or(r.AsksNow, r.SupersededBy))
	case r.Status != approvals.RequestApproved && r.Status != approvals.RequestRejected:
		return phrase{wordsCameTooLate}
	case r.Kind == agent.OutcomeUnknown:
		return phrase{wordsAlreadySettled}
	case r.Kind == agent.ExternalResult, r.Kind == agent.FieldsRequired:
		return phrase{wordsAlreadyAnswered}
	}
	return phrase{wordsAlreadyDecided}
}
