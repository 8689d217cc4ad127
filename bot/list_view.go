package bot

import (
	"context"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// shortcutPending is the callback id of the global shortcut.
const shortcutPending = "approvals_list"

// ofLists reports whether the button is about no request: it turns a list, or ends a grant.
func (a action) ofLists() bool {
	switch a {
	case actListNext, actListFirst, actListOpen, actRevokeGrant:
		return true
	}
	return false
}

// shortcutDelivery opens the list of what waits for a person in a modal.
func (b *Bot) shortcutDelivery(i interaction) delivery {
	handle := func(_ context.Context, id identity) (answer, error) {
		c := click{interaction: i, id: id, by: approvals.NewUserID(id.workspace, i.User.ID)}
		c.View = nil
		return b.opensList(c, listing{verb: listMine}), nil
	}
	return delivery{what: "shortcut", key: "shortcut " + i.User.ID, handle: b.checked(i.origin(), handle)}
}

// openList opens a list in a modal.
func (b *Bot) openList(_ context.Context, c click) (answer, error) {
	of, wrong := parseListing(strings.Fields(c.press.Value))
	if wrong != nil {
		return answer{}, nil // a button of another version
	}
	return b.opensList(c, of), nil
}

func (b *Bot) opensList(c click, of listing) answer {
	return answer{then: func(ctx context.Context) {
		b.openModal(ctx, c, func(ctx context.Context) (slack.ModalViewRequest, error) {
			return b.listView(ctx, c.by, of)
		})
	}}
}

// listView shows a page of a list in a modal: a line for each request, and a button that opens all of it.
func (b *Bot) listView(ctx context.Context, by approvals.UserID, of listing) (slack.ModalViewRequest, error) {
	l, err := b.list(ctx, by, of)
	if err != nil {
		b.log.Error("requests could not be listed", "list", of.verb, "error", err)
		return wordsView(listFailed(of)), nil
	}
	return l.view(time.Now()), nil
}

func (l *list) view(now time.Time) slack.ModalViewRequest {
	blocks := paragraphs(l.title())
	for _, e := range l.entries {
		details := button(e.Request, actDetails, wordsShowDetails, slack.StyleDefault)
		blocks = append(blocks, paragraph(e.line(now)), slack.NewActionBlock("row."+string(e.ID), details))
	}
	if row := l.pageButtons(); row != nil {
		blocks = append(blocks, slack.NewDividerBlock(), row)
	}
	title := wordsPendingTitle
	if l.of.past() {
		title = wordsHistoryTitle
	}
	v := modal(viewList, title, blocks...)
	v.PrivateMetadata = l.of.String()
	return v
}

// aboveList has a modal remember the list that lies below it, where it was opened from one.
func aboveList(c click, v slack.ModalViewRequest) slack.ModalViewRequest {
	n, ok := readNote(v.PrivateMetadata)
	if !ok || c.View == nil || c.View.Type != "modal" {
		return v
	}
	if c.View.Callback == viewList {
		n.List, n.Shows = c.View.ID, c.View.Private
	} else if below, ok := readNote(c.View.Private); ok {
		n.List, n.Shows = below.List, below.Shows
	}
	v.PrivateMetadata = n.String()
	return v
}

// refreshList brings the list below a modal up to date, where there is one.
func (b *Bot) refreshList(ctx context.Context, above *view, by approvals.UserID) {
	n, ok := readNote(above.Private)
	words := strings.Fields(n.Shows)
	if !ok || n.List == "" || len(words) == 0 {
		return
	}
	of, wrong := parseListing(words)
	if wrong != nil {
		return
	}
	v, err := b.listView(ctx, by, of)
	if err == nil {
		err = b.updateView(ctx, n.List, v)
	}
	if err != nil { // the person may have closed it
		b.log.Debug("a list could not be brought up to date", "user", by.Local(), "error", err)
	}
}
