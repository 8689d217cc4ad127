package bot

import (
	"context"

	"strings"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// mostChanges is how many changed arguments the details list.
const mostChanges = 12

// compare has a pending call held against the one of its tool that was approved last. Without an answer in time nothing
// is said of it.
func (b *Bot) compare(ctx context.Context, r *approvals.Request, viewer approvals.UserID) {
	if r.Status != approvals.RequestPending || r.Kind != agent.Confirm {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, progressTime)
	defer cancel()
	before, err := b.service.Precedent(ctx, r, viewer)
	if err != nil {
		b.log.Warn("a call could not be compared with the last one", "request", r.ID, "error", err)
		return
	}
	r.Before = before
}

// precedentBlocks say how the call differs from the one of the tool that was approved last, as far as the reader may
// know of that.
func precedentBlocks(r *approvals.Request) []slack.Block {
	p := r.Before
	if p == nil || p.Request == nil {
		return nil
	}
	lead := phrase{strong(wordsLastApprovedCall), ": "}
	if s := p.Request.Settler(); s != nil {
		lead = append(lead, s.By, ", ")
	}
	lead = append(lead, p.Request.Settled, " · ", code(string(p.Request.ID)))
	lines := []phrase{lead}
	if len(p.Changes) == 0 {
		lines = append(lines, phrase{wordsHadSameArguments})
	}
	for i, c := range p.Changes {
		if i == mostChanges {
			lines = append(lines, phrase{wordsMoreArgumentsDiffer(len(p.Changes) - mostChanges)})
			break
		}
		lines = append(lines, phrase{strong(label(c.Name, 80)), "  " +
			label(strings.TrimPrefix(c.String(), c.Name+": "), 300)})
	}
	if len(p.Parts) > 0 {
		lines = append(lines, phrase{strong(wordsToolChangedSince), ": " + strings.Join(p.Parts, ", ")})
	}
	return []slack.Block{paragraph(lines...)}
}
