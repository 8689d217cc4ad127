package approvals

import (
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
)

// Why nobody is asked about a call, for people (notices) and for the model (outputs).

// tooFew says to people that a call of the tool cannot be approved, because too few of them may.
func (q *Requirement) tooFew(tool string, at Place, found, needs int) string {
	onlyMembers := !slices.ContainsFunc(q.Seats, func(s Seat) bool { return !s.Approvers.onlyChannel() })
	const after = " It was not carried out."
	switch {
	case len(q.Seats) > 0 && onlyMembers && at.Direct && found == 0:
		return fmt.Sprintf("Nobody here may approve %s: approvers are the members of the channel, and this is a "+
			"direct message.", tool) + after
	case found == 0:
		return fmt.Sprintf("Nobody here may approve %s: %s needs %d approver%s, and none of those it names can be "+
			"asked.", tool, q.spoken(), needs, plural(needs)) + after
	}
	return fmt.Sprintf("Too few people may approve %s: %s needs %d approver%s, and %d can be asked.", tool, q.spoken(),
		needs, plural(needs), found) + after
}

// spoken names the policy in a sentence for people.
func (q *Requirement) spoken() string {
	if q.Policy == "default_policy" {
		return "the default policy"
	}
	return q.name()
}

// advice says what to do where too few people can be asked.
func (q *Requirement) advice(at Place) string {
	channel, groups := false, false
	for _, s := range q.Seats {
		channel = channel || s.Approvers.ChannelMembers
		groups = groups || len(s.Approvers.Groups) > 0
	}
	var ways []string
	switch {
	case channel && at.Direct:
		return "Ask in a channel."
	case channel:
		ways = append(ways, "invite approvers to this channel")
	}
	if groups {
		ways = append(ways, "add people to its groups")
	}
	ways = append(ways, "ask an operator to name more approvers in the policy")
	who := "nobody"
	if set, uniform := q.Uniform(); !uniform || !set.Empty() {
		who = q.Describe()
	}
	return fmt.Sprintf("It asks for %s: %s.", who, strings.Join(ways, ", or "))
}

// cannot words why nobody is asked.
func cannot(in agent.Interruption, policy, why string) *unmet {
	u := &unmet{
		in: in, policy: policy,
		notice: fmt.Sprintf("%s was not carried out: it needs approval, but %s.", in.Call.Tool, why),
		output: fmt.Sprintf("This call was not carried out: it needs approval, but %s. "+
			"No person has rejected it.", why),
	}
	switch {
	case in.Call.Kind == agent.KindAsk:
		u.notice = fmt.Sprintf("The question of %s was put to nobody: %s.", in.Call.Tool, why)
		u.output = fmt.Sprintf("The question was put to nobody: %s. No person has refused to answer.", why)
	case in.Kind == agent.ExternalResult:
		u.notice = fmt.Sprintf("%s has no result: somebody has to provide it, but %s.", in.Call.Tool, why)
		u.output = fmt.Sprintf("There is no result: a person has to provide it, but %s. "+
			"No person has rejected the call.", why)
	case in.Kind == agent.FieldsRequired:
		u.notice = fmt.Sprintf("%s was not carried out: somebody has to fill in values, but %s.", in.Call.Tool, why)
		u.output = fmt.Sprintf("This call was not carried out: a person has to fill in values, but %s. "+
			"No person has rejected it.", why)
	case in.Kind == agent.OutcomeUnknown:
		u.notice = fmt.Sprintf("It is not known whether %s was carried out, and nobody can be asked: %s.",
			in.Call.Tool, why)
		u.output = "It is not known whether this call was carried out, and it will not be tried again."
	}
	return u
}
