package bot

import (
	"context"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

const (
	homeScan    = 50 // pending requests that one view of the Home tab looks at
	homeRows    = 10 // requests with buttons
	homeLines   = 10 // lines of each other list
	homeShown   = 5  // grants
	homeHistory = 50 // decided requests that are looked at
	// homeRoom is how many blocks rows may take: Slack takes 100 in all.
	homeRoom = 65
)

// homeOpened shows the Home tab to the person who opened it, from its beginning.
func (b *Bot) homeOpened(id identity, e event) (answer, error) {
	if e.Tab != "home" || !isUserID(e.User) {
		return answer{}, nil
	}
	hash := ""
	if e.View != nil {
		hash = e.View.Hash
	}
	by := approvals.NewUserID(id.workspace, e.User)
	return answer{then: func(ctx context.Context) {
		b.homes.opened(by, hash)
		b.publishHome(ctx, by)
	}}, nil
}

// turnHome shows another page of what waits.
func (b *Bot) turnHome(ctx context.Context, c click, of listing) {
	b.homes.change(c.by, c.View.Hash, func(h *openHome) { h.after, h.said = of.after, nil })
	b.publishHome(ctx, c.by)
}

// sayAtHome says at the top of the Home tab what came of a press there, and brings the tab up to date. An error means
// that the person was not told.
func (b *Bot) sayAtHome(ctx context.Context, c click, p phrase) error {
	if c.request != "" {
		if r, err := b.visibleRequest(ctx, c.id.workspace, c.request, c.by); err == nil {
			e := b.entries(ctx, []*approvals.Request{r})[0]
			p = append(append(phrase{strong(e.name()), " · "}, p...), e.open()...)
		}
	}
	b.homes.change(c.by, c.View.Hash, func(h *openHome) { h.said, h.saidAt = p, time.Now() })
	return b.publishHome(ctx, c.by)
}

// pressRevoke ends a grant from the Home tab.
func (b *Bot) pressRevoke(_ context.Context, c click) (answer, error) {
	if !isGrantID(c.press.Value) {
		return answer{}, nil
	}
	return answer{then: func(ctx context.Context) {
		b.tell(ctx, c, b.revokeGrant(ctx, approvals.Revocation{
			Workspace: c.id.workspace, Grant: approvals.GrantID(c.press.Value), By: c.by, Via: c.via(),
		}))
	}}, nil
}

// home is what the Home tab shows to a person.
type home struct {
	said    phrase  // what came of their last press
	waiting list    // what they may decide
	asked   []entry // what they asked for: what waits for others, then what ended
	grants  []approvals.GrantView
	decided []entry

	moreAsked, moreGrants, moreDecided bool
	partly                             bool // there is more than was looked through for what the person asked for
	unjudged                           int  // decided requests of which it cannot be found out now who may see them
	// What could not be read.
	noWaiting, noHistory, noGrants bool
}

// home reads what a person is shown: what they may see and nothing else.
func (b *Bot) home(ctx context.Context, by approvals.UserID, after approvals.RequestID) *home {
	h := &home{}
	if err := b.homeWaits(ctx, by, after, h); err != nil {
		b.log.Error("pending requests could not be listed", "error", err)
		h.noWaiting = true
	}
	if after != "" {
		return h
	}
	if err := b.homePast(ctx, by, h); err != nil {
		b.log.Error("the history could not be listed", "error", err)
		h.noHistory = true
	}
	grants, _, err := b.service.GrantsFor(ctx, by, homeShown+1) // one more tells whether there are others in force
	if err != nil {
		b.log.Error("grants could not be listed", "error", err)
		h.noGrants = true
	}
	for _, g := range grants {
		switch {
		case ended(&g) != 0:
		case len(h.grants) == homeShown:
			h.moreGrants = true
		default:
			h.grants = append(h.grants, g)
		}
	}
	return h
}

// homeWaits reads what waits for the person, and for others because the person asked for it.
func (b *Bot) homeWaits(ctx context.Context, by approvals.UserID, after approvals.RequestID, h *home) error {
	page, err := b.service.Pending(ctx, approvals.PendingQuery{
		Workspace: by.Workspace(), Viewer: by, Mine: true, After: after, Limit: homeScan,
	})
	if err != nil {
		return err
	}
	h.waiting = list{of: listing{listMine, after}, more: page.Next, unjudged: page.Unjudged}
	h.partly = page.Next != ""
	var waiting, asked []*approvals.Request
	for _, r := range page.Requests {
		full := len(waiting) == homeRows
		if full && r.Requester != by { // one more that the person may decide
			h.waiting.more = waiting[homeRows-1].ID
			continue
		}
		switch mine := b.service.MayDecide(ctx, r, by) == nil; {
		case mine && full:
			h.waiting.more = waiting[homeRows-1].ID
		case mine:
			waiting = append(waiting, r)
		case r.Requester == by && len(asked) == homeLines:
			h.moreAsked = true
		case r.Requester == by:
			asked = append(asked, r)
		}
	}
	for _, r := range waiting {
		b.inform(ctx, r)
	}
	for _, r := range asked {
		b.inform(ctx, r)
	}
	h.waiting.entries, h.asked = b.entries(ctx, waiting), b.entries(ctx, asked)
	for i := range h.waiting.entries {
		h.waiting.entries[i].mayDecide = true
	}
	return nil
}

// homePast reads what became of what the person asked for, and what they decided.
func (b *Bot) homePast(ctx context.Context, by approvals.UserID, h *home) error {
	page, err := b.service.History(ctx, approvals.HistoryQuery{
		Workspace: by.Workspace(), Viewer: by, Mine: true, Limit: homeHistory,
	})
	if err != nil {
		return err
	}
	var asked, decided []*approvals.RequestHead
	for _, head := range page.Requests {
		switch {
		case head.Requester != by:
		case len(h.asked)+len(asked) >= homeLines:
			h.moreAsked = true
		default:
			asked = append(asked, head)
		}
		switch {
		case !answeredBy(head, by):
		case len(decided) == homeLines:
			h.moreDecided = true
		default:
			decided = append(decided, head)
		}
	}
	h.moreDecided = h.moreDecided || page.Next != ""
	h.partly, h.unjudged = h.partly || page.Next != "", page.Unjudged
	entries, err := b.pastEntries(ctx, asked)
	if err != nil {
		return err
	}
	h.asked = append(h.asked, entries...)
	h.decided, err = b.pastEntries(ctx, decided)
	return err
}

// answeredBy reports whether the person has answered the request.
func answeredBy(r *approvals.RequestHead, u approvals.UserID) bool {
	for _, d := range r.Decisions {
		if d.By == u {
			return true
		}
	}
	return false
}

// blocks renders the tab. It shortens the list of what waits to what there is room for.
func (h *home) blocks(now time.Time) []slack.Block {
	var blocks []slack.Block
	if h.said != nil {
		blocks = append(blocks, paragraph(h.said), slack.NewDividerBlock())
	}
	blocks = append(blocks, h.waitingBlocks(now)...)
	if h.waiting.of.after != "" {
		return blocks
	}
	blocks = append(blocks, header(wordsHomeAsked))
	blocks = append(blocks, lines(h.asked, now, h.noneAsked())...)
	if h.moreAsked {
		blocks = append(blocks, paragraph(wordsMoreAsked()))
	}
	blocks = append(blocks, header(wordsHomeGrants))
	blocks = append(blocks, h.grantBlocks()...)
	blocks = append(blocks, header(wordsHomeDecided))
	switch {
	case h.noHistory:
		blocks = append(blocks, paragraph(listFailed(listing{verb: listHistory})))
	default:
		none := wordsNothingDecided()
		switch {
		case h.unjudged > 0:
			none = unsure(h.unjudged)
		case h.moreDecided:
			none = wordsNoneDecidedHere()
		}
		blocks = append(blocks, lines(h.decided, now, none)...)
	}
	if h.moreDecided || len(h.decided) > 0 {
		all := listButton(actListOpen, listing{verb: listHistory}, wordsShowHistory)
		blocks = append(blocks, slack.NewActionBlock("", all))
	}
	return blocks
}

// noneAsked is said where nothing is listed that the person asked for: that there is nothing, if all could be read and
// was looked through.
func (h *home) noneAsked() phrase {
	switch {
	case h.noWaiting:
		return listFailed(listing{verb: listMine})
	case h.noHistory:
		return listFailed(listing{verb: listHistory})
	case h.waiting.unjudged+h.unjudged > 0:
		return unsure(h.waiting.unjudged + h.unjudged)
	case h.partly:
		return wordsNoneAskedHere()
	}
	return wordsNothingAsked()
}

// unsure is said in the place of a list where so many requests are left out of it because they cannot be judged now.
func unsure(left int) phrase {
	none := list{of: listing{verb: listHistory}, unjudged: left}
	return none.title()
}

// lines is a list of lines, or what is said where there are none.
func lines(entries []entry, now time.Time, nothing phrase) []slack.Block {
	if len(entries) == 0 {
		return paragraphs(nothing)
	}
	l := list{entries: entries}
	return l.bullets(now)
}

// waitingBlocks are what the person may decide, a row each with its buttons.
func (h *home) waitingBlocks(now time.Time) []slack.Block {
	blocks := []slack.Block{header(wordsHomeWaiting)}
	l := &h.waiting
	switch {
	case h.noWaiting:
		return append(blocks, paragraph(listFailed(listing{verb: listMine})))
	case len(l.entries) == 0 && l.more == "" && l.unjudged == 0 && l.of.after == "":
		return append(blocks, paragraph(wordsNothingForYou()))
	case len(l.entries) == 0:
		blocks = append(blocks, paragraph(l.title()))
	}
	for i, e := range l.entries {
		row := e.row(now)
		if i > 0 && len(blocks)+len(row) > homeRoom {
			l.entries, l.more = l.entries[:i], l.entries[i-1].ID
			break
		}
		blocks = append(blocks, row...)
	}
	if len(l.entries) > 0 && l.unjudged > 0 {
		blocks = append(blocks, paragraph(l.title()))
	}
	if row := l.pageButtons(); row != nil {
		blocks = append(blocks, row)
	}
	return blocks
}

func (h *home) grantBlocks() []slack.Block {
	switch {
	case h.noGrants:
		return paragraphs(wordsGrantsFailed())
	case len(h.grants) == 0:
		return paragraphs(wordsNoGrantsInForce())
	}
	var blocks []slack.Block
	for i := range h.grants {
		g := &h.grants[i]
		blocks = append(blocks, paragraph(grantLines(g)...))
		if g.Mine {
			blocks = append(blocks, slack.NewActionBlock("", revokeButton(g)))
		}
	}
	if h.moreGrants {
		blocks = append(blocks, paragraph(wordsMoreGrants()))
	}
	return blocks
}

func revokeButton(g *approvals.GrantView) slack.BlockElement {
	b := slack.NewButtonBlockElement(string(actRevokeGrant), string(g.ID), plain(wordsRevoke))
	return confirmed(b.WithStyle(slack.StyleDanger), slack.StyleDanger, wordsRevokeAsk,
		wordsRevokeMeans(label(g.Tool, 80)))
}

// ids are the requests that the tab shows.
func (h *home) ids() map[approvals.RequestID]bool {
	out := map[approvals.RequestID]bool{}
	for _, entries := range [][]entry{h.waiting.entries, h.asked, h.decided} {
		for _, e := range entries {
			out[e.ID] = true
		}
	}
	return out
}
