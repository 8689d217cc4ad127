package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

const (
	// homeLife is how long a Home tab that was opened, or pressed in, is brought up to date by itself: Slack does not
	// say when somebody leaves it.
	homeLife = 15 * time.Minute
	// mostHomes is how many are; the one that was opened first is forgotten for another.
	mostHomes = 500
	// homePause is the time between two updates that nobody asked for: Slack takes 100 calls of views.publish in a
	// minute, and those of people who open the tab go before.
	homePause = time.Second
	// mostCandidates is how many requests may be looked at to find out whether they concern a person.
	mostCandidates = 20
	// saidFor is how long a tab says what came of the last press in it.
	saidFor = time.Minute
)

// homes are the Home tabs that people have opened lately. Changes of requests mark those that show them, or should, and
// one loop brings these up to date. It is lossy: a tab that is forgotten is right again when it is opened next.
type homes struct {
	mu    sync.Mutex
	open  map[approvals.UserID]*openHome
	line  []approvals.UserID // whose tabs are to be brought up to date, in order
	wake  chan struct{}      // holds one element while line is not empty
	pause time.Duration
	every time.Duration // between two looks for what other processes have asked
}

// openHome is a tab that a person has opened lately.
type openHome struct {
	turn  chan struct{} // holds one element while nobody publishes it
	at    time.Time     // when the person opened it or pressed in it
	after approvals.RequestID
	shown map[approvals.RequestID]bool
	hash  string // Slack's, of what was published last as far as is known
	// changes counts what has happened to requests that concern the tab.
	changes int
	said    phrase // what came of the last press
	saidAt  time.Time

	queued     bool
	stale      bool                 // something that it shows has changed
	candidates []*approvals.Request // changed, and may concern the person
}

func newHomes() *homes {
	return &homes{open: map[approvals.UserID]*openHome{}, wake: make(chan struct{}, 1), pause: homePause,
		every: homesEvery}
}

// opened notes that the person looks at the beginning of their tab.
func (h *homes) opened(by approvals.UserID, hash string) {
	h.change(by, hash, func(o *openHome) { o.after, o.said = "", nil })
}

// change notes that the person looks at their tab. hash is what Slack says about the version they look at.
func (h *homes) change(by approvals.UserID, hash string, f func(*openHome)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.tab(by, hash)
	o.at = time.Now()
	f(o)
}

// known has the person's tab among those that can be published, though nobody may look at it.
func (h *homes) known(by approvals.UserID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tab(by, "")
}

// tab returns what is known of the person's tab. hash is Slack's, of what it shows, for where nothing was known.
// h.mu is held.
func (h *homes) tab(by approvals.UserID, hash string) *openHome {
	if o := h.open[by]; o != nil {
		return o
	}
	h.forget()
	o := &openHome{turn: make(chan struct{}, 1), hash: hash}
	o.turn <- struct{}{}
	h.open[by] = o
	return o
}

// forget makes room: tabs nobody has looked at for long go, or else the one that was opened first. h.mu is held.
func (h *homes) forget() {
	var oldest approvals.UserID
	for by, o := range h.open {
		switch {
		case len(o.turn) == 0: // somebody publishes it
		case time.Since(o.at) > homeLife:
			delete(h.open, by)
		case oldest == "" || o.at.Before(h.open[oldest].at):
			oldest = by
		}
	}
	if len(h.open) >= mostHomes {
		delete(h.open, oldest)
	}
}

// changed notes that a request is another than it was.
func (h *homes) changed(r *approvals.Request) { h.note(r, func(*openHome) bool { return true }) }

// note notes that the tabs of which that is true may have to show a request as it is now.
func (h *homes) note(r *approvals.Request, of func(*openHome) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for by, o := range h.open {
		switch {
		case by.Workspace() != r.Workspace || time.Since(o.at) > homeLife || !of(o):
			continue
		case o.shown[r.ID], by == r.Requester, len(o.candidates) == mostCandidates:
			o.stale = true
		case r.Status == approvals.RequestPending:
			as := *r // whoever shows the request adds to it
			o.candidates = append(o.candidates, &as)
		default:
			continue
		}
		o.changes++
		h.queue(by, o)
	}
}

// queue has the tab brought up to date. h.mu is held.
func (h *homes) queue(by approvals.UserID, o *openHome) {
	if o.queued {
		return
	}
	o.queued = true
	h.line = append(h.line, by)
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// next takes the tab that has waited longest to be brought up to date.
func (h *homes) next() (by approvals.UserID, stale bool, candidates []*approvals.Request, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.line) > 0 {
		by, h.line = h.line[0], h.line[1:]
		o := h.open[by]
		if o == nil {
			continue
		}
		stale, candidates = o.stale, o.candidates
		o.queued, o.stale, o.candidates = false, false, nil
		return by, stale, candidates, true
	}
	return "", false, nil, false
}

// again puts a tab back into the line.
func (h *homes) again(by approvals.UserID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := h.open[by]; o != nil {
		o.stale = true
		o.changes++
		h.queue(by, o)
	}
}

// lookedAt reports whether the tab is still brought up to date by itself.
func (h *homes) lookedAt(by approvals.UserID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.open[by]
	return o != nil && time.Since(o.at) <= homeLife
}

// drop forgets a tab.
func (h *homes) drop(by approvals.UserID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, by)
}

// get returns a copy of what is known of the person's tab, and the tab.
func (h *homes) get(by approvals.UserID) (openHome, *openHome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.open[by]
	if o == nil {
		return openHome{}, nil
	}
	if time.Since(o.saidAt) > saidFor {
		o.said = nil
	}
	return *o, o
}

