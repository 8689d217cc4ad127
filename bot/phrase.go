package bot

import (
	"fmt"
	"strings"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackutilsx"

	"countersign/approvals"
)

// phrase is a sentence for people: strings, people and points in time in order. It becomes rich_text elements, where
// nothing is markup, and a fallback for notifications and screen readers, where markup is escaped.
type phrase []any

// strong is a part of a phrase in bold, code one in a fixed-width font.
type (
	strong string
	code   string
	group  string    // a user group's id
	clock  time.Time // a point in time of which the day is plain
	room   string    // a channel's id, for those who may know of it
	// href is a link: what it says and where it leads. The address comes from Slack, never from a model.
	href struct{ text, to string }
)

// elements returns the phrase for a rich_text section. Slack refuses a whole message for one empty text in it.
func (p phrase) elements() []slack.RichTextSectionElement {
	out := make([]slack.RichTextSectionElement, 0, len(p))
	text := func(s string, style *slack.RichTextSectionTextStyle) {
		if s != "" {
			out = append(out, slack.NewRichTextSectionTextElement(s, style))
		}
	}
	for _, part := range p {
		switch v := part.(type) {
		case string:
			text(v, nil)
		case strong:
			text(string(v), &slack.RichTextSectionTextStyle{Bold: true})
		case code:
			text(string(v), &slack.RichTextSectionTextStyle{Code: true})
		case approvals.UserID:
			out = append(out, person(v))
		case group:
			out = append(out, slack.NewRichTextSectionUserGroupElement(string(v)))
		case room:
			out = append(out, slack.NewRichTextSectionChannelElement(string(v), nil))
		case href:
			out = append(out, slack.NewRichTextSectionLinkElement(v.to, v.text, nil))
		case time.Time:
			out = append(out, date(v, wordsDateAndTime))
		case clock:
			if !time.Time(v).IsZero() {
				out = append(out, date(time.Time(v), wordsTimeOfDay))
			}
		default:
			panic(fmt.Sprintf("phrase: no element for %T", part))
		}
	}
	return out
}

// joined returns the phrase with strings that follow each other made one.
func (p phrase) joined() phrase {
	var out phrase
	for _, part := range p {
		text, ok := part.(string)
		if n := len(out); ok && n > 0 {
			if before, ok := out[n-1].(string); ok {
				out[n-1] = before + text
				continue
			}
		}
		out = append(out, part)
	}
	return out
}

// fallback returns the phrase as text in which only mentions of people and groups are markup.
func (p phrase) fallback() string {
	var b strings.Builder
	for _, part := range p {
		switch v := part.(type) {
		case approvals.UserID:
			if isUserID(v.Local()) {
				b.WriteString("<@" + v.Local() + ">")
			} else {
				b.WriteString(escape(label(v.Local(), 80)))
			}
		case group:
			if isGroupID(string(v)) {
				b.WriteString("<!subteam^" + string(v) + ">")
			} else {
				b.WriteString(escape(label(string(v), 80)))
			}
		case room:
			b.WriteString(wordsAChannel)
		case href:
			b.WriteString(escape(v.text))
		case time.Time:
			b.WriteString(fallbackTime(v))
		case clock:
			if !time.Time(v).IsZero() {
				b.WriteString(fallbackTime(time.Time(v)))
			}
		default:
			b.WriteString(escape(fmt.Sprint(v)))
		}
	}
	return b.String()
}

// unmarked is fallback for where Slack reads no markup: beside the input of a form.
func (p phrase) unmarked() string { return unescape(p.fallback()) }

// unescape undoes escape, as Slack does for people.
func unescape(s string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}

func fallbackTime(t time.Time) string { return t.UTC().Format(wordsTimeUTC) }

// escape makes text harmless where Slack reads markup.
func escape(s string) string { return slackutilsx.EscapeMessage(s) }

// person mentions somebody. Those who did not come from Slack, for instance the command line's user, are named.
func person(u approvals.UserID) slack.RichTextSectionElement {
	if isUserID(u.Local()) {
		return slack.NewRichTextSectionUserElement(u.Local(), nil)
	}
	return slack.NewRichTextSectionTextElement(label(u.Local(), 80), &slack.RichTextSectionTextStyle{Bold: true})
}

func date(t time.Time, format string) slack.RichTextSectionElement {
	fallback := fallbackTime(t)
	return slack.NewRichTextSectionDateElement(t.Unix(), format, nil, &fallback)
}
