package bot

import (
	"strconv"

	"countersign/internal/visible"

	"github.com/slack-go/slack"
)

// Slack's limits, and ours below them.
const (
	maxElement = 2900   // characters of one text; Slack: 3,000
	maxMessage = 12_500 // bytes of a message's blocks as JSON; Slack refuses somewhere above 13,000 characters
	maxBlocks  = 50     // blocks of a message
	maxReason  = 2000   // characters a person may write
)

// plain returns text that Slack shows as it is.
func plain(s string) *slack.TextBlockObject {
	emoji := false
	return &slack.TextBlockObject{Type: slack.PlainTextType, Text: s, Emoji: &emoji}
}

func header(s string) slack.Block { return slack.NewHeaderBlock(plain(s)) }

// paragraph returns the phrases as one block, a line each.
func paragraph(lines ...phrase) slack.Block {
	var all phrase
	for i, line := range lines {
		if i > 0 {
			all = append(all, "\n")
		}
		all = append(all, line...)
	}
	return slack.NewRichTextBlock("", slack.NewRichTextSection(all.elements()...))
}

func paragraphs(p phrase) []slack.Block { return []slack.Block{paragraph(p)} }

// boxed returns a text in as many fixed-width boxes as it takes; of an empty one, which Slack refuses, in none.
func boxed(text string) (blocks []slack.Block) {
	if text == "" {
		return nil
	}
	for _, piece := range pieces(text, maxElement) {
		blocks = append(blocks, verbatim(piece))
	}
	return blocks
}

// verbatim returns text, which is not empty, in a fixed-width box.
func verbatim(s string) slack.Block {
	return slack.NewRichTextBlock("", &slack.RichTextPreformatted{
		Type:     slack.RTEPreformatted,
		Elements: []slack.RichTextSectionElement{slack.NewRichTextSectionTextElement(s, nil)},
	})
}

// quote returns what a person wrote, at most limit characters of it.
func quote(s string, limit int) slack.Block {
	out, _ := visible.Text(s, visible.ManyLines)
	if n := units(out); n > limit {
		out = pieces(out, limit)[0] + wordsCut(n)
	}
	return quoted(out)
}

// quoted returns text of somebody else as a quotation, which is rendered visible already.
func quoted(text string) slack.Block {
	return slack.NewRichTextBlock("", &slack.RichTextQuote{
		Type: slack.RTEQuote, Elements: inPieces(phrase{text}).elements(),
	})
}

// inPieces cuts the strings of a phrase that are too long for one element.
func inPieces(p phrase) (cut phrase) {
	for _, part := range p {
		text, isText := part.(string)
		if !isText || units(text) <= maxElement {
			cut = append(cut, part)
			continue
		}
		for _, piece := range pieces(text, maxElement) {
			cut = append(cut, piece)
		}
	}
	return cut
}

// smallPrint returns a line in small print.
func smallPrint(s string) slack.Block { return slack.NewContextBlock("", plain(s)) }

// stamp gives every block an id. Slack wants new ids whenever a message changes: prefix holds the request's version.
func stamp(blocks []slack.Block, prefix string) []slack.Block {
	for i, block := range blocks {
		id := prefix + "." + strconv.Itoa(i)
		switch b := block.(type) {
		case *slack.HeaderBlock:
			b.BlockID = id
		case *slack.RichTextBlock:
			b.BlockID = id
		case *slack.ActionBlock:
			b.BlockID = id
		case *slack.ContextBlock:
			b.BlockID = id
		case *slack.DividerBlock:
			b.BlockID = id
		}
	}
	return blocks
}