// published notes what a tab shows now. What had changed before it was read, as known says, it shows.
func (h *homes) published(o *openHome, hash string, shown map[approvals.RequestID]bool, known openHome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.hash, o.shown = hash, shown
	if o.changes == known.changes {
		o.stale, o.candidates = false, nil
	}
}

// keepHomes brings tabs up to date that people have opened lately, one after the other, until ctx ends.
func (b *Bot) keepHomes(ctx context.Context) {
	for {
		select {
		case <-b.homes.wake:
		case <-ctx.Done():
			return
		}
		for {
			by, stale, candidates, ok := b.homes.next()
			if !ok {
				break
			}
			wait := time.Duration(0)
			b.work.guard(func() { wait = b.attendHome(ctx, by, stale, candidates) })
			if wait > 0 && !sleep(ctx, wait) {
				return
			}
		}
	}
}

// attendHome brings a tab up to date where something that it shows, or should, has changed, and returns how long to
// leave Slack alone.
func (b *Bot) attendHome(
	ctx context.Context, by approvals.UserID, stale bool, candidates []*approvals.Request,
) time.Duration {
	if stale {
		return b.refreshHome(ctx, by)
	}
	switch yes, unsure := b.concerns(ctx, by, candidates); {
	case yes:
		return b.refreshHome(ctx, by)
	case unsure: // in a while the tab itself says what cannot be found out
		b.homes.again(by)
		return 10 * b.homes.pause
	}
	return 0
}

// refreshHome brings a tab up to date that nobody waits for, and returns how long to leave Slack alone.
func (b *Bot) refreshHome(ctx context.Context, by approvals.UserID) time.Duration {
	b.way.yield(ctx)
	err := b.publishHome(ctx, by)
	if later, ok := errors.AsType[*approvals.RetryError](err); ok {
		b.homes.again(by)
		return max(b.homes.pause, later.After)
	}
	switch _, refused := refusal(err); {
	case refused: // somebody who is gone, or an app without a Home tab
		b.homes.drop(by)
	case err != nil && b.homes.lookedAt(by): // Slack may answer again soon
		b.homes.again(by)
		return 10 * b.homes.pause
	}
	return b.homes.pause
}

// concerns reports whether one of the pending requests is for the person to decide, and otherwise whether that cannot
// be found out now of one of them.
func (b *Bot) concerns(ctx context.Context, by approvals.UserID, candidates []*approvals.Request) (yes, unsure bool) {
	for _, r := range candidates {
		err := b.service.MayDecide(ctx, r, by)
		if err == nil {
			return true, false
		}
		unsure = unsure || errors.Is(err, approvals.ErrUnavailable)
	}
	return false, unsure
}

// publishHome shows a person their Home tab as things stand. What is read later is published later: those who publish
// the same tab take turns, and another process's newer version is found out by its hash.
func (b *Bot) publishHome(ctx context.Context, by approvals.UserID) error {
	_, o := b.homes.get(by)
	if o == nil {
		return nil
	}
	select {
	case <-o.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { o.turn <- struct{}{} }()
	err := b.patiently(ctx, methodPublishView, "", func() error { return b.publishOnce(ctx, by, o) })
	if err != nil {
		b.log.Warn("the home tab could not be shown", "user", by.Local(), "error", err)
	}
	return err
}

// publishOnce reads what the person is to see and publishes it. When Slack knows a version that we do not, another
// process has published one: what is read after that replaces it, and is checked once more, as the next version of the
// other process may have been on its way.
func (b *Bot) publishOnce(ctx context.Context, by approvals.UserID, o *openHome) error {
	known, _ := b.homes.get(by)
	page, blocks := b.homePage(ctx, by, known)
	hash, err := b.client.publishHome(ctx, by.Local(), blocks, known.hash)
	if word, _ := refusal(err); word == "hash_conflict" {
		b.homes.again(by)
		page, blocks = b.homePage(ctx, by, known)
		hash, err = b.client.publishHome(ctx, by.Local(), blocks, "")
	}
	if err != nil {
		return err
	}
	b.homes.published(o, hash, page.ids(), known)
	if offered := shownRequests(blocks); len(offered) > 0 {
		if err := b.service.ShownAtHome(ctx, by, offered...); err != nil {
			b.log.Warn("what a home tab shows could not be noted", "user", by.Local(), "error", err)
			b.homes.again(by)
		}
	}
	return nil
}

// homePage reads and renders what the person is to see on their tab.
func (b *Bot) homePage(ctx context.Context, by approvals.UserID, known openHome) (*home, []slack.Block) {
	page := b.home(ctx, by, known.after)
	page.said = known.said
	return page, page.blocks(time.Now())
}

// publishHome shows a person the blocks on their Home tab, unless that is another version by now than the one with the
// hash, and returns the hash of the new one. See https://docs.slack.dev/reference/methods/views.publish.
func (c *Client) publishHome(ctx context.Context, user string, blocks []slack.Block, hash string) (string, error) {
	view, err := json.Marshal(slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: blocks}})
	if err != nil {
		return "", fmt.Errorf("encode home tab: %w", err)
	}
	form := url.Values{"user_id": {user}, "view": {string(view)}}
	if hash != "" {
		form.Set("hash", hash)
	}
	var answer struct {
		View struct {
			Hash string `json:"hash"`
		} `json:"view"`
	}
	_, err = c.call(ctx, methodPublishView, c.token, form, &answer)
	return answer.View.Hash, err
}
