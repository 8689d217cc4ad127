package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// listing says which list of pending requests somebody looks at.
type listing struct {
	verb  string // "mine" or "all"
	after approvals.RequestID
}

// listMark begins what the block ids of a list say about the list: a press in it brings that back.
const listMark = ".list."

func (l listing) String() string { return listMark + l.verb + "." + string(l.after) }

// listingOf reads what String wrote into a block id. ok is false where the block is in no list.
func listingOf(blockID string) (l listing, ok bool) {
	_, rest, ok := strings.Cut(blockID, listMark)
	if !ok {
		return l, false
	}
	verb, rest, _ := strings.Cut(rest, ".")
	after, _, _ := strings.Cut(rest, ".")
	if verb != "mine" && verb != "all" {
		return l, false
	}
	if after == "" {
		return listing{verb: verb}, true
	}
	id, ok := parseRequestID(after)
	return listing{verb, id}, ok
}

// listReply renders a list in answer to a command, below the words that lead, which may be none. The title says what
// the list is, for notifications too.
func (b *Bot) listReply(
	ctx context.Context, id identity, by approvals.UserID, of listing, lead ...phrase,
) (title phrase, blocks []slack.Block, err error) {
	above := make([]slack.Block, 0, len(lead)+1)
	for _, p := range lead {
		above = append(above, paragraph(p))
	}
	q := approvals.PendingQuery{Workspace: id.workspace, Viewer: by, Mine: of.verb == "mine", After: of.after}
	l, err := b.pendingList(ctx, q, listShape{
		item: func(r *approvals.Request, mayDecide bool) []slack.Block { return replyItem(r, mayDecide, of) },
		fits: func(blocks []slack.Block) bool { return fitsReply(slices.Concat(above, blocks)) },
	})
	if err != nil {
		return nil, nil, err
	}
	title = l.title(of)
	return title, slices.Concat(above, paragraphs(title), l.blocks), nil
}

// title says what a list shows, and what it does not.
func (l *list) title(of listing) phrase {
	switch {
	case l.shown == 0 && l.more != "":
		return nothingYet(of.verb, l.more)
	case l.shown == 0 && l.unjudged > 0:
		return phrase{"Nothing that I am sure you may see. " + l.leftOut()}
	case l.shown == 0 && of.after != "":
		return phrase{"Nothing more."}
	case l.shown == 0 && of.verb == "mine":
		return phrase{"Nothing waits for you."}
	case l.shown == 0:
		return phrase{"Nothing waits that you may see."}
	}
	title := phrase{fmt.Sprintf("%d waiting", l.shown)}
	if l.more != "" {
		title = append(phrase{fmt.Sprintf("The first %d. ", l.shown)}, moreBy(of.verb, l.more)...)
	}
	if left := l.leftOut(); left != "" {
		title = append(title, ". "+left)
	}
	return title
}

// replyItem shows one request in the answer to a command, where there is little room: as listItem, but for the buttons
// that Show details has too.
func replyItem(r *approvals.Request, mayDecide bool, of listing) []slack.Block {
	blocks, whole := itemText(r)
	blocks = condensed(blocks)
	var row []slack.BlockElement
	if mayDecide {
		for _, e := range slices.Concat(decideButtons(r, whole)...) {
			b, ok := e.(*slack.ButtonBlockElement)
			if ok && !slices.Contains([]action{actRejectReason, actAlwaysYes, actAlwaysNo}, action(b.ActionID)) {
				row = append(row, e)
			}
		}
	}
	row = append(row, button(r, actDetails, "Show details", slack.StyleDefault))
	mark := blockPrefix(r) + "." + string(r.ID) + of.String()
	return append(blocks, slack.NewActionBlock(mark, row...), slack.NewDividerBlock())
}

// condensed joins rich_text blocks that follow each other, and the texts in them, which say the same in less room.
func condensed(blocks []slack.Block) []slack.Block {
	var out []slack.Block
	for _, block := range blocks {
		rich, ok := block.(*slack.RichTextBlock)
		if !ok {
			out = append(out, block)
			continue
		}
		var before *slack.RichTextBlock
		if len(out) > 0 {
			before, _ = out[len(out)-1].(*slack.RichTextBlock)
		}
		if before == nil {
			before = slack.NewRichTextBlock("")
			out = append(out, before)
		}
		for _, e := range rich.Elements {
			appendElement(before, e)
		}
	}
	return out
}

// appendElement adds an element to the block; a section continues the section before it on a line of its own.
func appendElement(to *slack.RichTextBlock, e slack.RichTextElement) {
	section, ok := e.(*slack.RichTextSection)
	if !ok {
		to.Elements = append(to.Elements, e)
		return
	}
	var last *slack.RichTextSection
	if n := len(to.Elements); n > 0 {
		last, _ = to.Elements[n-1].(*slack.RichTextSection)
	}
	if last == nil {
		last = slack.NewRichTextSection()
		to.Elements = append(to.Elements, last)
	} else {
		appendText(last, slack.NewRichTextSectionTextElement("\n", nil))
	}
	for _, part := range section.Elements {
		appendText(last, part)
	}
}

// appendText adds a part to the section, and plain text to the plain text before it.
func appendText(to *slack.RichTextSection, part slack.RichTextSectionElement) {
	text, ok := part.(*slack.RichTextSectionTextElement)
	if n := len(to.Elements); ok && text.Style == nil && n > 0 {
		if before, ok := to.Elements[n-1].(*slack.RichTextSectionTextElement); ok && before.Style == nil {
			to.Elements[n-1] = slack.NewRichTextSectionTextElement(before.Text+text.Text, nil)
			return
		}
	}
	to.Elements = append(to.Elements, part)
}

// answerInList replaces what only this person sees, a list or a card, by what it is after their press, and says what
// came of that.
func (b *Bot) answerInList(ctx context.Context, c click, d approvals.Decision, res result) {
	words := res.words(d)
	r := res.request
	if r != nil && res.err == nil && r.Status != approvals.RequestPending {
		words = outcomeNow(r)
	}
	if r != nil {
		words = append(words, " ", code(string(c.request)))
	}
	title, blocks, err := b.afterPress(ctx, c, r, words)
	if err == nil {
		current := hookMessage{Text: title.fallback(), Blocks: blocks, ReplaceOriginal: true}
		err = b.hooks.send(ctx, c.ResponseURL, current)
	}
	if err != nil {
		b.log.Warn("a list could not be brought up to date", "user", c.User.ID, "error", err)
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

// afterPress renders what takes the place of the list, or the card, in which somebody pressed a button.
func (b *Bot) afterPress(
	ctx context.Context, c click, r *approvals.Request, words phrase,
) (title phrase, blocks []slack.Block, err error) {
	if of, ok := listingOf(c.press.BlockID); ok {
		_, blocks, err = b.listReply(ctx, c.id, c.by, of, words)
		return words, blocks, err
	}
	if r == nil {
		return nil, nil, errors.New("no request to show")
	}
	shown := newCard(r)
	blocks = append(paragraphs(words), within(b.rights(ctx, r, c.by), shown.blocks)...)
	if !fits(blocks) {
		blocks = blocks[1:]
	}
	return words, blocks, nil
}
