package bot

import (
	"context"

	"countersign/approvals"
)

// editedMessage is what an event says of a message that somebody has changed, of how it was or how it is:
// https://docs.slack.dev/reference/events/message/message_changed.
type editedMessage struct {
	User     string     `json:"user"`
	BotID    string     `json:"bot_id"`
	Text     string     `json:"text"`
	ThreadTS string     `json:"thread_ts"`
	Edited   *editStamp `json:"edited"`
}

// editStamp says when a message was changed.
type editStamp struct {
	TS string `json:"ts"`
}

// Slack raises app_mention anew when somebody edits a message that mentions the bot. The first of these events starts a
// run, and whoever edits what was taken has to know that nobody reads it.

// heeded reports whether the event of an edited mention is the one that was taken, or has been answered: Slack delivers
// events again, perhaps to another replica.
func heeded(p eventPayload, got approvals.Receipt) bool {
	return p.Event.Edited == nil || got.Outcome != approvals.SubmitDuplicate || got.Redelivered
}

// directEdit says to somebody who has changed a message to the bot that it was taken as it was.
func (b *Bot) directEdit(p eventPayload) (answer, error) {
	was, is := p.Event.Before, p.Event.After
	if was == nil || is == nil || is.Edited == nil || is.Text == was.Text || is.BotID != "" || !isUserID(is.User) ||
		!isChannelID(p.Event.Channel) || b.edits.has(p.EventID) {
		return answer{}, nil
	}
	b.edits.add(p.EventID)
	return answer{then: func(ctx context.Context) {
		b.whisper(ctx, p.Event.Channel, is.ThreadTS, is.User, wordsEditNotRead())
	}}, nil
}
