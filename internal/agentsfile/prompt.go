package agentsfile

import "unicode/utf8"

// Prompt is a message that a chat with the agent proposes: what the button says, and what it sends.
type Prompt struct {
	Position
	Title   string
	Message string
}

// What Slack takes of prompts, and what fits on a button.
const (
	promptsKey        = "suggested_prompts"
	mostPrompts       = 4
	mostPromptTitle   = 75
	mostPromptMessage = 2000
)

// decodePrompts reads the key `suggested_prompts`.
func (o *object) decodePrompts() []Prompt {
	var all []Prompt
	lines := map[string]int{}
	for i, n := range o.list(promptsKey) {
		if i == mostPrompts {
			o.problem(n.pos, "%s has more than %d entries, and Slack shows no more", promptsKey, mostPrompts)
			return all
		}
		if n.kind != kindMapping {
			o.wrongType(n, "a suggested prompt", kindMapping)
			continue
		}
		entry := o.object(n, "a suggested prompt", promptKeys)
		entry.require("a suggested prompt", "title", "message")
		p := Prompt{Position: n.pos, Title: entry.literal("title"), Message: entry.literal("message")}
		if utf8.RuneCountInString(p.Title) > mostPromptTitle {
			o.problem(entry.values["title"].pos, "title has more than %d characters", mostPromptTitle)
		}
		if utf8.RuneCountInString(p.Message) > mostPromptMessage {
			o.problem(entry.values["message"].pos, "message has more than %d characters", mostPromptMessage)
		}
		if line, twice := lines[p.Title]; twice && p.Title != "" {
			o.problem(n.pos, "two suggested prompts are called %q; the first is on line %d", p.Title, line)
		}
		lines[p.Title] = n.pos.Line
		all = append(all, p)
	}
	return all
}
