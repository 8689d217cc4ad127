package approvals

import (
	"strings"
	"time"
)

// Escalation lets more people take the seats of a request that has waited for some time. It says how long after the
// request was asked, not when: so two answers of a policy about one request are equal.
type Escalation struct {
	After time.Duration `json:"after,omitempty"` // zero: never
	To    Approvers     `json:"to,omitzero"`
}

func (e Escalation) equal(o Escalation) bool { return e.After == o.After && e.To.equal(o.To) }

// widened returns the requirement with its seats for the second set of people too. There are as many seats as before,
// and one person takes one.
func (q Requirement) widened() Requirement {
	seats := make([]Seat, len(q.Seats))
	for i, seat := range q.Seats {
		seat.Approvers = seat.Approvers.or(q.Escalation.To)
		seats[i] = seat
	}
	q.Seats = seats
	return q
}

// after returns the requirement as it stands when the request has waited for so long.
func (q *Requirement) after(waited time.Duration) *Requirement {
	if q.Escalation.After <= 0 || waited < q.Escalation.After {
		return q
	}
	return new(q.widened())
}

// eventually returns the requirement as it will stand at the end of the request's life, which is zero where it has no
// end. An escalation that comes too late is none.
func (q Requirement) eventually(life time.Duration) Requirement {
	if q.Escalation.After <= 0 || life > 0 && q.Escalation.After >= life {
		return q
	}
	return q.widened()
}

// asked returns since when the request has waited.
func (r *RequestHead) asked() time.Time {
	if r.Asked.IsZero() {
		return r.Created
	}
	return r.Asked
}

// lifetime returns how long the request may wait; zero: for ever.
func (r *RequestHead) lifetime() time.Duration {
	switch {
	case r.Status == "": // not asked yet
		return r.Requirement.lifetime()
	case r.Expires.IsZero():
		return 0
	}
	return r.Expires.Sub(r.asked())
}

// Escalates returns when the recorded requirement lets more people answer the request, and that has to be told; zero:
// never, or it has been.
func (r *RequestHead) Escalates() time.Time {
	if r.Requirement.Escalation.After <= 0 || !r.Escalated.IsZero() {
		return noTime
	}
	return r.asked().Add(r.Requirement.Escalation.After)
}

// escalate records and tells that from now on more people may answer the request. Their right to does not depend on it:
// they have it since the instant that the requirement names. called is how they learn of it.
func (c *txn) escalate(r *RequestHead, called Called) error {
	r.Escalated = c.Now()
	r.Called.add(called)
	c.touched(r)
	c.show(r)
	c.notify(&Notification{Kind: NotifyEscalation, Place: r.Place, Run: r.Run, Request: r.ID})
	return c.audit(entry{
		Action: AuditRequestEscalated, Actor: system, Run: r.Run, Request: r.ID,
		Data: auditData{
			Digest: r.Digest, Policy: r.Requirement.Policy, To: r.Requirement.Escalation.To.ids(),
		},
	})
}

// ids lists who is in the set, as the audit trail names them.
func (a Approvers) ids() string {
	all := make([]string, 0, len(a.Users)+len(a.Groups)+1)
	for _, u := range a.Users {
		all = append(all, string(u))
	}
	for _, g := range a.Groups {
		all = append(all, "group "+g)
	}
	if a.ChannelMembers {
		all = append(all, "members of the channel")
	}
	return join(all)
}

// shortDuration writes a duration without the parts at its end that are zero.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
