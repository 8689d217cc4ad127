package agentsfile

import "slices"

// Input is a tool's requires_user_input: which parts of a call's arguments people fill in, or confirm where the model
// proposes them. The zero value is nothing.
type Input struct {
	All   bool     // true: every part
	Names []string // a list of them
	At    Position
}

// Asked reports whether people fill in anything.
func (i Input) Asked() bool { return i.All || len(i.Names) > 0 }

// secretKey lists arguments whose values people are not shown unless they ask.
const secretKey = "secret"

func (o *object) decodeSecret() []Reference {
	n := o.of(secretKey, kindSequence)
	if n != nil && len(n.items) == 0 {
		o.problem(n.pos, "secret is a list of names of arguments such as [memo]; leave it out where nothing is secret")
	}
	return o.references(secretKey)
}

const inputKey = "requires_user_input"

func (o *object) decodeInput() Input {
	n := o.values[inputKey]
	switch {
	case n == nil || n.kind == kindBoolean && n.text == "false":
		return Input{}
	case n.kind == kindBoolean:
		return Input{All: true, At: n.pos}
	case n.kind != kindSequence || len(n.items) == 0:
		o.problem(n.pos, "%s is true for every part of the arguments, or a list of their names such as [date, time]",
			inputKey)
		return Input{}
	}
	in := Input{At: n.pos}
	for _, item := range n.items {
		switch {
		case !o.entry(inputKey, item):
		case slices.Contains(in.Names, item.text):
			o.problem(item.pos, "%s: %q is there twice", inputKey, item.text)
		default:
			o.noVariables(item, inputKey)
			in.Names = append(in.Names, item.text)
		}
	}
	return in
}
