package approvals

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/agent"
)

// GrantTerms are what a person asks of a grant: how far it reaches, for which arguments, for how long and how often.
// Values of arguments are never given: they are those of the call that is decided.
type GrantTerms struct {
	Scope Scope `json:"scope"`
	// Same names arguments that keep the value they have in the call, AtMost numbers that do not become greater: fields
	// of the arguments or, with a slash first, JSON pointers.
	Same   []string `json:"same,omitempty"`
	AtMost []string `json:"at_most,omitempty"`
	// TTL is how long it lasts; zero: as long as the policy lets it.
	TTL time.Duration `json:"ttl,omitempty"`
	// Uses is how many calls may run under it beside the one that is decided; zero: any number.
	Uses int `json:"uses,omitempty"`
	// Without names arguments that the call does not have, and later ones must not have either.
	Without []string `json:"without,omitempty"`
}

const (
	// defaultMaxTTL bounds a grant where the policy says nothing.
	defaultMaxTTL = 24 * time.Hour
	// maxUses bounds what a person may ask for: more is any number.
	maxUses = 1_000_000
	// maxGrants bounds the open grants for one tool of an agent: each call of it is held against all of them.
	maxGrants = 100
)

// check refuses what no policy could allow.
func (t *GrantTerms) check(v Verdict) error {
	switch {
	case !v.standing():
		return refuse(ErrInvalid, wordsTermsOfOther(v))
	case t.Scope.width() < 0:
		return refuse(ErrInvalid, wordsNoScope(t.Scope))
	case t.TTL < 0 || t.TTL > 0 && t.TTL < time.Second:
		return RuleLasts.refuse(ErrInvalid, "", wordsTooShort)
	case t.Uses < 0 || t.Uses > maxUses:
		return RuleUses.refuse(ErrInvalid, "", wordsHowManyUses(maxUses))
	case t.Uses > 0 && !v.Affirms():
		return RuleUses.refuse(ErrInvalid, "", wordsRejectionHasNoUses)
	}
	return nil
}

// plain reports whether the terms are those of an answer that gives none: for the rest of the run, without condition.
// Such an answer is kept in the run's state, and needs no record.
func (t *GrantTerms) plain() bool {
	return t == nil || t.Scope == ScopeRun && len(t.Same)+len(t.AtMost)+len(t.Without) == 0 && t.TTL == 0 && t.Uses == 0
}

// equal reports whether they are the same terms, word for word.
func (t *GrantTerms) equal(o *GrantTerms) bool {
	mine, err1 := t.digest()
	theirs, err2 := o.digest()
	return err1 == nil && err2 == nil && mine == theirs
}

// digest stands for the terms of a decision in the audit trail; zero for none.
func (t *GrantTerms) digest() (agent.Digest, error) {
	if t == nil {
		return agent.Digest{}, nil
	}
	b, err := json.Marshal(t)
	if err != nil {
		return agent.Digest{}, fmt.Errorf("terms of a grant: %w", err)
	}
	return sha256.Sum256(b), nil
}

// lasts returns how long a grant may last under the requirement.
func (q *Requirement) lasts() time.Duration {
	if q.MaxTTL <= 0 {
		return defaultMaxTTL
	}
	return q.MaxTTL
}

// GrantLasts returns how long a grant lasts at most that an answer to r gives now, by what is known of the policy of
// today.
func (r *RequestHead) GrantLasts() time.Duration {
	if r.Progress == nil {
		return r.Requirement.lasts()
	}
	return min(r.Requirement.lasts(), r.Progress.Current.lasts())
}

// scopeNames lists the scopes of standing answers that the requirement allows.
func (q *Requirement) scopeNames() string {
	if len(q.Always) == 0 {
		return "none"
	}
	names := make([]string, len(q.Always))
	for i, s := range q.Always {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// allows returns ErrInvalid, in words, unless the requirement allows a standing answer on these terms.
func (q *Requirement) allows(t *GrantTerms) error {
	if q.Risk == RiskHigh {
		return refuse(ErrInvalid, wordsRiskAllowsNone(q.name()))
	}
	if t.plain() {
		if !slices.Contains(q.Always, ScopeRun) {
			return refuse(ErrInvalid, wordsAllowsNone(q.name()))
		}
		return nil
	}
	if !slices.Contains(q.Always, t.Scope) {
		return refuse(ErrInvalid, wordsAllowsNoScope(q.name(), t.Scope, q.scopeNames()))
	}
	if t.TTL > q.lasts() {
		return RuleLasts.refuse(ErrInvalid, "", wordsTooLong(q.name(), shortDuration(q.lasts())))
	}
	return nil
}

// narrowest returns the terms that all who settled the request meant: the narrowest scope, the shortest time, the
// fewest uses. Conditions are not put together: ok is false when they differ.
func (r *RequestHead) narrowest() (t GrantTerms, ok bool) {
	first := true
	for _, d := range r.counted() {
		given := GrantTerms{Scope: ScopeRun}
		if d.Grant != nil {
			given = *d.Grant
		}
		given.Same, given.AtMost, given.Without = named(given.Same), named(given.AtMost), named(given.Without)
		if first {
			t, first = given, false
			continue
		}
		if !slices.Equal(t.Same, given.Same) || !slices.Equal(t.AtMost, given.AtMost) ||
			!slices.Equal(t.Without, given.Without) {
			return GrantTerms{}, false
		}
		if given.Scope.width() < t.Scope.width() {
			t.Scope = given.Scope
		}
		t.TTL, t.Uses = least(t.TTL, given.TTL), least(t.Uses, given.Uses)
	}
	return t, !first
}

// named returns the pointers that names stand for, in order.
func named(names []string) []string {
	all := make([]string, 0, len(names))
	for _, n := range names {
		all = append(all, pointerOf(n))
	}
	slices.Sort(all)
	return all
}

// least returns the lesser of two numbers of which zero means any.
func least[T int | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// counted returns the decisions that settled the request, in the order in which they were made.
func (r *RequestHead) counted() []*Decision {
	affirm := r.Status == RequestApproved
	var all []*Decision
	for i := range r.Decisions {
		if d := &r.Decisions[i]; d.Void == "" && d.Verdict.Affirms() == affirm {
			all = append(all, d)
		}
	}
	return all
}

// granting reports whether the people who settled r meant later calls too, and not all of them just the rest of the
// run.
func (r *RequestHead) granting() bool {
	if r.Note != "" || r.Status != RequestApproved && r.Status != RequestRejected {
		return false
	}
	terms := false
	for _, d := range r.counted() {
		if !d.Verdict.standing() {
			return false
		}
		terms = terms || !d.Grant.plain()
	}
	return terms
}
