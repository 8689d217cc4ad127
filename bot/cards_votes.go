package bot

import (
	"slices"
	"strings"

	"countersign/agent"
	"countersign/approvals"
)

// droppedAlways names those whose answer was meant for later calls and is not, and says why; nil for none. Whether
// people are asked about those is not said: an earlier answer may hold for them.
func droppedAlways(r *approvals.Request) phrase {
	if r.Lasting() || r.Granted() {
		return nil
	}
	var p phrase
	for _, d := range deciding(r) {
		if !always(d.Verdict) {
			continue
		}
		if p == nil {
			p = append(phrase{wordsForThisCallAlone}, decider(d)...)
		} else {
			p = append(append(p, ", "), decider(d)...)
		}
	}
	if p == nil {
		return nil
	}
	some := func(is func(approvals.Decision) bool) bool { return slices.ContainsFunc(deciding(r), is) }
	switch {
	case some(func(d approvals.Decision) bool { return !always(d.Verdict) }):
		return append(p, wordsNotAllAlways)
	case r.Note != "" && r.Status == approvals.RequestRejected: // nobody is left to outvote them
		return append(p, wordsTooFewAlways)
	case some(func(d approvals.Decision) bool { return d.For != "" }):
		return append(p, wordsForOthersAlways)
	}
	return append(p, wordsNotSameAlways)
}

// staleLines says what differs between a stale request and what was asked instead, as far as that is recorded.
func staleLines(r *approvals.Request) []phrase {
	p := r.Replaced
	switch {
	case p == nil && r.Note != "": // which says it
		return nil
	case p == nil:
		return []phrase{{staleWords(r.Kind)}}
	}
	again := wordsAskedAgainAs(p.ID)
	if !p.Differs() {
		return []phrase{{wordsUnchangedCall}, again}
	}
	return []phrase{{wordsDiffersNow(differences(p))}, again}
}

// differences names what differs between a stale request and what was asked instead.
func differences(p *approvals.Replacement) string {
	var what []string
	if p.Arguments {
		what = append(what, wordsTheArguments)
	}
	if p.Definition {
		what = append(what, wordsTheDefinition(inBrackets(p.Parts)))
	}
	if names := strings.Trim(inBrackets(p.Facts), " ()"); names != "" {
		what = append(what, names)
	}
	if last := len(what) - 1; last > 0 {
		return strings.Join(what[:last], ", ") + wordsAnd + what[last]
	}
	return strings.Join(what, "")
}

// inBrackets lists the first few names.
func inBrackets(names []string) string {
	const most = 5
	if len(names) == 0 {
		return ""
	}
	var shown []string
	for _, name := range names[:min(most, len(names))] {
		shown = append(shown, label(name, 80))
	}
	if left := len(names) - len(shown); left > 0 {
		shown = append(shown, wordsMore(left))
	}
	return " (" + strings.Join(shown, ", ") + ")"
}

// otherVotes names those whose answers counted while the request waited, and did not become its outcome.
func otherVotes(r *approvals.Request) []phrase {
	decided := deciding(r)
	var yes, no phrase
	for _, d := range r.Decisions {
		counted := func(o approvals.Decision) bool { return o.By == d.By }
		if d.Void != "" || d.Verdict == approvals.Edit || slices.ContainsFunc(decided, counted) {
			continue
		}
		side, lead := &no, wordsHadRejected
		if d.Verdict.Affirms() {
			side, lead = &yes, wordsHadApproved
		}
		if *side == nil {
			*side = append(phrase{lead}, decider(d)...)
		} else {
			*side = append(append(*side, ", "), decider(d)...)
		}
	}
	var lines []phrase
	for _, side := range []phrase{yes, no} {
		if side != nil {
			lines = append(lines, append(side, "."))
		}
	}
	return lines
}

func staleWords(kind agent.InterruptionKind) string {
	if kind == agent.Confirm {
		return wordsNotWhatWouldRun
	}
	return wordsNotWhatIsAsked
}
