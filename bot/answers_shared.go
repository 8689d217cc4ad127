package bot

import (
	"context"
	"errors"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// showAnswer posts what an agent answered. Where people of other organisations read the conversation it goes to whoever
// asked, and the conversation is told no more than that: what a model writes may hold what its tools were told, or have
// said. Config.SharedAnswers is the team's word that it may be read there.
func (b *Bot) showAnswer(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	shared, err := b.showsBare(ctx, n)
	if err != nil {
		return approvals.Delivery{}, err
	}
	if !shared || b.sharedAnswers != nil && b.sharedAnswers() {
		return b.answer(ctx, n)
	}
	if _, err := b.deliverDirect(ctx, n, textPosts(n, answerEvent, wordsEmptyAnswer)); err != nil {
		return approvals.Delivery{}, err
	}
	requester, err := b.requester(ctx, n)
	if err != nil {
		return approvals.Delivery{}, err
	}
	pointer := *n
	pointer.Text, pointer.To, pointer.By = wordsAnsweredToYou, requester, ""
	d, err := b.answer(ctx, &pointer) // in the place of what was streamed before the channel was shared
	if later, ok := errors.AsType[*approvals.RetryError](err); ok {
		later.Unsent = false // the answer itself is there: the next attempt looks for it
		b.unsent.settle(n.ID)
	}
	return d, err
}

// showNotice posts what there is to say. What one person says to another about a call, a question before deciding and
// the answer to it, may quote the call: where people of other organisations read the conversation it goes to the one
// whom it is said to.
func (b *Bot) showNotice(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	if to, person := n.Copy.Person(n.Workspace); person {
		return b.deliverTo(ctx, n, to, textPosts(n, noticeEvent, "…"))
	}
	if n.By == "" || n.To == "" {
		return b.rendered(ctx, n, b.notices)
	}
	shared, err := b.showsBare(ctx, n)
	if err != nil {
		return approvals.Delivery{}, err
	}
	if !shared || b.sharedAnswers != nil && b.sharedAnswers() {
		return b.rendered(ctx, n, b.notices)
	}
	direct := *n
	direct.Text = strings.TrimSuffix(n.Text, "\n"+approvals.AnswerInThread)
	posts := textPosts(&direct, noticeEvent, "…")
	last := &posts[len(posts)-1]
	if n.Request != "" { // a question
		row := slack.NewActionBlock("", slack.NewButtonBlockElement(
			string(actAnswerBack), string(n.Request), plain(wordsAnswer)).WithStyle(slack.StylePrimary))
		last.blocks = append(last.blocks, stamp([]slack.Block{row}, string(n.ID)+".answer")...)
	}
	if id, err := b.client.identify(ctx); err == nil && id.url != "" {
		link := href{wordsOpenTheThread, permalink(id.url, n.Place.Channel, n.Place.Thread, n.Place.Thread)}
		last.blocks = append(last.blocks, stamp([]slack.Block{paragraph(phrase{link})}, string(n.ID)+".thread")...)
	}
	if _, err := b.deliverTo(ctx, n, n.To, posts); err != nil {
		return approvals.Delivery{}, err
	}
	pointer := *n
	pointer.Text, pointer.By = wordsWrittenToYou, ""
	d, err := b.deliver(ctx, &pointer, textPosts(&pointer, noticeEvent, "…"))
	if later, ok := errors.AsType[*approvals.RetryError](err); ok {
		later.Unsent = false // the message itself is there: the next attempt looks for it
		b.unsent.settle(n.ID)
	}
	return d, err
}
