package bot

import (
	"context"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// shortcutPending is the callback id of the global shortcut.
const shortcutPending = "approvals_list"

// homeOpened shows what waits for the person who opened the app's home tab.
func (b *Bot) homeOpened(id identity, e event) (answer, error) {
	if e.Tab != "home" || !isUserID(e.User) {
		return answer{}, nil
	}
	return answer{then: func(ctx context.Context) { _ = b.publishHome(ctx, id, e.User) }}, nil
}

// publishHome shows what waits for the person, below what there is to say to them.
func (b *Bot) publishHome(ctx context.Context, id identity, user string, said ...phrase) error {
	blocks := b.waiting(ctx, id, user)
	if len(said) > 0 {
		blocks = append([]slack.Block{paragraph(said...)}, blocks...)
	}
	view := slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: blocks}}
	err := b.patiently(ctx, methodPublishView, "", func() error {
		_, err := b.client.api.PublishViewContext(ctx, slack.PublishViewContextRequest{UserID: user, View: view})
		return err
	})
	if err != nil {
		b.log.Warn("the home tab could not be shown", "user", user, "error", err)
	}
	return err
}

// waiting lists what the person may decide or asked for.
func (b *Bot) waiting(ctx context.Context, id identity, user string) []slack.Block {
	blocks := []slack.Block{header("Waiting for an answer")}
	l, err := b.pendingList(ctx, approvals.PendingQuery{
		Workspace: id.workspace, Viewer: approvals.NewUserID(id.workspace, user), Mine: true,
	}, listShape{listItem, fitsView})
	switch {
	case err != nil:
		b.log.Error("pending requests could not be listed", "error", err)
		return append(blocks, paragraph(listFailed()))
	case l.shown == 0 && l.more != "":
		return append(blocks, paragraph(nothingYet("mine", l.more)))
	case l.shown == 0 && l.unjudged > 0:
		return append(blocks, paragraph(phrase{l.leftOut()}))
	case l.shown == 0:
		return append(blocks, paragraph(phrase{"Nothing waits for you."}))
	}
	blocks = append(blocks, l.blocks...)
	if l.more != "" {
		blocks = append(blocks, paragraph(moreBy("mine", l.more)))
	}
	if left := l.leftOut(); left != "" {
		blocks = append(blocks, paragraph(phrase{left}))
	}
	return blocks
}

// shortcutDelivery opens the same list in a modal.
func (b *Bot) shortcutDelivery(i interaction) delivery {
	handle := func(_ context.Context, id identity) (answer, error) {
		c := click{interaction: i, id: id, by: approvals.NewUserID(id.workspace, i.User.ID)}
		c.View = nil
		return answer{then: func(ctx context.Context) {
			b.openModal(ctx, c, func(ctx context.Context) (slack.ModalViewRequest, error) {
				return modal(viewList, "Pending approvals", b.waiting(ctx, id, i.User.ID)...), nil
			})
		}}, nil
	}
	return delivery{what: "shortcut", key: "shortcut " + i.User.ID, handle: b.checked(i.origin(), handle)}
}
