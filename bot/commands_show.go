package bot

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// respondShow answers "show ID" with the request's card, for this person alone.
func (b *Bot) respondShow(ctx context.Context, c command, id identity, by approvals.UserID, rest []string) {
	if len(rest) == 0 {
		b.respond(ctx, c, wordsIDMissing("show ID"), nil)
		return
	}
	request, ok := parseRequestID(bareID(rest[0]))
	if !ok || len(rest) > 1 {
		b.respond(ctx, c, wordsNoRequestID(label(strings.Join(rest, " "), 60)), nil)
		return
	}
	r, err := b.visibleRequest(ctx, id.workspace, request, by)
	switch {
	case errors.Is(err, approvals.ErrNotFound), errors.Is(err, approvals.ErrUnauthorized):
		b.respond(ctx, c, wordsUnseenRequest(request), nil)
	case err != nil:
		b.log.Error("a request could not be shown", "request", request, "error", err)
		b.respond(ctx, c, wordsShowFailed(), nil)
	default:
		b.inform(ctx, r)
		shown := b.linked(ctx, r, "", newCard(r))
		b.respond(ctx, c, shown.text, b.withLink(ctx, r, within(b.rights(ctx, r, by), shown.blocks)))
	}
}

// withLink adds to a card that stands elsewhere where the request's own card is.
func (b *Bot) withLink(ctx context.Context, r *approvals.Request, blocks []slack.Block) []slack.Block {
	link := b.link(ctx, &r.RequestHead)
	if link == "" {
		return blocks
	}
	if with := append(slices.Clip(blocks), paragraph(phrase{href{wordsOpenCard, link}})); fits(with) {
		return with
	}
	return blocks
}

// within leaves of a card's buttons those that show something and those that the viewer may press.
func within(can rights, blocks []slack.Block) []slack.Block {
	if can.decide {
		return blocks
	}
	var out []slack.Block
	for _, block := range blocks {
		row, ok := block.(*slack.ActionBlock)
		if !ok {
			out = append(out, block)
			continue
		}
		var kept []slack.BlockElement
		for _, element := range row.Elements.ElementSet {
			e, ok := element.(*slack.ButtonBlockElement)
			if ok && e.ActionID == string(actDetails) {
				kept = append(kept, element)
			} else if cancel := onlyCancel(element); can.cancel && cancel != nil {
				kept = append(kept, cancel)
			}
		}
		if len(kept) > 0 {
			out = append(out, slack.NewActionBlock(row.BlockID, kept...))
		}
	}
	return out
}

// answerInList replaces the card that only this person sees by what it is after their press, and says what came of
// that.
func (b *Bot) answerInList(ctx context.Context, c click, d approvals.Decision, res result) {
	words := res.words(d)
	r := res.request
	if r != nil && res.err == nil && r.Status != approvals.RequestPending {
		words = outcomeNow(r)
	}
	if r != nil {
		words = append(words, " ", code(string(c.request)))
	}
	blocks, err := b.afterPress(ctx, c, r, words)
	if err == nil {
		current := hookMessage{Text: words.fallback(), Blocks: blocks, ReplaceOriginal: true}
		err = b.hooks.send(ctx, c.ResponseURL, current)
	}
	if err != nil {
		b.log.Warn("a card of one person could not be brought up to date", "user", c.User.ID, "error", err)
		b.tell(ctx, c, words)
	}
}

// outcomeNow says how a request ended and what became of its call.
func outcomeNow(r *approvals.Request) phrase {
	p := append(outcome(r), ".")
	if became := whatBecame(r); became != nil {
		p = append(append(p, " "), became...)
	}
	return p
}

// afterPress renders what takes the place of the card in which somebody pressed a button.
func (b *Bot) afterPress(
	ctx context.Context, c click, r *approvals.Request, words phrase,
) (blocks []slack.Block, err error) {
	if r == nil {
		return nil, errors.New("no request to show")
	}
	shown := newCard(r)
	blocks = append(paragraphs(words), within(b.rights(ctx, r, c.by), shown.blocks)...)
	if !fits(blocks) {
		blocks = blocks[1:]
	}
	return blocks, nil
}
