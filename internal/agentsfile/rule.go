package agentsfile

import "strings"

// DefaultPolicyName is what the default policy is called where policies have names.
const DefaultPolicyName = "default_policy"

// decodePolicies reads the policies that have a name and a condition.
func (o *object) decodePolicies() []*Policy {
	var policies []*Policy
	lines := make(map[string]int)
	for _, n := range o.list("policies") {
		p := o.decodeRule(n)
		if line, twice := lines[p.Name]; twice && p.Name != "" {
			o.problem(n.pos, "there are two policies called %q; the first is on line %d", p.Name, line)
		} else {
			lines[p.Name] = n.pos.Line
		}
		policies = append(policies, p)
	}
	return policies
}

func (d *decoder) decodeRule(n *node) *Policy {
	const what = "a policy"
	o := d.object(n, what, ruleKeys)
	if n.kind == kindMapping {
		o.require(what, "name", "when")
	}
	p := o.decodePolicy(n, what)
	p.Name = o.literal("name")
	switch at := o.values["name"]; {
	case p.Name == "":
	case !isName(p.Name):
		o.problem(at.pos, "policy name %q: use 1 to 64 letters, digits, underscores and hyphens", p.Name)
	case p.Name == DefaultPolicyName:
		o.problem(at.pos, "%s is what the policy for everything else is called; choose another name", p.Name)
	}
	p.When = o.decodeWhen()
	return p
}

// decodeWhen reads the condition of a policy. An empty one is noted as absent.
func (o *object) decodeWhen() Expression {
	n := o.values["when"]
	if n != nil && n.kind == kindBoolean { // which YAML makes of true and false
		return Expression{n.text, n}
	}
	if n = o.of("when", kindString); n == nil || strings.TrimSpace(n.text) == "" {
		return Expression{}
	}
	o.noVariables(n, "when")
	return Expression{n.text, n}
}
