package bot

import (
	"context"
	"errors"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

const (
	grantsShown = 15  // at once
	grantsMost  = 500 // that are counted
)

// respondGrants answers "grants" with the grants that the person may see, those in force first.
func (b *Bot) respondGrants(ctx context.Context, c command, by approvals.UserID, rest []string) {
	if len(rest) > 0 {
		b.respond(ctx, c, wordsNothingFollows("grants"), nil)
		return
	}
	all, more, err := b.service.GrantsFor(ctx, by, grantsMost)
	if err != nil {
		b.log.Error("grants could not be listed", "error", err)
		b.respond(ctx, c, wordsGrantsFailed(), nil)
		return
	}
	if len(all) == 0 {
		b.respond(ctx, c, wordsNoGrants(), nil)
		return
	}
	title, blocks := grantsReply(all, more)
	b.respond(ctx, c, title, blocks)
}

// grantsReply renders as many grants as one answer shows and Slack takes; more says that there are others beside all.
func grantsReply(all []approvals.GrantView, more bool) (title phrase, blocks []slack.Block) {
	title = phrase{wordsGrants(len(all))}
	for shown := min(len(all), grantsShown); ; shown-- {
		blocks = []slack.Block{paragraph(phrase{strong(title.fallback())})}
		for i := range all[:shown] {
			blocks = append(blocks, paragraph(append(grantLines(&all[i]), howToRevoke(&all[i])...)...))
		}
		if len(all) > shown || more {
			blocks = append(blocks, paragraph(phrase{wordsMoreOnCommandLine}))
		}
		if shown < 2 || fits(blocks) {
			return title, blocks
		}
	}
}

// ended says with 1 that the grant has ended, else 0.
func ended(g *approvals.GrantView) int {
	if g.State == approvals.GrantActive || g.State == approvals.GrantInert {
		return 0
	}
	return 1
}

// grantLines says what a grant covers and how it stands.
func grantLines(g *approvals.GrantView) []phrase {
	answer := wordsGrantApproved
	if g.Deny {
		answer = wordsGrantRejected
	}
	state := wordsGrantState(g.State)
	if g.Why != "" {
		state = append(state, ": "+label(g.Why, 200))
	}
	covers := append(wordsGrantOf(label(g.Tool, 80), label(g.Agent, 80), answer), reach(&g.Grant)...)
	lines := []phrase{append(covers, wordsGrantUntil(g.Used, g.Uses, g.Expires)...)}
	if len(g.Condition) > 0 {
		bound := phrase{wordsGrantOnlyWith}
		for i := range g.Condition {
			if i > 0 {
				bound = append(bound, wordsAnd)
			}
			bound = append(bound, code(label(g.Condition[i].String(), 100)))
		}
		lines = append(lines, bound)
	}
	from := append(state, wordsGrantGiven(persons(g.Grantors), g.Created, g.ID)...)
	if !g.Revoked.IsZero() {
		from = append(from, wordsGrantEnded(g.Revoked, g.RevokedBy)...)
	}
	return append(lines, from)
}

// howToRevoke says how the viewer ends the grant where there is no button; nothing where they may not.
func howToRevoke(g *approvals.GrantView) []phrase {
	if !g.Mine || ended(g) != 0 || !g.Revoked.IsZero() {
		return nil
	}
	return []phrase{wordsEndsIt(g.ID)}
}

// reach says how far a grant reaches, for somebody who may be elsewhere.
func reach(g *approvals.Grant) phrase {
	switch g.Scope {
	case approvals.ScopeRun:
		return wordsInRun(string(g.Run))
	case approvals.ScopeThread:
		return wordsInThread(where(g.Place))
	case approvals.ScopeChannel:
		return wordsInConversation(where(g.Place))
	case approvals.ScopeWorkspace:
		return phrase{wordsInWorkspace}
	}
	return phrase{wordsNowhere}
}

// respondRevoke answers "revoke ID" and what follows as the reason.
func (b *Bot) respondRevoke(ctx context.Context, c command, by approvals.UserID, rest []string) {
	if len(rest) == 0 {
		b.respond(ctx, c, wordsGrantMissing(), nil)
		return
	}
	id := bareID(rest[0])
	if !isGrantID(id) {
		b.respond(ctx, c, wordsNoGrantID(label(rest[0], 60)), nil)
		return
	}
	b.respond(ctx, c, b.revokeGrant(ctx, approvals.Revocation{
		Workspace: by.Workspace(), Grant: approvals.GrantID(id), By: by, Reason: strings.Join(rest[1:], " "),
		Via: "command",
	}), nil)
}

// revokeGrant ends a grant and says how that went.
func (b *Bot) revokeGrant(ctx context.Context, v approvals.Revocation) phrase {
	g, err := b.service.RevokeGrant(ctx, v)
	switch {
	case err == nil:
		return wordsRevoked(g.ID, label(g.Tool, 80))
	case errors.Is(err, approvals.ErrConflict) && g != nil:
		return wordsRevokedBefore(g.ID, label(g.Tool, 80), g.RevokedBy, g.Revoked)
	case errors.Is(err, approvals.ErrNotFound), errors.Is(err, approvals.ErrUnauthorized):
		return wordsNotRevocable(v.Grant)
	case errors.Is(err, approvals.ErrInvalid):
		return wordsBadRevocation()
	}
	b.log.Error("a grant could not be revoked", "grant", v.Grant, "error", err)
	return wordsRevokeFailed()
}
