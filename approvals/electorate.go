package approvals

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// conversation is what a set of people may depend on.
type conversation struct {
	ws        WorkspaceID
	place     Place
	requester UserID
}

func (r *RequestHead) conversation() conversation {
	return conversation{ws: r.Workspace, place: r.Place, requester: r.Requester}
}

// Principals are the people who stand behind the call: who asked for it, and who changed or completed its arguments.
func (r *RequestHead) Principals() []UserID {
	all := make([]UserID, 1, 1+len(r.Editors))
	all[0] = r.Requester
	for _, u := range r.Editors {
		if u != r.Requester {
			all = append(all, u)
		}
	}
	return all
}

// demands returns all that has to be met to approve r: what was recorded with it, what it has inherited, and what the
// policy demands now.
func (r *RequestHead) demands(current *Requirement) []*Requirement {
	all := make([]*Requirement, 0, 2+len(r.Inherited))
	all = append(all, &r.Requirement)
	for i := range r.Inherited {
		all = append(all, &r.Inherited[i])
	}
	return append(all, current)
}

// facts is what was found out about people before a decision is judged: a value, from which the functions of this file
// draw conclusions without asking anybody. What was not asked is errNotGathered; what could not be found out is the
// error it came to.
type facts struct {
	at       conversation
	persons  answers[UserID, Person]
	groups   answers[string, []UserID]
	channel  answers[UserID, bool]           // whether they are in the conversation's channel
	left     answers[string, candidates]     // by Approvers.key
	policies answers[RequestID, Requirement] // what the policy demands now

	delegations []Delegation // of the workspace, those that have ended too
	emergency   Emergency
}

// terms are what a requirement demands of the answers to one request at one instant.
type terms struct {
	*Requirement          // with its seats as they are then
	principals   []UserID // see RequestHead.Principals
	now          time.Time
}

func (r *RequestHead) terms(q *Requirement, now time.Time) *terms {
	return &terms{q.after(now.Sub(r.asked())), r.Principals(), now}
}

// answer is what a question came to.
type answer[T any] struct {
	value T
	err   error
}

// errNotGathered is the answer to a question that nobody asked. Whoever meets it gathers again.
var errNotGathered = fmt.Errorf("%w: not asked before the transaction", ErrUnavailable)

func look[K comparable, V any](kept answers[K, V], key K) (V, error) {
	a := kept.find(key)
	if a == nil {
		var none V
		return none, errNotGathered
	}
	return a.value, a.err
}

// regular returns ErrUnauthorized unless u is a full, active member of the workspace.
func (f *facts) regular(u UserID) error {
	if u.Workspace() != f.at.ws {
		return RuleWorkspace.refuse(ErrUnauthorized, "", wordsOfOtherWorkspace)
	}
	who, err := look(f.persons, u)
	if err != nil {
		return err
	}
	return who.irregular()
}

// irregular returns ErrUnauthorized, with the reason, unless the person is regular.
func (p Person) irregular() error {
	switch {
	case p.Regular:
		return nil
	case p.Why == "":
		return RuleMember.refuse(ErrUnauthorized, "", wordsNoMember)
	}
	return RuleMember.refuse(ErrUnauthorized, p.Why, p.Why)
}

// in reports whether the set names u. It does not say whether u is regular. Somebody whom one part of the set names is
// in it whatever is known of the other parts.
func (f *facts) in(a Approvers, u UserID) (bool, error) {
	if slices.Contains(a.Users, u) {
		return true, nil
	}
	var unknown error
	for _, g := range a.Groups {
		members, err := look(f.groups, g)
		if err == nil && slices.Contains(members, u) {
			return true, nil
		}
		unknown = errors.Join(unknown, err)
	}
	if a.ChannelMembers {
		member, err := f.inChannel(u)
		if err == nil && member {
			return true, nil
		}
		unknown = errors.Join(unknown, err)
	}
	return false, unknown
}

