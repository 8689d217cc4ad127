package approvals

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
)

// complete returns the requirement as it is recorded and judged. One that asks nobody has a seat that nobody can take.
func (q Requirement) complete() Requirement {
	if len(q.Seats) == 0 {
		q.Seats = Quorum(1, Approvers{})
	}
	q.DenyQuorum = max(q.DenyQuorum, 1)
	if q.Risk == RiskHigh {
		q.Always = nil
	}
	return q
}

// digest stands for the requirement in the audit trail: the SHA-256 of its JSON.
func (q Requirement) digest() (agent.Digest, error) {
	b, err := json.Marshal(q)
	if err != nil {
		return agent.Digest{}, fmt.Errorf("requirement: %w", err)
	}
	return sha256.Sum256(b), nil
}

// demanded stands for all that was demanded of r when it was asked, and for the people who do not decide about it: what
// Requirement.digest is where r has inherited nothing and nobody changed it.
func (r *RequestHead) demanded() (agent.Digest, error) {
	if len(r.Inherited)+len(r.Editors) == 0 {
		return r.Requirement.digest()
	}
	b, err := json.Marshal(struct {
		Requirement Requirement   `json:"requirement"`
		Inherited   []Requirement `json:"inherited"`
		Editors     []UserID      `json:"editors"`
	}{r.Requirement, r.Inherited, r.Editors})
	if err != nil {
		return agent.Digest{}, fmt.Errorf("requirement: %w", err)
	}
	return sha256.Sum256(b), nil
}

func (q Requirement) name() string {
	if q.Policy == "" {
		return wordsThePolicy
	}
	return wordsPolicyNamed(q.Policy)
}

// equal reports whether both ask for the same, whatever they are called and wherever they are from.
func (q Requirement) equal(o Requirement) bool {
	return slices.EqualFunc(q.Seats, o.Seats, Seat.equal) && q.DenyQuorum == o.DenyQuorum &&
		q.SelfApproval == o.SelfApproval && q.ValidFor == o.ValidFor && slices.Equal(q.Always, o.Always) &&
		q.Escalation.equal(o.Escalation) && q.lasts() == o.lasts() &&
		q.Risk == o.Risk && slices.EqualFunc(q.Freeze, o.Freeze, Freeze.equal)
}

func (s Seat) equal(o Seat) bool { return s.Approvers.equal(o.Approvers) }

func (a Approvers) equal(o Approvers) bool {
	return a.ChannelMembers == o.ChannelMembers && slices.Equal(a.Users, o.Users) && slices.Equal(a.Groups, o.Groups)
}

// key names the set: equal sets have the same key, and no others.
func (a Approvers) key() string { return fmt.Sprintf("%q %q %t", a.Users, a.Groups, a.ChannelMembers) }

// Uniform returns the set of people that every seat is for, and whether there is one such set.
func (q Requirement) Uniform() (Approvers, bool) {
	if len(q.Seats) == 0 {
		return Approvers{}, false
	}
	first := q.Seats[0].Approvers
	for _, s := range q.Seats[1:] {
		if !s.Approvers.equal(first) {
			return Approvers{}, false
		}
	}
	return first, true
}

// Describe says in plain words who must agree, for instance "2 members of this channel, not the requester", or "one
// each of group S1 and group S2". Users and groups appear with the ids that the surface knows.
func (q Requirement) Describe() string {
	set, uniform := q.Uniform()
	var text string
	switch {
	case len(q.Seats) == 0 || uniform && set.Empty():
		return wordsNobodyApproves
	case uniform:
		text = set.describe(len(q.Seats))
	default:
		var each []string
		for _, s := range q.Seats {
			each = append(each, strings.Join(s.Approvers.words(), ", "))
		}
		text = wordsOneEach(each)
	}
	if q.Escalation.After > 0 {
		text += wordsLaterAlso(shortDuration(q.Escalation.After), join(q.Escalation.To.words()))
	}
	if !q.SelfApproval {
		text += wordsNotRequester
	}
	return text
}

// describe says that it takes n people of the set.
func (a Approvers) describe(n int) string {
	if a.onlyChannel() {
		return wordsMembersOfChannel(n)
	}
	return wordsCountOf(n, join(a.words()))
}

func (a Approvers) onlyChannel() bool {
	return a.ChannelMembers && len(a.Users) == 0 && len(a.Groups) == 0
}

func (a Approvers) words() []string {
	var words []string
	for _, u := range a.Users {
		words = append(words, u.Local())
	}
	for _, g := range a.Groups {
		words = append(words, wordsGroup(g))
	}
	if a.ChannelMembers {
		words = append(words, wordsTheChannelMembers)
	}
	return words
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
