package policycheck

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/approvals"
	"countersign/internal/agentsfile"
)

// comparison collects what is not as expected.
type comparison []Difference

func (c *comparison) same(what, expected, got string) {
	if expected != got {
		*c = append(*c, Difference{What: what, Expected: expected, Got: got})
	}
}

// differences compares what was expected with what the agents file says.
func differences(e *agentsfile.Expectation, v *Verdict) []Difference {
	var c comparison
	if want := wanted(e); !fits(want, v.Fate) {
		c.same("the call", words(want), words(v.Fate))
		return c
	}
	if e.Possible != nil {
		c.same("can be met", yesNo(*e.Possible), yesNo(v.Fate != Impossible))
	}
	if v.Fate == Impossible && len(v.Requirement.Seats) == 0 {
		return c
	}
	c.requirement(e, &v.Requirement)
	return c
}

// wanted is the fate that the case expects; a case that says something of the policy expects to be asked.
func wanted(e *agentsfile.Expectation) Fate {
	switch {
	case e.Recorded != nil && *e.Recorded:
		return Recorded
	case e.Asked != nil && !*e.Asked && e.Recorded != nil:
		return Allowed
	case e.Asked != nil && !*e.Asked:
		return notAsked
	case e.Asked == nil && e.Recorded != nil && !e.StatesPolicy():
		return notRecorded
	}
	return Asked
}

// What a case can leave open.
const (
	notAsked    Fate = "not asked"
	notRecorded Fate = "not recorded"
)

// fits reports whether the fate is one that the case expects. What nobody can meet is asked, and refused then.
func fits(want, got Fate) bool {
	switch want {
	case notAsked:
		return got == Allowed || got == Recorded
	case notRecorded:
		return got == Allowed || got == Asked || got == Impossible
	case Asked:
		return got == Asked || got == Impossible
	}
	return want == got
}

// words says what becomes of a call.
func words(f Fate) string {
	switch f {
	case Asked:
		return "people are asked"
	case Allowed:
		return "runs without asking"
	case Recorded:
		return "runs without asking, and is recorded for review"
	case notAsked:
		return "runs without asking"
	case notRecorded:
		return "is not recorded for review"
	case Impossible:
		return "people would have to agree, and nobody can"
	case Unusable:
		return "is refused: the arguments do not fit the tool's schema"
	case Gone:
		return "there is no such tool"
	}
	return "not known without the MCP server"
}

func (c *comparison) requirement(e *agentsfile.Expectation, q *approvals.Requirement) {
	if e.Policy != nil {
		c.same("policy", *e.Policy, q.Policy)
	}
	if e.Quorum != nil {
		c.same("quorum", people(*e.Quorum), people(len(q.Seats)))
	}
	if e.Approvers != nil {
		c.same("approvers", sets(*e.Approvers), distinct(q))
	}
	if e.AllOf != nil {
		c.same("all_of", sets(e.AllOf...), eachSeat(q))
	}
	if e.DenyQuorum != nil {
		c.same("deny_quorum", people(*e.DenyQuorum), people(q.DenyQuorum))
	}
	if e.SelfApproval != nil {
		c.same("self_approval", yesNo(*e.SelfApproval), yesNo(q.SelfApproval))
	}
	if e.ExpiresIn != nil {
		c.same("expires_in", span(*e.ExpiresIn), span(q.ExpiresIn))
	}
	if e.ValidFor != nil {
		c.same("valid_for", span(*e.ValidFor), span(q.ValidFor))
	}
	if e.Risk != nil {
		c.same("risk", *e.Risk, riskWord(q))
	}
	if e.OnExpiry != nil {
		c.same("on_expiry", *e.OnExpiry, string(q.OnExpiry))
	}
	if e.AlwaysScopes != nil {
		c.same("always", scopes(e.AlwaysScopes), scopes(q.Always))
	}
}

func people(n int) string {
	if n == 1 {
		return "1 person"
	}
	return strconv.Itoa(n) + " people"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// span is the exact duration in words: different ones never look the same.
func span(d time.Duration) string {
	if d == 0 {
		return "never"
	}
	text := d.String()
	if short, whole := strings.CutSuffix(text, "m0s"); whole {
		text = short + "m"
	}
	if short, whole := strings.CutSuffix(text, "h0m"); whole {
		text = short + "h"
	}
	return text
}

func scopes[T ~string](all []T) string {
	if len(all) == 0 {
		return "no scope"
	}
	text := make([]string, len(all))
	for i, s := range all {
		text[i] = string(s)
	}
	slices.Sort(text)
	return strings.Join(text, ", ")
}

// sets lists sets of people in words that do not depend on any order.
func sets(all ...agentsfile.People) string {
	text := make([]string, len(all))
	for i, p := range all {
		text[i] = set(p.Users, p.Groups, p.ChannelMembers)
	}
	slices.Sort(text)
	return strings.Join(text, "; ")
}

func set(users, groups []string, channelMembers bool) string {
	p := agentsfile.People{
		Users: slices.Sorted(slices.Values(users)), Groups: slices.Sorted(slices.Values(groups)),
		ChannelMembers: channelMembers,
	}
	if p.Empty() {
		return "nobody"
	}
	return p.String()
}

// eachSeat lists the set of every seat.
func eachSeat(q *approvals.Requirement) string {
	text := make([]string, len(q.Seats))
	for i, s := range q.Seats {
		text[i] = seatWords(s.Approvers)
	}
	slices.Sort(text)
	return strings.Join(text, "; ")
}

// distinct lists the sets that seats are for, each once.
func distinct(q *approvals.Requirement) string {
	text := make([]string, len(q.Seats))
	for i, s := range q.Seats {
		text[i] = seatWords(s.Approvers)
	}
	slices.Sort(text)
	return strings.Join(slices.Compact(text), "; ")
}

func seatWords(a approvals.Approvers) string {
	users := make([]string, len(a.Users))
	for i, u := range a.Users {
		users[i] = u.Local()
	}
	return set(users, a.Groups, a.ChannelMembers)
}

// Summary says how many cases there were and how many failed.
func Summary(results []Result) string {
	failed := 0
	for i := range results {
		if !results[i].Passed {
			failed++
		}
	}
	noun := "cases"
	if len(results) == 1 {
		noun = "case"
	}
	if failed == 0 {
		return fmt.Sprintf("%d %s, all as expected", len(results), noun)
	}
	return fmt.Sprintf("%d %s, %d not as expected", len(results), noun, failed)
}

// freezes says when a policy keeps people from approving.
func freezes(all []approvals.Freeze) string {
	texts := make([]string, len(all))
	for i, z := range all {
		texts[i] = z.Describe()
	}
	return cmp.Or(strings.Join(texts, "; "), "none")
}

// riskWord is the word of the agents file.
func riskWord(q *approvals.Requirement) string { return cmp.Or(string(q.Risk), "normal") }
