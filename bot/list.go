package bot

import (
	"context"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// listPage is how many requests a list shows at once.
const listPage = 10

// The lists there are, in the words of the command that shows them.
const (
	listMine       = "mine"
	listAll        = "all"
	listHistory    = "history mine"
	listAllHistory = "history all"
)

// listing says which list somebody looks at, and from where on. Its text is what follows /approvals in the command
// that shows it; buttons carry it as their value.
type listing struct {
	verb  string
	after approvals.RequestID // the list goes on behind this one; empty: from its beginning
}

func (l listing) String() string {
	if l.after == "" {
		return l.verb
	}
	return l.verb + " after " + string(l.after)
}

// past reports whether the list is of requests that wait no longer.
func (l listing) past() bool { return strings.HasPrefix(l.verb, "history") }

// parseListing reads the words of a list. wrong says what is the matter with them; nil when they are good.
func parseListing(words []string) (l listing, wrong phrase) {
	verb, rest := strings.ToLower(words[0]), words[1:]
	if verb == "history" {
		verb = listHistory
		if len(rest) > 0 && !strings.EqualFold(rest[0], "after") {
			which := strings.ToLower(rest[0])
			if which != "mine" && which != "all" {
				return l, unknownCommand("history "+rest[0], listHistory, listAllHistory, "history after ID")
			}
			verb, rest = "history "+which, rest[1:]
		}
	}
	switch {
	case len(rest) == 0:
		return listing{verb: verb}, nil
	case !strings.EqualFold(rest[0], "after"):
		return l, unknownCommand(verb+" "+rest[0], verb+" after ID", verb)
	case len(rest) == 1:
		return l, wordsIDMissing(verb + " after ID")
	}
	after, ok := parseRequestID(bareID(rest[1]))
	if !ok || len(rest) > 2 {
		return l, wordsNoRequestID(label(strings.Join(rest[1:], " "), 60))
	}
	return listing{verb, after}, nil
}

// bareID takes off what people copy with an id.
func bareID(word string) string { return strings.ToLower(strings.Trim(word, "`<>*_~.,\"'")) }

// entry is a request in a list.
type entry struct {
	*approvals.Request
	setting
	mayDecide bool // the viewer may answer it now
}

// list is a page of requests.
type list struct {
	of      listing
	entries []entry
	// more is where the list goes on when it may; also one that shows nothing may.
	more approvals.RequestID
	// unjudged is how many requests are left out because it cannot be found out now who may see them.
	unjudged int
}

// list reads a page for a viewer: what they may see, and nothing else.
func (b *Bot) list(ctx context.Context, by approvals.UserID, of listing) (list, error) {
	if of.past() {
		return b.historyList(ctx, by, of)
	}
	page, err := b.service.Pending(ctx, approvals.PendingQuery{
		Workspace: by.Workspace(), Viewer: by, Mine: of.verb == listMine, After: of.after, Limit: listPage,
	})
	if err != nil {
		return list{}, err
	}
	l := list{of: of, more: page.Next, unjudged: page.Unjudged}
	for _, r := range page.Requests {
		b.inform(ctx, r)
	}
	l.entries = b.entries(ctx, page.Requests)
	return l, nil
}

// historyList reads a page of requests that wait no longer, with what they ask about.
func (b *Bot) historyList(ctx context.Context, by approvals.UserID, of listing) (list, error) {
	page, err := b.service.History(ctx, approvals.HistoryQuery{
		Workspace: by.Workspace(), Viewer: by, Mine: of.verb == listHistory, After: of.after, Limit: listPage,
	})
	if err != nil {
		return list{}, err
	}
	l := list{of: of, more: page.Next, unjudged: page.Unjudged}
	l.entries, err = b.pastEntries(ctx, page.Requests)
	return l, err
}

// pastEntries adds to requests that the viewer may see what they ask about.
func (b *Bot) pastEntries(ctx context.Context, heads []*approvals.RequestHead) ([]entry, error) {
	requests, err := b.service.Contents(ctx, heads)
	if err != nil {
		return nil, err
	}
	return b.entries(ctx, requests), nil
}

// entries adds to requests what lists say of them.
func (b *Bot) entries(ctx context.Context, requests []*approvals.Request) []entry {
	heads := make([]*approvals.RequestHead, len(requests))
	for i, r := range requests {
		heads[i] = &r.RequestHead
	}
	settings := b.settings(ctx, heads)
	out := make([]entry, len(requests))
	for i, r := range requests {
		out[i] = entry{Request: r, setting: settings[i]}
	}
	return out
}

// reply renders the list as the answer to a command, as much of it as fits: a line for each request.
func (l *list) reply(now time.Time) (title phrase, blocks []slack.Block) {
	for {
		title = l.titleOfReply()
		blocks = append(paragraphs(title), l.bullets(now)...)
		if row := l.pageButtons(); row != nil {
			blocks = append(blocks, row)
		}
		if n := len(l.entries); n < 2 || fits(blocks) {
			return title, blocks
		}
		l.entries = l.entries[:len(l.entries)-1]
		l.more = l.entries[len(l.entries)-1].ID
	}
}

// bullets are the lines of the list.
func (l *list) bullets(now time.Time) []slack.Block {
	lines := make([]phrase, len(l.entries))
	for i, e := range l.entries {
		lines[i] = e.line(now)
	}
	return bullets(lines)
}

// bullets renders lines as a list; nothing for none. Texts of a line that follow each other are one, in less room.
func bullets(lines []phrase) []slack.Block {
	if len(lines) == 0 {
		return nil
	}
	items := make([]slack.RichTextElement, len(lines))
	for i, line := range lines {
		items[i] = slack.NewRichTextSection(line.joined().elements()...)
	}
	return []slack.Block{slack.NewRichTextBlock("", bulletList{slack.RTEList, slack.RTEListBullet, items})}
}

// bulletList is a rich_text_list with the fields of Slack's own types; slack-go's always has one more.
type bulletList struct {
	Type     slack.RichTextElementType     `json:"type"`
	Style    slack.RichTextListElementType `json:"style"`
	Elements []slack.RichTextElement       `json:"elements"`
}

// RichTextElementType makes it an element of a rich_text block.
func (l bulletList) RichTextElementType() slack.RichTextElementType { return l.Type }

// pageButtons turn the pages of a list; nil where there is only one.
func (l *list) pageButtons() slack.Block {
	var row []slack.BlockElement
	if l.of.after != "" {
		row = append(row, listButton(actListFirst, listing{verb: l.of.verb}, wordsFirstPage))
	}
	if l.more != "" {
		row = append(row, listButton(actListNext, listing{l.of.verb, l.more}, wordsNextPage))
	}
	if row == nil {
		return nil
	}
	return slack.NewActionBlock("", row...)
}

func listButton(a action, to listing, text string) *slack.ButtonBlockElement {
	return slack.NewButtonBlockElement(string(a), to.String(), plain(text))
}
