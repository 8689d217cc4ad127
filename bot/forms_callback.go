package bot

import (
	"context"
	"errors"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// showCallback shows somebody who may provide the result of a call where another system reports it, with a token made
// for that. It is shown to them alone, and kept nowhere.
func (b *Bot) showCallback(_ context.Context, c click) (answer, error) {
	return answer{then: func(ctx context.Context) {
		b.openModal(ctx, c, func(ctx context.Context) (slack.ModalViewRequest, error) {
			r, err := b.visibleRequest(ctx, c.id.workspace, c.request, c.by)
			if err != nil {
				return slack.ModalViewRequest{}, err
			}
			if words := misplaced(c, r); words != nil {
				return wordsView(words), nil
			}
			at, err := b.service.IssueCallback(ctx, approvals.CallbackIssue{
				Workspace: c.id.workspace, Request: c.request, By: c.by, Via: c.via(),
			})
			switch {
			case errors.Is(err, approvals.ErrConflict) && r.Status == approvals.RequestPending:
				return wordsView(wordsNoToken(why(err))), nil
			case err != nil:
				err = b.explained(ctx, r, err)
				words, known := refusedDecision(err, r, c.by)
				if !known {
					return slack.ModalViewRequest{}, err
				}
				return wordsView(words), nil
			}
			return callbackView(r, at), nil
		})
	}}, nil
}

func callbackView(r *approvals.Request, at approvals.CallbackAddress) slack.ModalViewRequest {
	return modal(viewCallback, wordsCallback,
		paragraph(leadIn(r)...),
		paragraph(phrase{wordsCallbackReports}),
		verbatim("POST "+at.URL),
		verbatim("Authorization: Bearer "+at.Token),
		verbatim(`{"result": "…"}`),
		paragraph(phrase{wordsCallbackToken}),
		smallPrint(detailsPrint(r)))
}
