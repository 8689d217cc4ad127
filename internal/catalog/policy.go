package catalog

import (
	"context"
	"strings"

	"countersign/approvals"
	"countersign/approvals/celpolicy"
	"countersign/internal/agentsfile"
)

// policies makes the policies of the file. What is wrong with a condition is noted.
func (b *builder) policies() *celpolicy.Rules {
	rules := &celpolicy.Rules{Default: celpolicy.None{}}
	if p := b.file.DefaultPolicy; p != nil {
		rules.Default = policyOf(p)
	}
	for _, p := range b.file.Policies {
		when, err := celpolicy.CompileCondition(p.When.Source, b.vars)
		if err != nil {
			b.expression(p.When.At, "policy "+p.Name, err)
			continue
		}
		rules.Rules = append(rules.Rules, celpolicy.Rule{When: when, Then: policyOf(p)})
	}
	return rules
}

// policyOf makes a policy of the file's words.
func policyOf(p *agentsfile.Policy) *celpolicy.Static {
	s := &celpolicy.Static{
		Name:  p.Name,
		Users: p.Approvers.Users, Groups: p.Approvers.Groups, ChannelMembers: p.Approvers.ChannelMembers,
		Quorum: p.Quorum, DenyQuorum: p.DenyQuorum, SelfApproval: p.SelfApproval,
		ExpiresIn: p.ExpiresIn, OnExpiry: approvals.OnExpiry(p.OnExpiry), ValidFor: p.ValidFor,
		RemindEvery: p.RemindEvery,
	}
	if e := p.Escalate; e != nil {
		s.EscalateAfter = e.After
		s.EscalateTo = celpolicy.Set{Users: e.To.Users, Groups: e.To.Groups, ChannelMembers: e.To.ChannelMembers}
	}
	for _, set := range p.AllOf {
		s.AllOf = append(s.AllOf, celpolicy.Set{
			Users: set.Users, Groups: set.Groups, ChannelMembers: set.ChannelMembers,
		})
	}
	for _, scope := range p.AlwaysScopes {
		s.Always = append(s.Always, approvals.Scope(scope))
	}
	return s
}

// varsOf are the file's vars as expressions read them.
func varsOf(vars []agentsfile.Var) celpolicy.Vars {
	values := make(celpolicy.Vars)
	for _, v := range vars {
		if text, ok := v.Value.(agentsfile.Text); ok {
			values[v.Name] = text.Value
			continue
		}
		values[v.Name] = v.Value
	}
	return values
}

// PolicyRow is a policy in words.
type PolicyRow struct {
	Name      string `json:"name"`
	When      string `json:"when,omitempty"` // the condition, as the file has it; empty: what no other policy is for
	MustAgree string `json:"must_agree"`     // who and how many
}

// PolicyRows are the policies in their order, the default policy last if the file has one.
func (c *Catalog) PolicyRows(ctx context.Context) ([]PolicyRow, error) {
	policies := c.File.Policies
	if c.File.DefaultPolicy != nil {
		policies = append(policies[:len(policies):len(policies)], c.File.DefaultPolicy)
	}
	rows := make([]PolicyRow, 0, len(policies))
	for _, p := range policies {
		q, err := policyOf(p).Requirement(ctx, &approvals.Request{})
		if err != nil {
			return nil, err
		}
		when := strings.Join(strings.Fields(p.When.Source), " ")
		rows = append(rows, PolicyRow{Name: p.Name, When: when, MustAgree: q.Describe()})
	}
	return rows, nil
}
