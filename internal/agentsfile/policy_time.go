package agentsfile

import "time"

// leastReminder bounds how often people are reminded.
const leastReminder = time.Minute

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
}
