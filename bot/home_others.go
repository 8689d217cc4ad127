package bot

import (
	"context"
	"time"

	"countersign/approvals"
)

// Where several processes share the store, the card of a request is posted by one of them. That one brings the Home
// tabs up to date whose opening it has seen; the others look for new requests themselves, while they know of such tabs.
// What becomes of a request that a tab shows comes to it as a copy of the card, from whichever process.

const (
	// homesEvery is how long a new request may stay unseen by a process that has not posted it.
	homesEvery = 3 * time.Second
	// mostNew is how many of the newest requests are looked at each time.
	mostNew = 20
)

// seekNew looks for requests that other processes have asked about, until ctx ends.
func (b *Bot) seekNew(ctx context.Context) {
	var known places
	for sleep(ctx, b.homes.every) {
		ws := b.homes.watched()
		if ws == "" {
			continue
		}
		newest, err := b.service.NewestPending(ctx, ws, mostNew)
		if err != nil && ctx.Err() == nil {
			b.log.Warn("new requests could not be read for the home tabs", "error", err)
		}
		fresh := 0
		for _, r := range newest {
			if known.addNew(string(r.ID)) {
				b.homes.appeared(r)
				fresh++
			}
		}
		if fresh == mostNew { // there may be more, which have come before these
			b.homes.behind(ws)
		}
	}
}

// watched returns the workspace whose people have opened tabs lately; empty: nobody has.
func (h *homes) watched() approvals.WorkspaceID {
	h.mu.Lock()
	defer h.mu.Unlock()
	for by, o := range h.open {
		if time.Since(o.at) <= homeLife {
			return by.Workspace()
		}
	}
	return ""
}

// behind notes that there may be requests of which nothing is known here, for all tabs that people may look at.
func (h *homes) behind(ws approvals.WorkspaceID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for by, o := range h.open {
		if by.Workspace() == ws && time.Since(o.at) <= homeLife {
			o.stale = true
			o.changes++
			h.queue(by, o)
		}
	}
}

// appeared notes that there is a new pending request, for the tabs that do not show it.
func (h *homes) appeared(r *approvals.Request) {
	h.note(r, func(o *openHome) bool { return !o.shown[r.ID] })
}
