package bot

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/internal/visible"
)

const (
	answerPart  = 8_000  // characters of an answer in one message; Slack refuses somewhere above 13,000
	answerBytes = 12_000 // and bytes, should it count those
	mostParts   = 100
	answerLead  = 2_900 // characters of an answer in a message's fallback text
	// leadBytes is what that text takes at most, with its markup escaped: chat.update refuses more than 4,000
	// characters (https://docs.slack.dev/reference/methods/chat.update).
	leadBytes = 3_800
)

// textPosts renders what an agent answered or what there is to say: plain text, never markup, because a model may
// write mentions, links and look-alikes of our own words. Long texts become several messages. A person who did what
// the text says is named before it.
func textPosts(n *approvals.Notification, event, empty string) []post {
	text := readable(n.Text)
	if strings.TrimSpace(text) == "" {
		text = empty
	}
	parts := split(text, answerPart, answerBytes)
	if len(parts) > mostParts {
		left := 0
		for _, part := range parts[mostParts:] {
			left += units(part)
		}
		parts = parts[:mostParts]
		parts[mostParts-1] += wordsCharactersLeftOut(left)
	}
	posts := make([]post, len(parts))
	for i, part := range parts {
		by, to := n.By, n.To
		if i > 0 {
			by, to = "", ""
		}
		posts[i] = newPost(n, event, passage{by, to, part, i + 1, len(parts)})
	}
	return posts
}

// passage is a part of a text, with the person whom it begins with, and the one whom it is said to.
type passage struct {
	by, to      approvals.UserID
	text        string
	part, parts int
}

// newPost is a message of plain text that is found again by its notification and part.
func newPost(n *approvals.Notification, event string, p passage) post {
	id := string(n.ID)
	return post{
		text:   p.begun(leadOf(p.text)),
		blocks: stamp(p.blocks(), fmt.Sprintf("%s.%d", id, p.part)),
		metadata: slack.SlackMetadata{EventType: event, EventPayload: map[string]any{
			"notification": id, "run": string(n.Run), "part": p.part, "parts": p.parts,
		}},
		same: func(m postedMessage) bool {
			payload := m.Metadata.EventPayload
			number, _ := payload["part"].(float64)
			return m.Metadata.EventType == event && payload["notification"] == id && int(number) == p.part
		},
	}
}

// leadOf is as much of the beginning of a text as stands in the fallback text of its message.
func leadOf(text string) string {
	for most := answerLead; ; most /= 2 {
		if lead := pieces(text, most)[0]; len(escape(lead)) <= leadBytes {
			return lead
		}
	}
}

// begun puts the people before the text.
func (p passage) begun(text string) phrase {
	var all phrase
	if p.to != "" {
		all = phrase{p.to, ", "}
	}
	if p.by != "" {
		return append(all, p.by, " "+text)
	}
	return append(all, text)
}

func (p passage) blocks() []slack.Block {
	var blocks []slack.Block
	for i, piece := range split(p.text, maxElement, answerBytes) {
		if i > 0 {
			blocks = append(blocks, paragraph(phrase{piece}))
		} else {
			blocks = append(blocks, paragraph(p.begun(piece)))
		}
	}
	return blocks
}

// readable renders prose: white space of all kinds becomes spaces, the joiners and selectors of emoji are left out,
// everything else that cannot be seen is written out.
func readable(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || unicode.Is(unicode.Zs, r):
			return ' '
		case r == 0x200D || r == 0xFE0E || r == 0xFE0F:
			return -1
		}
		return r
	}, s)
	out, _ := visible.Text(s, visible.Prose)
	return out
}