// inChannel reports whether u belongs to the conversation's channel; a direct one belongs to its requester.
func (f *facts) inChannel(u UserID) (bool, error) {
	if f.at.place.Direct {
		return u == f.at.requester, nil
	}
	return look(f.channel, u)
}

// maySit says whether the voter may take the seat under the terms: nil, ErrUnauthorized with the reason in words, or
// ErrUnavailable. It is the one place that says who may answer.
func (f *facts) maySit(t *terms, seat Seat, v voter) error {
	if err := f.delegated(v, t.now); err != nil {
		return err
	}
	for _, u := range v.people() {
		if err := f.regular(u); err != nil {
			return err
		}
		if slices.Contains(t.principals, u) && !t.SelfApproval {
			return f.at.selfApproval(u)
		}
	}
	ok, err := f.in(seat.Approvers, v.principal())
	if err != nil {
		return err
	}
	if !ok {
		return RuleApprover.refuse(ErrUnauthorized, "", wordsNoApprover(t.name()))
	}
	return nil
}

// selfApproval says why somebody who stands behind the call does not decide about it.
func (c *conversation) selfApproval(u UserID) error {
	if u == c.requester {
		return RuleRequester.refuse(ErrUnauthorized, "", wordsOwnRequest)
	}
	return RuleEditor.refuse(ErrUnauthorized, "", wordsOwnArguments)
}

// mayAnswer says whether the voter may take any seat under the terms.
func (f *facts) mayAnswer(t *terms, v voter) error {
	var refused error
	for _, seat := range t.Seats {
		err := f.maySit(t, seat, v)
		if err == nil {
			return nil
		}
		if refused == nil || !errors.Is(refused, ErrUnavailable) {
			refused = err
		}
	}
	if refused == nil {
		return refuse(ErrUnauthorized, wordsNobodyCan(t.name()))
	}
	return refused
}

// mayAnswerBoth applies mayAnswer to what was recorded with r and to the current requirement: all must be satisfied,
// each as it stands now.
func (f *facts) mayAnswerBoth(r *RequestHead, current *Requirement, v voter, now time.Time) error {
	for i, q := range r.demands(current) {
		if i > 0 && r.Requirement.equal(*q) {
			continue
		}
		if err := f.mayAnswer(r.terms(q, now), v); err != nil {
			return err
		}
	}
	return nil
}

// complete reports whether the people can take all seats of the requirement, each one of them. may says who can sit
// where; its ErrUnavailable matters only when the seats cannot be taken without that person.
func complete(seats []Seat, people []voter, may func(Seat, voter) error) (bool, error) {
	edges := make([][]int, len(seats))
	doubtful := make([][]int, len(seats))
	var unknown error
	for i, seat := range seats {
		for j, v := range people {
			err := may(seat, v)
			if err == nil {
				edges[i] = append(edges[i], j)
			} else if errors.Is(err, ErrUnavailable) {
				doubtful[i] = append(doubtful[i], j)
				unknown = errors.Join(unknown, err)
			}
		}
	}
	if taken(edges, len(people)) == len(seats) {
		return true, nil
	}
	if unknown == nil {
		return false, nil
	}
	for i := range edges {
		edges[i] = append(edges[i], doubtful[i]...)
	}
	if taken(edges, len(people)) == len(seats) {
		return false, unknown
	}
	return false, nil
}

// taken returns how many seats can be taken at once by distinct people: a maximum matching, found by augmenting paths.
func taken(edges [][]int, people int) (n int) {
	seatOf := make([]int, people)
	for j := range seatOf {
		seatOf[j] = -1
	}
	var place func(seat int, tried []bool) bool
	place = func(seat int, tried []bool) bool {
		for _, j := range edges[seat] {
			if tried[j] {
				continue
			}
			tried[j] = true
			if seatOf[j] < 0 || place(seatOf[j], tried) {
				seatOf[j] = seat
				return true
			}
		}
		return false
	}
	for seat := range edges {
		if place(seat, make([]bool, people)) {
			n++
		}
	}
	return n
}
