package bot

import (
	"encoding/hex"

	"countersign/approvals"
)

// freezes say when a pending request can be approved by nobody, or by some people only.
func freezes(r *approvals.Request) (lines []phrase) {
	for _, z := range r.Freezes() {
		who := phrase{wordsNobodyApproves}
		if !z.Except.Empty() {
			who = wordsOnlyTheyApprove(named(r, z.Except))
		}
		lines = append(lines, wordsFrozen(z.From, z.To, who))
	}
	return lines
}

// The bounds of what the details show of a policy's variables.
const (
	mostVars = 40
	mostVar  = 300
)

// policyLines say which policy asks: what stands for its words and its file, its risk, and the variables that its
// condition reads with the values that it was evaluated with.
func policyLines(r *approvals.Request) []phrase {
	q := r.Requirement
	if q.Hash == [32]byte{} { // recorded before policies had one
		return becauseLines(r)
	}
	line := wordsPolicyHash(label(q.Policy, 80), hex.EncodeToString(q.Hash[:8]))
	if q.Version != "" {
		line = append(line, wordsPolicyVersion(label(q.Version, 80))...)
	}
	if q.Risk == approvals.RiskHigh {
		line = append(line, wordsHighRisk)
	}
	lines := append(becauseLines(r), line)
	for i, v := range q.Vars {
		if i == mostVars {
			return append(lines, wordsMoreVariables(len(q.Vars)-mostVars))
		}
		lines = append(lines, phrase{"vars." + label(v.Name, 80) + " = ", code(label(v.Value, mostVar))})
	}
	return lines
}
