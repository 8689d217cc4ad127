package approvals_test

import (
	"errors"
	"strings"
	"testing"

	"countersign/approvals"
)

// TestRefusalIsFoundBehindWhatWasTried: whoever is refused learns by which rule and about what, whatever stands around
// it; the error ends with the reason.
func TestRefusalIsFoundBehindWhatWasTried(t *testing.T) {
	t.Parallel()
	check := func(what string, err, fact error, rule approvals.Rule, about string) {
		t.Helper()
		got, ok := errors.AsType[*approvals.Refusal](err)
		if !ok || got.Rule != rule || got.About != about || !errors.Is(err, fact) || got.Why == "" ||
			!strings.HasSuffix(err.Error(), ": "+fact.Error()+": "+got.Why) {
			t.Errorf("%s: %v: %+v", what, err, got)
		}
	}
	strict := lenient()
	strict.SelfApproval = false
	b, r := askedWithGroup(t, strict)
	for _, c := range []struct {
		by    approvals.UserID
		rule  approvals.Rule
		about string
	}{
		{ann, approvals.RuleRequester, ""}, {guest, approvals.RuleMember, "guest"}, {out, approvals.RuleApprover, ""},
	} {
		_, err := b.decide(r, c.by, approvals.Approve, "")
		check(string(c.by), err, approvals.ErrUnauthorized, c.rule, c.about)
	}

	b, r = granting(t)
	const s = approvals.ScopeThread
	for _, c := range []struct {
		terms approvals.GrantTerms
		rule  approvals.Rule
		about string
	}{
		{approvals.GrantTerms{Scope: s, TTL: 1}, approvals.RuleLasts, ""},
		{approvals.GrantTerms{Scope: s, TTL: 1 << 60}, approvals.RuleLasts, ""},
		{approvals.GrantTerms{Scope: s, Uses: -1}, approvals.RuleUses, ""},
		{approvals.GrantTerms{Scope: s, Same: []string{"payee"}}, approvals.RuleSame, "payee"},
		{approvals.GrantTerms{Scope: s, Without: []string{"to"}}, approvals.RuleWithout, "to"},
		{approvals.GrantTerms{Scope: s, AtMost: []string{"to"}}, approvals.RuleAtMost, "to"},
	} {
		err := b.grant(r, bob, approvals.AlwaysApprove, c.terms)
		check(string(c.rule), err, approvals.ErrInvalid, c.rule, c.about)
	}
}
