package bot

import (
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/approvals"
)

// droppedAlways names those whose answer was meant for later calls and is not, because others answered otherwise; nil
// for none.
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
			p = append(phrase{"For this call alone: "}, decider(d)...)
		} else {
			p = append(append(p, ", "), decider(d)...)
		}
	}
	if p == nil {
		return nil
	}
	if slices.ContainsFunc(deciding(r), func(d approvals.Decision) bool { return !always(d.Verdict) }) {
		return append(p, " answered always, and not everybody did. Later calls ask again.")
	}
	return append(p, " answered always, on different conditions. Later calls ask again.")
}

// staleLines says what differs between a stale request and what was asked instead, as far as that is recorded.
func staleLines(r *approvals.Request) []phrase {
	p := r.Replaced
	if p == nil {
		return []phrase{{staleWords(r.Kind)}}
	}
	again := phrase{"It is asked again: ", code(string(p.ID))}
	if !p.Differs() {
		return []phrase{{"The call itself is unchanged; the answer to it did not hold any more."}, again}
	}
	return []phrase{{"What differs now: " + differences(p) + "."}, again}
}

// differences names what differs between a stale request and what was asked instead.
func differences(p *approvals.Replacement) string {
	var what []string
	if p.Arguments {
		what = append(what, "the arguments")
	}
	if p.Definition {
		what = append(what, "the tool's definition"+inBrackets(p.Parts))
	}
	if names := strings.Trim(inBrackets(p.Facts), " ()"); names != "" {
		what = append(what, names)
	}
	if last := len(what) - 1; last > 0 {
		return strings.Join(what[:last], ", ") + " and " + what[last]
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
		shown = append(shown, fmt.Sprintf("%d more", left))
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
		side, lead := &no, "Had rejected: "
		if d.Verdict.Affirms() {
			side, lead = &yes, "Had approved: "
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
		return "What was shown is not what would run any more."
	}
	return "What was shown is not what is asked any more."
}
