package bot

import (
	"context"
	"errors"

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
