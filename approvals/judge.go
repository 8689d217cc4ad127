package approvals

import (
	"errors"
	"slices"
	"strings"
	"time"

	"countersign/agent"
)

// ruling is what a decision does to a request: the status it settles with, or the empty one while people are missing,
// and the earlier decisions that no longer count because whoever made them has lost the right to.
type ruling struct {
	status RequestStatus
	note   string            // why the request ends otherwise than by as many answers as it takes
	void   map[UserID]string // why their decision counts no longer
	on     UserID            // on whose behalf the decision counts; empty: the person's own
}

// judge says what d does to the pending request r. It asks nobody and changes nothing: the same request, facts,
// decision and time give the same ruling. The error says why d does not count: ErrConflict, ErrExpired, ErrStale,
// ErrInvalid, ErrUnauthorized, or ErrUnavailable.
func judge(r *RequestHead, f *facts, d *Decision, now time.Time) (ruling, error) {
	if err := r.open(now); err != nil {
		return ruling{}, err
	}
	if d.Verdict == BreakGlass {
		return f.breaks(r, d)
	}
	current, err := look(f.policies, r.ID)
	if err != nil {
		return ruling{}, err
	}
	if err := r.takes(d.Verdict, d.Grant, &current); err != nil {
		return ruling{}, err
	}
	v, err := f.stands(r, &current, d, now)
	if err != nil {
		return ruling{}, err
	}
	if err := r.hasNoAnswer(v); err != nil {
		return ruling{}, err
	}
	if err := r.unseen(d, &current); err != nil {
		return ruling{}, err
	}
	if v.on != "" && !d.Grant.plain() {
		return ruling{}, refuse(ErrInvalid, wordsGrantForOther)
	}
	if d.Verdict == AlwaysApprove {
		if err := f.unescalated(r, &current, v, now); err != nil {
			return ruling{}, err
		}
	}
	if d.Verdict.starts() {
		if err := f.thawedBoth(r, &current, v.principal(), now); err != nil {
			return ruling{}, err
		}
	}
	if !sameDigest(d.Digest, r.Digest) {
		return ruling{}, refuse(ErrStale, wordsShownOtherwise)
	}
	t := tally{r: r, f: f, current: &current, now: now, given: make(given, 0, len(r.Decisions)+1)}
	t.given = append(append(t.given, r.Decisions...), *d)
	t.given[len(r.Decisions)].For = v.on
	result, err := t.rule(d.Verdict)
	result.on = v.on
	return result, err
}

