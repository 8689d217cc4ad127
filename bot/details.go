package bot

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// pagePieces is how many pieces of a call one page of the details shows; a view may have 250 KB.
const pagePieces = 10

// piece is a part of the call's text with the heading it belongs under.
type piece struct {
	heading phrase // set on the first piece under it
	text    string
}

// pages cuts the whole call into pages of a modal. Joined, the pieces under each heading are exactly the text.
func (t callText) pages() [][]piece {
	var all []piece
	for _, s := range slices.Concat(t.sections, t.extra) {
		heading := s.title()
		for _, p := range pieces(s.text, maxElement) {
			all = append(all, piece{heading, p})
			heading = nil
		}
	}
	var out [][]piece
	for len(all) > pagePieces {
		out = append(out, all[:pagePieces])
		all = all[pagePieces:]
	}
	return append(out, all)
}

// detailsView shows one page of a call. Only on the last one, when everything has been shown, may the call be made to
// run, and only by somebody who may decide.
func detailsView(r *approvals.Request, page int, can rights) slack.ModalViewRequest {
	t := newCallText(r)
	all := t.pages()
	page = min(max(page, 0), len(all)-1)
	last := page == len(all)-1
	blocks := []slack.Block{paragraph(leadIn(r)...)}
	if r.Status != approvals.RequestPending {
		blocks = append(blocks, paragraph(append([]phrase{outcome(r)}, aboutOutcome(r)...)...))
	}
	if words := whatToDo(r); words != nil && r.Status == approvals.RequestPending {
		blocks = append(blocks, paragraph(words))
	}
	if t.hidden {
		blocks = append(blocks, paragraph(wordsHiddenCharacters()))
	}
	if t.secret != nil && r.Status != approvals.RequestPending { // else it is said beside the button that shows them
		blocks = append(blocks, paragraph(t.secret))
	}
	for _, p := range all[page] {
		if p.heading != nil {
			blocks = append(blocks, paragraph(p.heading))
		}
		blocks = append(blocks, boxed(p.text)...)
	}
	if len(all) > 1 {
		number := phrase{wordsPage(page+1, len(all))}
		blocks = append(blocks, paragraph(number), pageButtons(r, page, len(all)))
	}
	blocks = append(append(blocks, detailsEnd(r, t, last, can)...), smallPrint(detailsPrint(r)))
	v := modal(viewDetails, wordsCallDetails, stamp(blocks, blockPrefix(r)+".p")...)
	v.PrivateMetadata = note{Request: r.ID, Digest: r.Digest, Page: page}.String()
	return v
}

func pageButtons(r *approvals.Request, page, pages int) slack.Block {
	var row []slack.BlockElement
	if page > 0 {
		row = append(row, button(r, actDetailsPrev, wordsPreviousPage, slack.StyleDefault))
	}
	if page < pages-1 {
		row = append(row, button(r, actDetailsNext, wordsNextPage, slack.StyleDefault))
	}
	return slack.NewActionBlock("", row...)
}

// detailsPrint identifies the call at the end of its details.
func detailsPrint(r *approvals.Request) string {
	return wordsDetailsPrint(len(r.Arguments), hex.EncodeToString(r.Digest[:8]), r.ID)
}

// detailsEnd is what stands under the call: what people answered, or who decides and the buttons.
func detailsEnd(r *approvals.Request, t callText, last bool, can rights) []slack.Block {
	if r.Status != approvals.RequestPending {
		blocks := answersOf(r)
		if lines := policyLines(r); len(lines) > 0 {
			blocks = append(blocks, paragraph(lines...))
		}
		if can.cancel {
			blocks = append(blocks, slack.NewActionBlock("", cancelButton(string(r.ID))))
		}
		return blocks
	}
	var blocks []slack.Block
	if last {
		blocks = precedentBlocks(r)
	}
	lines := untilWhen(r)
	if note := revealNote(r); note != nil && can.decide {
		lines = append(lines, note)
	} else if note = secretNote(r); note != nil {
		lines = append(lines, note)
	}
	blocks = append(blocks, paragraph(append(lines, policyLines(r)...)...))
	blocks = append(blocks, askedBackBlocks(r)...)
	if can.decide && !last && t.runs {
		blocks = append(blocks, paragraph(phrase{wordsApproveOnLastPage}))
	}
	if can.decide && t.secret != nil {
		blocks = append(blocks, slack.NewActionBlock("", revealButton(r)))
	}
	for _, row := range detailsButtons(r, last, can) {
		blocks = append(blocks, slack.NewActionBlock("", row...))
	}
	return blocks
}

// answersOf are what people wrote, chose and filled in with their answers.
func answersOf(r *approvals.Request) (blocks []slack.Block) {
	const most = 10
	for i, d := range r.Decisions {
		if i == most {
			return append(blocks, paragraph(wordsMoreAnswers(len(r.Decisions)-most, string(r.ID))))
		}
		if d.Input != nil {
			blocks = append(blocks, paragraph(wordsFilledIn(d.By)), quote(r.ShownInput(&d), maxElement))
		}
		if len(d.Answers) > 0 {
			blocks = append(blocks, paragraph(append(decider(d), wordsAnswers)),
				quote(strings.Join(d.Answers, "\n"), maxElement))
		}
		if d.Reason != "" {
			blocks = append(blocks, paragraph(append(decider(d), wrote(d.Verdict))),
				quote(r.ShownReason(&d), maxElement))
		}
	}
	return blocks
}

// rights are what a viewer may do about a request: decide it, or cancel its run, which goes on after the decision too.
// They decide about buttons; the service judges every click.
type rights struct{ decide, cancel bool }

func (b *Bot) rights(ctx context.Context, r *approvals.Request, viewer approvals.UserID) rights {
	if r.Status != approvals.RequestPending {
		return rights{cancel: viewer == r.Requester && b.goesOn(ctx, r)}
	}
	decide := b.service.MayDecide(ctx, r, viewer) == nil
	return rights{decide: decide, cancel: decide || viewer == r.Requester}
}

// goesOn reports whether the run of the request has not ended, as far as the store tells.
func (b *Bot) goesOn(ctx context.Context, r *approvals.Request) bool {
	run, err := b.service.Run(ctx, r.Workspace, r.Run)
	return err == nil && !run.Status.Ended()
}

// openDetails shows the first page of a call.
func (b *Bot) openDetails(_ context.Context, c click) (answer, error) {
	return b.showPage(c, 0, false), nil
}

// turnPage shows the next or the page before.
func (b *Bot) turnPage(_ context.Context, c click) (answer, error) {
	n, ok := note{}, false
	if c.View != nil && c.View.Callback == viewDetails {
		n, ok = readNote(c.View.Private)
	}
	if !ok || n.Request != c.request {
		return answer{}, nil
	}
	if c.act == actDetailsPrev {
		return b.showPage(c, n.Page-1, n.Revealed), nil
	}
	return b.showPage(c, n.Page+1, n.Revealed), nil
}

// showPage shows a page of a call; revealed: with its secret values, to somebody who may decide.
func (b *Bot) showPage(c click, page int, revealed bool) answer {
	return answer{then: func(ctx context.Context) {
		b.openModal(ctx, c, func(ctx context.Context) (slack.ModalViewRequest, error) {
			if revealed {
				return b.revealedView(ctx, c, page)
			}
			r, err := b.visibleRequest(ctx, c.id.workspace, c.request, c.by)
			if err != nil {
				return slack.ModalViewRequest{}, err
			}
			b.inform(ctx, r)
			b.compare(ctx, r, c.by)
			return detailsView(r, page, b.rights(ctx, r, c.by)), nil
		})
	}}
}
