package approvals

import (
	"strings"
)

// GrantUse counts calls of a turn that began under a grant, of which the people of the place have not been told yet.
type GrantUse struct {
	Grant GrantID `json:"grant"`
	Tool  string  `json:"tool"`
	Turn  int     `json:"turn"`
	Calls int     `json:"calls"`
}

// countUse notes a call that begins under a grant. People are told at the end of the turn: when a call of a later turn
// begins under one, or when the run goes no further for now. What is noted lies in the run's record, so that it is told
// after a crash too.
func (c *txn) countUse(r *Run, use GrantUse) {
	if len(r.Uses) > 0 && r.Uses[0].Turn != use.Turn {
		c.tellUses(r)
	}
	defer c.changed(r)
	for i := range r.Uses {
		if r.Uses[i].Grant == use.Grant && r.Uses[i].Tool == use.Tool {
			r.Uses[i].Calls += use.Calls
			return
		}
	}
	r.Uses = append(r.Uses, use)
}

// tellUses says in the place which calls nobody was asked about, and by which grants.
func (c *txn) tellUses(r *Run) {
	if len(r.Uses) == 0 {
		return
	}
	var parts []string
	for _, u := range r.Uses {
		parts = append(parts, wordsCallsUnderGrant(u.Calls, u.Tool, u.Grant))
	}
	c.say(r, wordsNobodyAsked(strings.Join(parts, ", ")))
	r.Uses = nil
	c.changed(r)
}
