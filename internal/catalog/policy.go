package catalog

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"countersign/approvals"
	"countersign/approvals/celpolicy"
	"countersign/internal/agentsfile"
)

// policies makes the policies of the file. What is wrong with a condition is noted.
func (b *builder) policies() *celpolicy.Rules {
	rules := &celpolicy.Rules{Default: celpolicy.None{}}
	if p := b.file.DefaultPolicy; p != nil {
		rules.Default = policyOf(b.file, p)
	}
	tools := b.schemas()
	for _, p := range b.file.Policies {
		when, err := celpolicy.CompileToolCondition(p.When.Source, b.vars, tools)
		if err != nil {
			b.expression(p.When.At, "policy "+p.Name, err)
			continue
		}
		b.match(p.Name, when.Tool())
		for _, v := range b.file.Vars {
			if text, ok := v.Value.(agentsfile.Text); ok && secret(text) {
				when.Hide(v.Name, text.Written)
			}
		}
		rules.Rules = append(rules.Rules, celpolicy.Rule{When: when, Then: policyOf(b.file, p)})
	}
	return rules
}

// PolicyNames are the names under which requests can be asked, in the order of the file, the default's last.
func (c *Catalog) PolicyNames() (names []string) {
	for _, p := range c.File.Policies {
		names = append(names, p.Name)
	}
	if c.File.DefaultPolicy != nil {
		names = append(names, agentsfile.DefaultPolicyName)
	}
	return names
}

// Unmatched is a policy that holds for no call, because no agent has the tool that its condition is for.
type Unmatched struct {
	Policy string `json:"policy"`
	Tool   string `json:"tool"`
	Near   string `json:"near,omitempty"` // the tool that was perhaps meant
}

// String is it in words.
func (u Unmatched) String() string {
	text := fmt.Sprintf("policy %s holds for no call: no agent has a tool called %q", u.Policy, u.Tool)
	if u.Near != "" {
		text += fmt.Sprintf("; did you mean %q?", u.Near)
	}
	return text
}

// Unmatched are the policies for tools that no agent has: misspelt they do not ask whom they should.
func (c *Catalog) Unmatched() []Unmatched { return c.unmatched }

// match notes a policy for the one tool that no agent has, nor may have.
func (b *builder) match(policy, tool string) {
	var names []string
	for _, a := range b.file.Agents {
		for i := range b.agents[a.Name].Tools {
			names = append(names, b.agents[a.Name].Tools[i].Name)
		}
		if a.Offers(tool) {
			return
		}
	}
	if tool != "" && !slices.Contains(names, tool) {
		b.unmatched = append(b.unmatched, Unmatched{policy, tool, agentsfile.Nearest(tool, names)})
	}
}

// schemas are those of the arguments of the tools that the file defines. Those of MCP servers, which may offer others
// each time, are not known.
func (b *builder) schemas() celpolicy.Schemas {
	tools := make(celpolicy.Schemas)
	for _, a := range b.agents {
		for i := range a.Tools {
			tools.Add(a.Tools[i].Name, a.Tools[i].Parameters)
		}
	}
	return tools
}

// versionDigits is how much of the SHA-256 of the agents file stands for it where people read it.
const versionDigits = 16

// Version stands for the agents file: the beginning of its SHA-256, as `countersign check` prints it.
func Version(f *agentsfile.File) string { return hex.EncodeToString(f.Digest[:])[:versionDigits] }

// policyOf makes a policy of the file's words.
func policyOf(f *agentsfile.File, p *agentsfile.Policy) *celpolicy.Static {
	s := &celpolicy.Static{
		Name:  p.Name,
		Users: p.Approvers.Users, Groups: p.Approvers.Groups, ChannelMembers: p.Approvers.ChannelMembers,
		Quorum: p.Quorum, DenyQuorum: p.DenyQuorum, SelfApproval: p.SelfApproval,
		ExpiresIn: p.ExpiresIn, OnExpiry: approvals.OnExpiry(p.OnExpiry), ValidFor: p.ValidFor,
		Version: Version(f), MaxTTL: p.MaxTTL, RemindEvery: p.RemindEvery,
		Notify: approvals.Notify{Named: naming(p.Notify.Named), Channel: p.Notify.Channel},
	}
	if e := p.Escalate; e != nil {
		s.EscalateAfter, s.EscalateTo = e.After, setOf(e.To)
	}
	if p.HighRisk {
		s.Risk = approvals.RiskHigh
	}
	for _, z := range p.Freeze {
		s.Freeze = append(s.Freeze, celpolicy.Freeze{From: z.From, To: z.To, Except: setOf(z.Except)})
	}
	for _, set := range p.AllOf {
		s.AllOf = append(s.AllOf, setOf(set))
	}
	for _, scope := range p.AlwaysScopes {
		s.Always = append(s.Always, approvals.Scope(scope))
	}
	s.Fix()
	return s
}

// naming is the way of calling people that the word of the file stands for. The default one has no word in records.
func naming(word string) approvals.Naming {
	if word == agentsfile.NotifyAuto {
		return approvals.NamingAuto
	}
	return approvals.Naming(word)
}

func setOf(p agentsfile.People) celpolicy.Set {
	return celpolicy.Set{Users: p.Users, Groups: p.Groups, ChannelMembers: p.ChannelMembers}
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
	Risk      string `json:"risk"`           // normal or high
	// Freeze says when nobody may approve but whom.
	Freeze []string `json:"freeze,omitempty"`
}

// Agreement says who must agree, at which risk, and when not.
func (r *PolicyRow) Agreement() string {
	words := []string{r.MustAgree}
	if r.Risk == string(approvals.RiskHigh) {
		words = append(words, "high risk")
	}
	return strings.Join(append(words, r.Freeze...), "; ")
}

// PolicyRows are the policies in their order, the default policy last if the file has one.
func (c *Catalog) PolicyRows(ctx context.Context) ([]PolicyRow, error) {
	policies := c.File.Policies
	if c.File.DefaultPolicy != nil {
		policies = append(policies[:len(policies):len(policies)], c.File.DefaultPolicy)
	}
	rows := make([]PolicyRow, 0, len(policies))
	for _, p := range policies {
		q, err := policyOf(c.File, p).Requirement(ctx, &approvals.Request{}, approvals.PolicyFacts{})
		if err != nil {
			return nil, err
		}
		when := strings.Join(strings.Fields(p.When.Source), " ")
		row := PolicyRow{
			Name: p.Name, When: when, MustAgree: q.Describe(), Risk: cmp.Or(string(q.Risk), "normal"),
		}
		for _, z := range q.Freeze {
			row.Freeze = append(row.Freeze, z.Describe())
		}
		rows = append(rows, row)
	}
	return rows, nil
}
