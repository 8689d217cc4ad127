package catalog

import (
	"countersign/approvals"
	"countersign/approvals/celpolicy"
	"countersign/internal/agentsfile"
)

// policyOf makes the policy of the file's words.
func policyOf(p *agentsfile.Policy) approvals.Policy {
	if p == nil {
		return celpolicy.None{}
	}
	s := &celpolicy.Static{
		Name:  "default_policy",
		Users: p.Approvers.Users, Groups: p.Approvers.Groups, ChannelMembers: p.Approvers.ChannelMembers,
		Quorum: p.Quorum, DenyQuorum: p.DenyQuorum, SelfApproval: p.SelfApproval,
		ExpiresIn: p.ExpiresIn, OnExpiry: approvals.OnExpiry(p.OnExpiry), ValidFor: p.ValidFor,
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
