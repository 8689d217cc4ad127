package testrun

import (
	"strings"

	"countersign/internal/slackdev"
)

// talk are messages as a reader sees them, who said them first.
func (p *play) talk(messages []slackdev.Message) (lines []string) {
	for _, m := range messages {
		by := p.person(m.User)
		if p.ofBot(m) {
			by = "countersign"
		}
		text := strings.ReplaceAll(strings.TrimSpace(p.shown(m)), "\n", "\n    ")
		if len(m.Buttons()) > 0 {
			text += "\n    [" + strings.Join(actions(m), "] [") + "]"
		}
		lines = append(lines, by+": "+text)
	}
	return lines
}