// unescalated returns ErrInvalid for a voter who may answer r only since an escalation: about later calls, of which
// nobody has been asked, they have no say.
func (f *facts) unescalated(r *RequestHead, current *Requirement, v voter, now time.Time) error {
	for _, q := range []*Requirement{&r.Requirement, current} {
		err := f.mayAnswer(&terms{q, r.Principals(), now}, v)
		if errors.Is(err, ErrUnauthorized) {
			return refuse(ErrInvalid, wordsOnlyEscalated)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hasNoAnswer returns ErrConflict when somebody who takes part in an answer of the voter has taken part in another one
// that counts: one person, or one who decides for them, gives one answer.
func (r *RequestHead) hasNoAnswer(v voter) error {
	for _, u := range v.people() {
		old := r.decidedBy(u)
		switch {
		case old == nil:
		case old.For == u:
			return refuse(ErrConflict, wordsAnsweredFor(old.By.Local(), u.Local()))
		default:
			return refuse(ErrConflict, wordsAnswered(u.Local()))
		}
	}
	return nil
}

// open returns nil while the request takes answers.
func (r *RequestHead) open(now time.Time) error {
	switch r.Status {
	case RequestPending:
		if r.overdue(now) {
			return refuse(ErrExpired, wordsExpiredAt(freezeTime(r.Expires)))
		}
		return nil
	case RequestExpired:
		return ErrExpired
	case RequestStale, RequestSuperseded:
		return refuse(ErrStale, strings.TrimSuffix(r.Note, "."))
	default:
		return refuse(ErrConflict, wordsItIs(r.Status))
	}
}

// kinds says which verdicts a request of a kind takes.
var kinds = map[agent.InterruptionKind][]Verdict{
	agent.Confirm:        {Approve, Reject, AlwaysApprove, AlwaysReject, Edit},
	agent.OutcomeUnknown: {Retry, MarkDone, GiveUp},
	agent.ExternalResult: {ProvideResult, Reject},
	agent.FieldsRequired: {ProvideInput, Reject},
}

// verdicts are those that r takes.
func (r *RequestHead) verdicts() []Verdict {
	if r.IsQuestion() {
		return []Verdict{Answer, Reject}
	}
	return kinds[r.Kind]
}

// verdictNames lists what r is answered with, for people.
func (r *RequestHead) verdictNames() string {
	var names []string
	for _, v := range r.verdicts() {
		names = append(names, string(v))
	}
	return join(names)
}

// takes checks that the request takes the verdict. All that is demanded must allow a standing answer, on these terms,
// and nobody can give one to a call that the model did not write: it is about later calls as the model writes them.
func (r *RequestHead) takes(v Verdict, terms *GrantTerms, current *Requirement) error {
	if !slices.Contains(r.verdicts(), v) {
		return refuse(ErrInvalid, wordsTakesOthers(v, r.verdictNames()))
	}
	if !v.standing() {
		return nil
	}
	if r.revised() {
		return refuse(ErrInvalid, wordsChangedByHand)
	}
	if v.Affirms() && !terms.plain() && r.Tool.Kind == agent.KindExternal {
		return refuse(ErrInvalid, wordsExternalTerms)
	}
	for _, q := range r.demands(current) {
		if err := q.allows(terms); err != nil {
			return err
		}
	}
	return nil
}

// tally counts the decisions about a request, the newest of which has just been found to count.
type tally struct {
	r       *RequestHead
	given   given // those of r and the newest
	f       *facts
	current *Requirement
	now     time.Time
}

// endsAs says how a request ends by a verdict that settles alone.
func (v Verdict) endsAs() RequestStatus {
	if v == Edit {
		return RequestSuperseded
	}
	return settledBy(v.Affirms())
}

// settledBy says how a request ends by a verdict that affirms, or does not.
func settledBy(affirms bool) RequestStatus {
	if affirms {
		return RequestApproved
	}
	return RequestRejected
}

// rule says what the decisions come to. A verdict that settles alone is no vote. When the votes suffice, everybody's
// right to theirs is looked at again: votes of people who have lost it count no longer.
func (t *tally) rule(newest Verdict) (ruling, error) {
	if newest.alone() {
		return ruling{status: newest.endsAs()}, nil
	}
	void := map[UserID]string{}
	if t.enough(newest.Affirms()) {
		if err := t.drop(newest.Affirms(), void); err != nil {
			return ruling{}, err
		}
		settles, err := t.seated(newest.Affirms())
		if err != nil {
			return ruling{}, err
		}
		if settles {
			return ruling{status: settledBy(newest.Affirms()), void: void}, nil
		}
	}
	r, err := t.outOfReach()
	r.void = void
	return r, err
}

// enough reports whether as many people have affirmed as every requirement demands at least, or as many declined as one
// of them does.
func (t *tally) enough(affirm bool) bool {
	n := len(t.given.voters(affirm))
	for _, q := range t.r.demands(t.current) {
		switch {
		case affirm && n < len(q.Seats):
			return false
		case !affirm && n >= q.DenyQuorum:
			return true
		}
	}
	return affirm
}

// drop takes out the decisions of voters who have lost the right to answer since, or may not affirm during a freeze
// that has begun since, and notes the reasons in void.
func (t *tally) drop(affirm bool, void map[UserID]string) error {
	for _, v := range t.given.voters(affirm) {
		err := t.f.mayAnswerBoth(t.r, t.current, v, t.now)
		if err == nil && affirm {
			err = t.f.thawedBoth(t.r, t.current, v.principal(), t.now)
		}
		switch {
		case errors.Is(err, ErrUnauthorized):
			void[v.by] = because(err)
			t.given.by(v.by).Void = void[v.by]
		case err != nil:
			return err
		}
	}
	return nil
}

// because returns the reason in words that an ErrUnauthorized of this package carries.
func because(err error) string {
	return strings.TrimPrefix(err.Error(), ErrUnauthorized.Error()+": ")
}

// seated reports whether those who affirmed are enough and can take all seats of every requirement. Declining takes no
// seats.
func (t *tally) seated(affirm bool) (bool, error) {
	if !affirm || !t.enough(affirm) {
		return t.enough(affirm), nil
	}
	for _, q := range t.r.demands(t.current) {
		terms := t.r.terms(q, t.now)
		maySit := func(s Seat, v voter) error { return t.f.maySit(terms, s, v) }
		ok, err := complete(terms.Seats, t.given.voters(true), maySit)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// outOfReach settles a request as rejected when somebody has declined and those who have not answered are too few to
// make up what it takes. While nobody knows who is left it waits.
func (t *tally) outOfReach() (ruling, error) {
	if len(t.given.voters(false)) == 0 {
		return ruling{}, nil
	}
	for _, q := range t.r.demands(t.current) {
		ok, err := t.reachable(q)
		if errors.Is(err, errNotGathered) {
			return ruling{}, err
		}
		if err == nil && !ok {
			note := wordsTooFewLeft(q.name(), t.r.needs(q))
			return ruling{status: RequestRejected, note: note}, nil
		}
	}
	return ruling{}, nil
}

// needs returns how many people it takes to affirm r under q: one of any seat, where one says what became of a call.
func (r *RequestHead) needs(q *Requirement) int {
	if r.Kind != agent.Confirm {
		return 1
	}
	return len(q.Seats)
}

// reachable reports whether the people who affirmed and those who have not answered can take all seats together, some
// of them perhaps after an escalation.
func (t *tally) reachable(q *Requirement) (bool, error) {
	voters, terms := t.given.voters(true), t.r.terms(q, t.now)
	seats := q.eventually(t.r.lifetime()).Seats
	people := slices.Clone(voters)
	for _, seat := range seats {
		left, err := look(t.f.left, seat.Approvers.key())
		if err != nil {
			return false, err
		}
		free := 0
		for _, u := range left.found {
			if t.given.by(u) != nil {
				continue
			}
			if t.f.couldSit(terms, seat, u) == nil {
				free++
			}
			if own := (voter{by: u}); !slices.Contains(people, own) {
				people = append(people, own)
			}
		}
		if free < len(seats) && len(left.found) >= left.sought {
			return false, errNotGathered // others have answered meanwhile: there may be more than were looked for
		}
	}
	could := func(s Seat, v voter) error {
		if slices.Contains(voters, v) {
			return t.f.maySit(terms, s, v)
		}
		return t.f.couldSit(terms, s, v.by)
	}
	if t.r.needs(q) < len(seats) {
		return anyone(seats, people, could)
	}
	return complete(seats, people, could)
}

// anyone reports whether at least one of the seats can be taken.
func anyone(seats []Seat, people []voter, may func(Seat, voter) error) (bool, error) {
	var unknown error
	for _, seat := range seats {
		ok, err := complete([]Seat{seat}, people, may)
		if ok {
			return true, nil
		}
		unknown = errors.Join(unknown, err)
	}
	return false, unknown
}

// couldSit says whether somebody who has not answered could take the seat: they were found when those were counted who
// could.
func (f *facts) couldSit(t *terms, s Seat, u UserID) error {
	left, err := look(f.left, s.Approvers.key())
	if err != nil {
		return err
	}
	if !slices.Contains(left.found, u) || slices.Contains(t.principals, u) && !t.SelfApproval {
		return ErrUnauthorized
	}
	return nil
}
