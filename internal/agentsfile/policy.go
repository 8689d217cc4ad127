package agentsfile

import "time"

// Policy says who must agree to a call.
type Policy struct {
	Position
	Name         string     // of the default policy, DefaultPolicyName
	When         Expression // of the default policy, empty
	Approvers    People
	AllOf        []People // one person of each set, instead of Quorum people of Approvers
	Quorum       int
	DenyQuorum   int
	SelfApproval bool
	ExpiresIn    time.Duration
	OnExpiry     string
	ValidFor     time.Duration
	AlwaysScopes []string
	// MaxTTL is how long a grant lasts at most.
	MaxTTL      time.Duration
	HighRisk    bool
	Freeze      []Freeze
	RemindEvery time.Duration // zero: never
	Escalate    *Escalate     // nil: nobody else is asked
	Notify      Notify
}

// What a policy says where it says nothing: the strict thing.
const (
	defaultExpiresIn = 24 * time.Hour
	defaultValidFor  = time.Hour
	defaultOnExpiry  = "reject"
	defaultScope     = "run"
	defaultMaxTTL    = 24 * time.Hour
	mostQuorum       = 100
)

// decodePolicy reads what all policies have; n is the object itself.
func (o *object) decodePolicy(n *node, what string) *Policy {
	p := &Policy{
		Position:     n.pos,
		Name:         what,
		Quorum:       o.integer("quorum", 1, mostQuorum, 1),
		DenyQuorum:   o.integer("deny_quorum", 1, mostQuorum, 1),
		ExpiresIn:    o.duration("expires_in", defaultExpiresIn),
		OnExpiry:     defaultOnExpiry,
		ValidFor:     o.duration("valid_for", defaultValidFor),
		AlwaysScopes: []string{defaultScope},
		MaxTTL:       defaultMaxTTL,
	}
	if b := o.boolean("self_approval"); b != nil {
		p.SelfApproval = *b
	}
	if word := o.choice("on_expiry", expiryWords); word != "" {
		p.OnExpiry = word
	}
	if o.values["always"] != nil {
		o.decodeAlways(p)
	}
	p.Freeze = o.decodeFreeze()
	if p.HighRisk = o.choice("risk", riskWords) == "high"; p.HighRisk {
		if len(p.AlwaysScopes) > 0 && o.values["always"] != nil {
			o.problem(o.values["always"].pos, "`risk: high` allows no standing answers; leave always out")
		}
		p.AlwaysScopes = nil
	}
	o.decodeTimes(p)
	p.Notify = o.decodeNotify()
	if n.kind != kindMapping {
		return p
	}
	o.decodeApprovers(p, what)
	return p
}

// decodeApprovers reads who must agree: a set of people, or one person of each of several sets. The sets may stand in
// the policy itself or under approvers.
func (o *object) decodeApprovers(p *Policy, what string) {
	d := o.decoder
	people, sets := o.values["approvers"], o.values["all_of"]
	switch {
	case people == nil && sets == nil:
		o.require(what, "approvers")
		return
	case people != nil && sets != nil:
		d.problem(sets.pos, "all_of says who must agree, and approvers says it too; write one of them")
		return
	case sets != nil:
		p.AllOf = d.decodeSets(o)
	default:
		under := d.object(people, "approvers", approverKeys)
		if under.values["all_of"] == nil {
			p.Approvers = under.decodeSet("approvers", people)
			o.reachable(p)
			return
		}
		if len(under.values) > 1 {
			d.problem(people.pos, "approvers has all_of and other people beside it; put them into a set of their own")
		}
		p.AllOf = d.decodeSets(under)
	}
	if n := o.values["quorum"]; n != nil {
		d.problem(n.pos, "all_of asks for one person of each set; quorum does not go with it")
	}
}

// decodeSets reads the sets of all_of.
func (d *decoder) decodeSets(o *object) (sets []People) {
	entries := o.list("all_of")
	for _, n := range entries {
		sets = append(sets, d.decodePeople(n, "an entry of all_of"))
	}
	for _, i := range unseated(sets) {
		d.problem(entries[i].pos, "nobody is left for this set of all_of: each set needs a person of its own, and its "+
			"people are needed for others")
	}
	if n := o.values["all_of"]; len(sets) < 2 || len(sets) > mostQuorum {
		d.problem(n.pos, "all_of has between 2 and %d sets of people, for instance [{groups: [S1]}, {groups: [S2]}]",
			mostQuorum)
	}
	return sets
}

// unseated returns the sets that cannot have a person of their own beside the sets before them. A set with a group or
// with the members of a channel may have any number of people.
func unseated(sets []People) (without []int) {
	seat := make(map[string]int) // who sits for which set
	var place func(set int, tried map[string]bool) bool
	place = func(set int, tried map[string]bool) bool {
		for _, u := range sets[set].Users {
			if tried[u] {
				continue
			}
			tried[u] = true
			if other, taken := seat[u]; !taken || place(other, tried) {
				seat[u] = set
				return true
			}
		}
		return false
	}
	for i, set := range sets {
		if len(set.Groups) > 0 || set.ChannelMembers || set.Empty() {
			continue
		}
		if !place(i, make(map[string]bool)) {
			without = append(without, i)
		}
	}
	return without
}

// decodeAlways reads what answers for later calls are bounded by. Without scopes it is the default one.
func (o *object) decodeAlways(p *Policy) {
	always := o.object(o.values["always"], "always", alwaysKeys)
	if p.MaxTTL = always.duration("max_ttl", defaultMaxTTL); p.MaxTTL < time.Second {
		o.problem(always.values["max_ttl"].pos, "max_ttl is at least 1s; to allow no such answers, write scopes: []")
	}
	if always.values["max_ttl"] != nil && always.values["scopes"] == nil {
		return
	}
	scopes := []string{}
	for _, n := range always.list("scopes") {
		entry := &object{decoder: o.decoder, values: map[string]*node{"scopes": n}}
		if word := entry.choice("scopes", scopeWords); word != "" {
			scopes = append(scopes, word)
		}
	}
	p.AlwaysScopes = scopes
}

// reachable notes a quorum that the named people can never reach, and two that leave a tie which nobody can break.
func (o *object) reachable(p *Policy) {
	if p.Approvers.ChannelMembers || len(p.Approvers.Groups) > 0 || p.Approvers.Empty() {
		return
	}
	for _, key := range []string{"quorum", "deny_quorum"} {
		needed := map[string]int{"quorum": p.Quorum, "deny_quorum": p.DenyQuorum}[key]
		if n := o.values[key]; n != nil && needed > len(p.Approvers.Users) {
			o.problem(n.pos, "%s is %d, but only %d people may decide", key, needed, len(p.Approvers.Users))
			return
		}
	}
	if most, deny := len(p.Approvers.Users)+1, o.values["deny_quorum"]; deny != nil && p.Quorum+p.DenyQuorum > most {
		o.problem(deny.pos,
			"quorum %d and deny_quorum %d of %d people can end in a tie that nobody can break; together they may be %d",
			p.Quorum, p.DenyQuorum, len(p.Approvers.Users), most)
	}
}
