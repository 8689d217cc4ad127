package agentsfile

import (
	"cmp"

	"countersign/agent/guardrail"
)

// Guardrail is an entry of an agent's or a tool's guardrails.
type Guardrail struct {
	Position
	Name string
	// Output says that it looks at an output and not at an input.
	Output bool
	When   string // CEL; true: it acts
	// Verdict is what it does: of agents Trip; of tools also Replace, and of their inputs AskAgain.
	Verdict        guardrail.Verdict
	BeforeApproval bool // inputs of tools: also before people are asked
	node           *node
}

// At returns the file's position of a place in the expression.
func (g *Guardrail) At(line, column int) Position { return g.node.at(line, column) }

// decodeGuardrails reads the list of an agent or a tool.
func (o *object) decodeGuardrails(known keys, actions keys) []*Guardrail {
	var list []*Guardrail
	lines := make(map[string]int)
	for _, n := range o.list("guardrails") {
		if n.kind != kindMapping {
			o.wrongType(n, "a guardrail", kindMapping)
			continue
		}
		g := o.object(n, "a guardrail", known).decodeGuardrail(n, actions)
		if line, twice := lines[g.Name]; twice && g.Name != "" {
			o.problem(n.pos, "two guardrails are called %q here; the first is on line %d", g.Name, line)
		}
		lines[g.Name] = n.pos.Line
		list = append(list, g)
	}
	return list
}

func (o *object) decodeGuardrail(n *node, actions keys) *Guardrail {
	o.require("a guardrail", "name", "on", "when")
	g := &Guardrail{
		Position: n.pos, Name: o.literal("name"), Output: o.choice("on", stageWords) == "output",
		When: o.literal("when"), BeforeApproval: o.flag("before_approval"), node: o.values["when"],
	}
	g.Verdict.Action = guardrail.Action(cmp.Or(o.choice("action", actions), string(guardrail.Trip)))
	g.Verdict.Message = o.literal("message")
	if name := o.values["name"]; g.Name != "" && !isName(g.Name) {
		o.problem(name.pos, "guardrail name %q: use 1 to 64 letters, digits, underscores and hyphens", g.Name)
	}
	o.checkGuardrail(g)
	return g
}

// checkGuardrail notes words that do not go together.
func (o *object) checkGuardrail(g *Guardrail) {
	action := o.values["action"]
	switch {
	case g.Verdict.Action == guardrail.Replace && g.Verdict.Message == "" && o.values["message"] == nil:
		o.problem(action.pos, "`action: replace` needs a `message`, which the model reads instead")
	case g.Verdict.Action == guardrail.Replace && g.Verdict.Message == "" && o.values["message"].kind == kindString:
		o.problem(o.values["message"].pos, "`action: replace` needs a `message`, which the model reads instead")
	case g.Verdict.Action == guardrail.AskAgain && g.Output:
		o.problem(action.pos, "`action: ask_again` is for `on: input`: an output cannot be asked about again")
	case g.BeforeApproval && g.Output:
		o.problem(o.values["before_approval"].pos, "before_approval is for `on: input`: an output comes after approval")
	case g.BeforeApproval && g.Verdict.Action == guardrail.AskAgain:
		o.problem(o.values["before_approval"].pos,
			"before_approval has no meaning with `action: ask_again`, which asks after approval")
	}
}

// decodeToolGuardrails reads the guardrails of a tool. A call that somebody outside carries out does not run here, so
// that nothing can be checked right before it does.
func (o *object) decodeToolGuardrails(t *Tool) {
	t.Guardrails = o.decodeGuardrails(toolGuardrailKeys, toolActionWords)
	for _, g := range t.Guardrails {
		if o.values["type"].text == string(External) && !g.Output {
			o.problem(g.Position, "the call of an external tool runs elsewhere: its guardrails are `on: output`, "+
				"for what people report")
		}
	}
}
