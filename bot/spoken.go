package bot

import (
	"context"
	"slices"
	"strings"

	"countersign/approvals"
)

// What people write who take the thread of a card for the place where it is answered: words that decide, and what
// stands with them.
var (
	decisive = []string{
		"approve", "approved", "yes", "do", "go", "ok", "okay", "lgtm", "reject", "rejected", "deny", "denied", "no",
		"don't", ":+1:", ":-1:", ":white_check_mark:", ":x:",
	}
	beside = []string{"i", "it", "this", "please", "ahead"}
)

// decides reports whether a text is nothing but words by which somebody would decide.
func decides(text string) bool {
	bare := strings.NewReplacer(",", " ", ".", " ", "!", " ", "’", "'").Replace(strings.ToLower(text))
	some := false
	for _, word := range strings.Fields(bare) {
		switch {
		case slices.Contains(decisive, word):
			some = true
		case !slices.Contains(beside, word):
			return false
		}
	}
	return some
}

// overheard answers somebody who writes a decision in the thread of a card without a mention of the bot, once for each
// card and person, as nobody else reads it: nothing is decided by it. Slack tells the bot of such messages in group
// direct messages; of those in channels it does not ask to hear.
func (b *Bot) overheard(id identity, e event) answer {
	if e.Type != "message" || e.Subtype != "" || e.BotID != "" || e.User == id.botUser || !isUserID(e.User) ||
		!isChannelID(e.Channel) || !isMessageTS(e.ThreadTS) || !decides(e.Text) {
		return answer{}
	}
	return answer{then: func(ctx context.Context) {
		by := approvals.NewUserID(id.workspace, e.User)
		run, err := b.service.ActiveRun(ctx, id.workspace, place(e))
		if err != nil {
			return // nothing is under way, or it cannot be told
		}
		r := b.waitsFor(ctx, run.Workspace, run.ID, by)
		if r == nil || b.service.MayDecide(ctx, r, by) != nil || !b.corrected.addNew(string(r.ID)+" "+string(by)) {
			return
		}
		b.whisper(ctx, e.Channel, e.ThreadTS, e.User, wordsNoMessageDecides(b.leadingTo(ctx, r)))
	}}
}

// queued says that a message waits for the run of its place and, where that waits for people, that the message decides
// nothing.
func (b *Bot) queued(ctx context.Context, got approvals.Receipt, by approvals.UserID) phrase {
	p := wordsQueued(got.Ahead)
	if r := b.waitsFor(ctx, by.Workspace(), got.Run, by); r != nil {
		p = append(append(p, " "), wordsNoMessageDecides(b.leadingTo(ctx, r))...)
	}
	return p
}

// waitsFor returns a request that the run waits for and the person may see; nil: there is none, or it cannot be told.
func (b *Bot) waitsFor(
	ctx context.Context, ws approvals.WorkspaceID, run approvals.RunID, by approvals.UserID,
) *approvals.Request {
	const most = 3 // pages
	q := approvals.PendingQuery{Workspace: ws, Viewer: by, Limit: 100}
	for range most {
		page, err := b.service.Pending(ctx, q)
		if err != nil {
			b.log.Warn("what a run waits for cannot be read", "run", run, "error", err)
			return nil
		}
		for _, r := range page.Requests {
			if r.Run == run {
				return r
			}
		}
		if q.After = page.Next; q.After == "" {
			return nil
		}
	}
	return nil
}
