package bot

import "countersign/approvals"

// surelyOurs reports whether a click whose card the request's record does not know yet was on that card: on a message
// of the bot itself, whose metadata, which nobody else can write, names the request and what it shows, and which stands
// where such a card is posted, in the request's thread, or outside any where Slack has lost the thread, or in a direct
// message.
func (c click) surelyOurs(r *approvals.Request) bool {
	m := c.Message
	if m.User != c.id.botUser && (m.BotID == "" || m.BotID != c.id.botID) {
		return false
	}
	request, _ := m.Metadata.EventPayload["request"].(string)
	if m.Metadata.EventType != cardEvent || request != string(r.ID) {
		return false
	}
	if c.channel() != r.Place.Channel {
		return isDirect(event{Channel: c.channel()})
	}
	return c.thread() == r.Place.Thread || c.thread() == "" || c.thread() == c.Container.Message
}
