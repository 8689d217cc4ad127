package bot

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// mostNamedCalls is how many calls a notice shows the arguments of.
const mostNamedCalls = 10

// mentionedRequest finds the ids of requests in a text.
var mentionedRequest = regexp.MustCompile(`\breq_[0-9a-z]{26}\b`)

// notices renders what there is to say. Below it stand the calls that it mentions by their requests, each with the
// beginning of its arguments; notifications hold none of them.
func (b *Bot) notices(ctx context.Context, n *approvals.Notification) ([]post, error) {
	posts := textPosts(n, noticeEvent, "…")
	bare, err := b.showsBare(ctx, n)
	if n.Copy != "" || bare || err != nil { // for people who may not see the calls
		return posts, err
	}
	lines, err := b.mentionedCalls(ctx, n)
	if err != nil || len(lines) == 0 {
		return posts, err
	}
	last := &posts[len(posts)-1]
	blocks := stamp([]slack.Block{paragraph(lines...)}, fmt.Sprintf("%s.calls", n.ID))
	if with := append(slices.Clip(last.blocks), blocks...); fits(with) {
		last.blocks = with
	}
	return posts, nil
}

// mentionedCalls names the calls of the notice's own run that its text mentions. Calls of other runs may be for the
// eyes of other people.
func (b *Bot) mentionedCalls(ctx context.Context, n *approvals.Notification) (lines []phrase, err error) {
	var ids []approvals.RequestID
	for _, id := range mentionedRequest.FindAllString(n.Text, -1) {
		ids = append(ids, approvals.RequestID(id))
	}
	slices.Sort(ids)
	calls, err := b.service.Requests(ctx, n.Workspace, slices.Compact(ids))
	if err != nil {
		return nil, fmt.Errorf("name the calls of a notice: %w", err)
	}
	calls = slices.DeleteFunc(calls, func(r *approvals.Request) bool { return r.Run != n.Run })
	calls = calls[:min(len(calls), mostNamedCalls)]
	for _, e := range b.entries(ctx, calls) {
		lines = append(lines, e.named())
	}
	return lines, nil
}
