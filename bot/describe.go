package bot

import (
	"fmt"

	"countersign/approvals"
)

// whoDecides says in plain words what a policy asks for. The people and groups it names are mentioned, so that they
// learn of the question.
func whoDecides(req approvals.Requirement) phrase {
	p := whoSits(req)
	if req.DenyQuorum > 1 {
		p = append(p, fmt.Sprintf("; %d reject", req.DenyQuorum))
	}
	if req.Policy != "" {
		p = append(p, " (policy "+label(req.Policy, 80)+")")
	}
	return p
}

// whoSits names the people of whom some are needed.
func whoSits(req approvals.Requirement) phrase {
	req.Escalation = approvals.Escalation{} // which has a line of its own
	set, uniform := req.Uniform()
	if len(req.Seats) == 0 || uniform && len(set.Users)+len(set.Groups) == 0 {
		return phrase{req.Describe()}
	}
	var p phrase
	if uniform {
		p = append(phrase{fmt.Sprintf("%d of ", len(req.Seats))}, named(set)...)
	} else {
		p = phrase{"one each of "}
		for i, seat := range req.Seats {
			p = append(append(p, []any{"", "; ", "; and "}[joint(i, len(req.Seats))]), named(seat.Approvers)...)
		}
	}
	if !req.SelfApproval {
		p = append(p, ", not the requester")
	}
	return p
}

// named lists an approver set; more than a handful are counted.
func named(a approvals.Approvers) phrase {
	const most = 10
	var all []any
	for _, u := range a.Users {
		all = append(all, u)
	}
	for _, g := range a.Groups {
		all = append(all, group(g))
	}
	more := len(all) - most
	all = all[:min(len(all), most)]
	if a.ChannelMembers {
		all = append(all, "the members of this channel")
	}
	var p phrase
	for i, who := range all {
		if i > 0 {
			p = append(p, ", ")
		}
		p = append(p, who)
	}
	if more > 0 {
		p = append(p, fmt.Sprintf(" and %d more", more))
	}
	return p
}
