package bot

import (
	"regexp"

	"countersign/approvals"
	"countersign/internal/visible"
)

// slackToken is how Slack writes people, channels, groups and dates into the text of a message:
// https://docs.slack.dev/messaging/formatting-message-text. The last one is a token that was cut.
var slackToken = regexp.MustCompile(`<@([UW][A-Z0-9]{1,30})(?:\|[^<>]*)?>` +
	`|<#([CG][A-Z0-9]{1,30})(?:\|[^<>]*)?>` +
	`|<!subteam\^(S[A-Z0-9]{1,30})(?:\|[^<>]*)?>` +
	`|<!(here|channel|everyone)(?:\|[^<>]*)?>` +
	`|<!date\^[^<>|]*\|([^<>]*)>` +
	`|<[@#!][^<>]*(…)`)

// inOwnWords renders what somebody wrote in Slack as they saw it: whom and what they named by name, and everything else
// made visible. A card that calls people leaves names in the place of these mentions; see Bot.hushed.
func inOwnWords(ws approvals.WorkspaceID, text string) (p phrase) {
	plain := func(s string) {
		if s != "" {
			p = append(p, visible.Line(s))
		}
	}
	at := 0
	for _, m := range slackToken.FindAllStringSubmatchIndex(text, -1) {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		plain(text[at:m[0]])
		at = m[1]
		switch {
		case part(1) != "":
			p = append(p, approvals.NewUserID(ws, part(1)))
		case part(2) != "":
			p = append(p, room(part(2)))
		case part(3) != "":
			p = append(p, group(part(3)))
		case part(4) != "":
			plain("@" + part(4))
		default:
			plain(part(5) + part(6))
		}
	}
	plain(text[at:])
	return p
}
