package history

import (
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
)

// DropToolItems is an agent.Handoff.Filter that leaves messages only.
func DropToolItems(items []agent.Item) []agent.Item {
	return slices.DeleteFunc(items, func(it agent.Item) bool { return it.Type != agent.ItemMessage })
}

// Transcript is an agent.Handoff.Filter that shows the conversation so far as one message, so that the other agent
// reads it as a report and not as its own words.
func Transcript(items []agent.Item) []agent.Item {
	var b strings.Builder
	b.WriteString("The conversation so far, before it was handed over to you:\n")
	for i := range items {
		switch it := &items[i]; {
		case it.Type == agent.ItemMessage:
			fmt.Fprintf(&b, "\n%s: %s", it.Role, it.Text)
		case it.IsCall():
			fmt.Fprintf(&b, "\ncalled %s: %s", it.Name, it.Arguments)
		case it.IsOutput():
			fmt.Fprintf(&b, "\nresult: %s", it.Output)
		}
	}
	return []agent.Item{agent.UserMessage(b.String())}
}
