package bot

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// listPage is how many requests a list shows at once.
const listPage = 10

// brief reports whether a request is small enough to be shown whole in a list.
func brief(r *approvals.Request) bool {
	n := 0
	for _, s := range newCallText(r).bound() {
		n += utf8.RuneCountInString(s.text)
	}
	return n <= 400
}

// itemText shows what a list says of one request, and reports whether that is the whole call.
func itemText(r *approvals.Request) (blocks []slack.Block, whole bool) {
	about := heading(r)
	if !r.Expires.IsZero() {
		about = append(about, phrase{"Deadline: ", r.Expires})
	}
	noButton := r.IsQuestion() || r.Kind == agent.FieldsRequired // that answers it
	if words := whatToDo(r); words != nil && noButton {
		about = append(about, words)
	}
	blocks = append(questionBlocks(r), paragraph(about...))
	if whole = brief(r); whole {
		blocks = append(blocks, newCallText(r).blocks(briefly)...)
	}
	return blocks, whole
}

// listItem shows one request in a list.
func listItem(r *approvals.Request, mayDecide bool) []slack.Block {
	blocks, whole := itemText(r)
	var rows [][]slack.BlockElement
	if mayDecide {
		rows = decideButtons(r, whole)
	} else {
		rows = [][]slack.BlockElement{nil}
	}
	rows[0] = append(rows[0], button(r, actDetails, "Show details", slack.StyleDefault))
	for _, row := range rows {
		blocks = append(blocks, slack.NewActionBlock("", row...))
	}
	return stamp(append(blocks, slack.NewDividerBlock()), blockPrefix(r)+"."+string(r.ID))
}

// heading begins what is shown of a request where other things stand around it.
func heading(r *approvals.Request) []phrase {
	lines := []phrase{{strong(question(r))}}
	if r.Status != approvals.RequestPending {
		lines[0] = phrase{strong(settledHeading(r))}
	}
	return append(append(lines, aboutCall(r)...), fingerprint(r))
}

// list is a page of requests.
type list struct {
	blocks []slack.Block
	shown  int
	// more is where the list goes on when it may; also one that shows nothing may.
	more approvals.RequestID
	// unjudged is how many requests are left out because it cannot be found out now who may see them.
	unjudged int
}

// leftOut says how many requests cannot be listed now; empty for none.
func (l *list) leftOut() string {
	switch l.unjudged {
	case 0:
		return ""
	case 1:
		return "One more request is not listed: I cannot find out right now whether you may see it."
	}
	return fmt.Sprintf("%d more requests are not listed: I cannot find out right now whether you may see them.",
		l.unjudged)
}

// listShape is how a surface shows a list.
type listShape struct {
	item func(r *approvals.Request, mayDecide bool) []slack.Block
	fits func([]slack.Block) bool
}

// pendingList renders the first requests of the query that the viewer may see, as many as fit.
func (b *Bot) pendingList(ctx context.Context, q approvals.PendingQuery, shape listShape) (list, error) {
	q.Limit = listPage
	page, err := b.service.Pending(ctx, q)
	if err != nil {
		return list{}, err
	}
	l := list{more: page.Next, unjudged: page.Unjudged}
	for _, r := range page.Requests {
		b.inform(ctx, r)
		item := shape.item(r, b.service.MayDecide(ctx, r, q.Viewer) == nil)
		if l.shown > 0 && !shape.fits(append(l.blocks[:len(l.blocks):len(l.blocks)], item...)) {
			l.more = q.After
			break
		}
		l.blocks = append(l.blocks, item...)
		l.shown++
		q.After = r.ID
	}
	return l, nil
}

// fitsView is the measure for lists in modals and home tabs.
func fitsView(blocks []slack.Block) bool { return len(blocks) <= 95 }

// fitsReply leaves room for the lines around a list in a message.
func fitsReply(blocks []slack.Block) bool { return len(blocks) <= maxBlocks-4 && fits(blocks) }
