package agentsfile

import (
	"slices"
	"time"
)

// Expectation is what a case states. What is nil is not looked at.
type Expectation struct {
	Asked        *bool // people are asked before the call runs
	Recorded     *bool // the call runs at once and is recorded for review
	Policy       *string
	Quorum       *int // how many different people must agree
	Approvers    *People
	AllOf        []People
	DenyQuorum   *int
	SelfApproval *bool
	ExpiresIn    *time.Duration
	ValidFor     *time.Duration
	OnExpiry     *string
	Risk         *string
	AlwaysScopes []string // not nil, and possibly empty, when stated
	// Possible says whether there can be enough people who may decide, as far as the file alone says.
	Possible *bool
}

// requirementKeys are expectations of what a policy demands, which there is only where people are asked.
var requirementKeys = []string{
	"policy", "quorum", "approvers", "all_of", "deny_quorum", "self_approval", "expires_in", "valid_for", "on_expiry",
	"always", "risk", "possible",
}

var expectKeys = keys{now: append([]string{"asked", "recorded"}, requirementKeys...)}

func (d *decoder) decodeExpectation(n *node) Expectation {
	const what = "expect"
	o := d.object(n, what, expectKeys)
	e := Expectation{
		Asked: o.boolean("asked"), Recorded: o.boolean("recorded"), Policy: o.optionalText("policy"),
		Quorum: o.optionalInteger("quorum"), DenyQuorum: o.optionalInteger("deny_quorum"),
		SelfApproval: o.boolean("self_approval"), Possible: o.boolean("possible"),
		ExpiresIn: o.optionalDuration("expires_in"), ValidFor: o.optionalDuration("valid_for"),
	}
	if word := o.choice("on_expiry", expiryWords); word != "" {
		e.OnExpiry = &word
	}
	if word := o.choice("risk", riskWords); word != "" {
		e.Risk = &word
	}
	if n := o.values["approvers"]; n != nil {
		people := d.decodePeople(n, "approvers")
		e.Approvers = &people
	}
	if o.values["all_of"] != nil {
		e.AllOf = d.decodeSets(o)
	}
	if o.values["always"] != nil {
		e.AlwaysScopes = o.decodeAlways()
	}
	o.checkExpectation(n, &e)
	return e
}

// checkExpectation notes cases that state nothing, or what cannot be.
func (o *object) checkExpectation(n *node, e *Expectation) {
	if n.kind == kindMapping && len(n.entries) == 0 {
		o.problem(n.pos, "the case expects nothing; state at least one thing, for instance `asked: true`")
	}
	notAsked := e.Asked != nil && !*e.Asked || e.Recorded != nil && *e.Recorded
	for _, entry := range n.entries {
		if notAsked && slices.Contains(requirementKeys, entry.key) {
			o.problem(entry.pos, "nobody is asked in this case, so no policy applies; leave %s out", entry.key)
		}
	}
	if e.Asked != nil && e.Recorded != nil && *e.Asked && *e.Recorded {
		o.problem(n.pos, "a call is either asked about or recorded; asked and recorded cannot both be true")
	}
	if e.Approvers != nil && e.AllOf != nil {
		o.problem(n.pos, "approvers and all_of say both who must agree; write one of them")
	}
}

func (o *object) optionalText(key string) *string {
	if n := o.of(key, kindString); n != nil {
		return &n.text
	}
	return nil
}

func (o *object) optionalInteger(key string) *int {
	if o.values[key] == nil {
		return nil
	}
	i := o.integer(key, 1, mostQuorum, 1)
	return &i
}

func (o *object) optionalDuration(key string) *time.Duration {
	if o.values[key] == nil {
		return nil
	}
	v := o.duration(key, time.Hour)
	return &v
}

// StatesPolicy reports whether the case expects something of the policy, which there is only where people are asked.
func (e *Expectation) StatesPolicy() bool {
	return e.Policy != nil || e.Quorum != nil || e.Approvers != nil || e.AllOf != nil || e.DenyQuorum != nil ||
		e.SelfApproval != nil || e.ExpiresIn != nil || e.ValidFor != nil || e.OnExpiry != nil || e.Risk != nil ||
		e.AlwaysScopes != nil || e.Possible != nil
}
