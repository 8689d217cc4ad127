package agentsfile

import "time"

// Policy says who must agree to a call.
type Policy struct {
	Position
	Approvers    People
	Quorum       int
	DenyQuorum   int
	SelfApproval bool
	ExpiresIn    time.Duration
	OnExpiry     string
	ValidFor     time.Duration
	AlwaysScopes []string
}

// What a policy says where it says nothing: the strict thing.
const (
	defaultExpiresIn = 24 * time.Hour
	defaultValidFor  = time.Hour
	defaultOnExpiry  = "reject"
	defaultScope     = "run"
	mostQuorum       = 100
)

func (d *decoder) decodePolicy(n *node) *Policy {
	o := d.object(n, "default_policy", policyKeys)
	p := &Policy{
		Position:     n.pos,
		Quorum:       o.integer("quorum", 1, mostQuorum, 1),
		DenyQuorum:   o.integer("deny_quorum", 1, mostQuorum, 1),
		ExpiresIn:    o.duration("expires_in", defaultExpiresIn),
		OnExpiry:     defaultOnExpiry,
		ValidFor:     o.duration("valid_for", defaultValidFor),
		AlwaysScopes: []string{defaultScope},
	}
	if b := o.boolean("self_approval"); b != nil {
		p.SelfApproval = *b
	}
	if word := o.choice("on_expiry", expiryWords); word != "" {
		p.OnExpiry = word
	}
	if o.values["always"] != nil {
		p.AlwaysScopes = o.decodeAlways()
	}
	if n.kind != kindMapping {
		return p
	}
	if o.require("default_policy", "approvers"); o.values["approvers"] == nil {
		return p
	}
	p.Approvers = d.decodePeople(o.values["approvers"], "approvers")
	o.reachable(p)
	return p
}

func (o *object) decodeAlways() []string {
	always := o.object(o.values["always"], "always", alwaysKeys)
	scopes := []string{}
	for _, n := range always.list("scopes") {
		entry := &object{decoder: o.decoder, values: map[string]*node{"scopes": n}}
		if word := entry.choice("scopes", scopeWords); word != "" {
			scopes = append(scopes, word)
		}
	}
	return scopes
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
		o.problem(deny.pos, "quorum %d and deny_quorum %d of %d people can end in a tie that nobody can break; together they may be %d",
			p.Quorum, p.DenyQuorum, len(p.Approvers.Users), most)
	}
}
