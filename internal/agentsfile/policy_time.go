package agentsfile

import "time"

// leastReminder bounds how often people are reminded.
const leastReminder = time.Minute

// Escalate says who else may answer a request that has waited for so long.
type Escalate struct {
	After time.Duration
	To    People
}

// expires reports whether a request may run out of time under the policy.
func (p *Policy) expires() bool { return p.OnExpiry != expiryKeep }

// decodeTimes reads what happens while a request waits.
func (o *object) decodeTimes(p *Policy) {
	p.RemindEvery = o.duration("remind_every", 0)
	n := o.values["remind_every"]
	switch {
	case p.RemindEvery == 0:
	case p.RemindEvery < leastReminder:
		o.problem(n.pos, "remind_every is at least 1m")
	case p.expires() && p.RemindEvery >= p.ExpiresIn:
		o.problem(n.pos, "remind_every is not shorter than expires_in (%s): nobody would be reminded", p.ExpiresIn)
	}
	if n := o.values["escalate"]; n != nil {
		p.Escalate = o.decodeEscalate(n, p)
	}
}

// decodeEscalate reads the second set of people. One that is reached only when the request has expired is refused.
func (d *decoder) decodeEscalate(n *node, p *Policy) *Escalate {
	const what = "escalate"
	o := d.object(n, what, escalateKeys)
	if n.kind != kindMapping {
		return nil
	}
	o.require(what, "after", "to")
	e := &Escalate{After: o.duration("after", 0)}
	if to := o.values["to"]; to != nil {
		e.To = d.decodePeople(to, "escalate.to")
	}
	if at := o.values["after"]; at != nil && p.expires() && e.After >= p.ExpiresIn {
		o.problem(at.pos, "after is not shorter than expires_in (%s): nobody else would be asked in time", p.ExpiresIn)
	}
	return e
}
