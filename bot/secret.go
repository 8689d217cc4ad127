package bot

import (
	"context"
	"errors"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// secretNote says which values of a call are not shown, and how somebody who decides sees them; nil: all are shown.
func secretNote(r *approvals.Request) phrase {
	names := r.Withheld()
	if len(names) == 0 {
		return nil
	}
	p := wordsWithheld(label(strings.Join(names, ", "), 300))
	switch {
	case r.Status != approvals.RequestPending:
		return p
	case r.RevealFirst():
		return append(p, wordsRevealFirst()...)
	}
	return append(p, wordsRevealIfNeeded()...)
}

// revealNote is secretNote in the details of a request that waits, beside the button that shows the values.
func revealNote(r *approvals.Request) phrase {
	names := r.Withheld()
	if len(names) == 0 {
		return nil
	}
	return append(wordsWithheld(label(strings.Join(names, ", "), 300)), wordsRevealHere(r.RevealFirst())...)
}

func revealButton(r *approvals.Request) slack.BlockElement {
	return button(r, actReveal, wordsShowSecretValues, slack.StyleDefault)
}

// shows is the request as a modal with this note shows it.
func (n note) shows(r *approvals.Request) *approvals.Request {
	if !n.Revealed {
		return r
	}
	open := *r
	open.Secret = nil
	return &open
}

// openRevealed shows the first page of a call with its secret values.
func (b *Bot) openRevealed(_ context.Context, c click) (answer, error) {
	return b.showPage(c, 0, true), nil
}

// revealedView is detailsView with secret values, which the service hands out to those who may decide and records. Each
// page that is turned to is judged and recorded anew.
func (b *Bot) revealedView(ctx context.Context, c click, page int) (slack.ModalViewRequest, error) {
	r, err := b.service.Reveal(ctx, approvals.RevealIn{
		Workspace: c.id.workspace, Request: c.request, By: c.by, Via: c.via(),
	})
	if errors.Is(err, approvals.ErrUnauthorized) {
		return wordsView(wordsNotRevealed(why(err))), nil
	}
	if err != nil {
		return b.unrevealedView(ctx, c, err)
	}
	b.inform(ctx, r)
	v := detailsView(r, page, rights{decide: true, cancel: true})
	n, _ := readNote(v.PrivateMetadata)
	n.Revealed = true
	v.PrivateMetadata = n.String()
	v.Blocks.BlockSet = append([]slack.Block{paragraph(wordsWithSecrets())}, v.Blocks.BlockSet...)
	return v, nil
}

// unrevealedView says why nothing is revealed, and how the request stands where that is why: somebody whose own answer
// counts may press the button while others are still waited for.
func (b *Bot) unrevealedView(ctx context.Context, c click, err error) (slack.ModalViewRequest, error) {
	if !errors.Is(err, approvals.ErrConflict) {
		return slack.ModalViewRequest{}, err
	}
	r, unseen := b.visibleRequest(ctx, c.id.workspace, c.request, c.by)
	if unseen != nil {
		return slack.ModalViewRequest{}, err
	}
	b.inform(ctx, r)
	words, known := refusedDecision(err, r, c.by)
	if !known {
		return slack.ModalViewRequest{}, err
	}
	return wordsView(append(phrase{wordsRevealedBefore}, words...)), nil
}
