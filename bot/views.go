package bot

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

// The callback ids of modals.
const (
	viewDetails  = "details"
	viewList     = "list"
	viewWords    = "words"
	viewCallback = "callback"
	// The forms have the action id of the button that opens them.
)

// note is what a modal remembers between clicks. Slack keeps it and hands it back unchanged.
type note struct {
	Request approvals.RequestID `json:"request"`
	Digest  agent.Digest        `json:"digest"`
	Page    int                 `json:"page,omitempty"`
	// Revealed says that the details show secret values.
	Revealed bool `json:"revealed,omitempty"`
	// Channel is where to say that the answer was recorded; empty where the card says so.
	Channel string `json:"channel,omitempty"`
	// Home says that the form was opened from the home tab, which is shown anew afterwards.
	Home bool `json:"home,omitempty"`
	// List is the modal below, which shows the list that Shows names; empty where there is none.
	List  string `json:"list,omitempty"`
	Shows string `json:"shows,omitempty"`
}

func readNote(private string) (note, bool) {
	var n note
	if json.Unmarshal([]byte(private), &n) != nil {
		return note{}, false
	}
	_, ok := parseRequestID(string(n.Request))
	return n, ok
}

func (n note) String() string {
	raw, err := json.Marshal(n)
	if err != nil {
		panic(fmt.Sprintf("encode note: %v", err)) // strings and a number
	}
	return string(raw)
}

func modal(callback, title string, blocks ...slack.Block) slack.ModalViewRequest {
	return slack.ModalViewRequest{
		Type: slack.VTModal, CallbackID: callback, Title: plain(title), Close: plain(wordsClose),
		Blocks: slack.Blocks{BlockSet: blocks},
	}
}

// loadingView is shown while the store is asked: a trigger lives three seconds.
func loadingView() slack.ModalViewRequest {
	return modal(viewWords, wordsCountersign, paragraph(phrase{wordsOneMoment}))
}

// wordsView says something and offers nothing.
func wordsView(p phrase) slack.ModalViewRequest {
	return modal(viewWords, wordsCountersign, paragraph(p))
}

// openModal opens a modal at once and fills it with what make returns, or with words when that fails.
func (b *Bot) openModal(ctx context.Context, c click, make func(context.Context) (slack.ModalViewRequest, error)) {
	at, err := b.modalFor(ctx, c)
	if err != nil {
		b.log.Warn("a modal did not open", "error", err)
		b.tell(ctx, c, wordsWindowTooLate())
		return
	}
	view, err := make(ctx)
	if err != nil {
		words, known := refusedDecision(err, nil, c.by)
		if !known {
			b.log.Error("a modal could not be filled", "request", c.request, "error", err)
			words = wordsWentWrong()
		}
		view = wordsView(words)
	}
	b.fill(ctx, c, at, aboveList(c, view))
}

// fill shows the view in the modal that has said to wait. What Slack does not take is no reason to leave somebody
// waiting: then the modal says so.
func (b *Bot) fill(ctx context.Context, c click, at string, view slack.ModalViewRequest) {
	err := b.updateView(ctx, at, view)
	if uncertain(err) {
		err = b.updateView(ctx, at, view)
	}
	if word, _ := refusal(err); err == nil || word == "not_found" { // they have closed it
		return
	}
	b.log.Error("a modal could not be filled", "request", c.request, "error", err)
	words := wordsWindowRefused()
	if err = b.updateView(ctx, at, wordsView(words)); err != nil {
		err = b.direct(ctx, c.User.ID, words)
	}
	if err != nil {
		b.log.Warn("could not tell a person", "user", c.User.ID, "error", err)
	}
}

// modalFor returns the modal to fill: the one that the button is in becomes the next one, but a list stays below what
// is opened from it. Anywhere else one opens.
func (b *Bot) modalFor(ctx context.Context, c click) (id string, err error) {
	var opened *slack.ViewResponse
	switch {
	case c.View == nil || c.View.Type != "modal":
		opened, err = b.client.api.OpenViewContext(ctx, c.Trigger, loadingView())
	case c.View.Callback == viewList && !c.act.ofLists():
		opened, err = b.client.api.PushViewContext(ctx, c.Trigger, loadingView())
	default:
		return c.View.ID, nil
	}
	if err != nil {
		return "", err
	}
	return opened.View.ID, nil
}

func (b *Bot) updateView(ctx context.Context, id string, view slack.ModalViewRequest) error {
	return b.patiently(ctx, methodUpdateView, "", func() error {
		_, err := b.client.api.UpdateViewContext(ctx, view, "", "", id)
		return err
	})
}

// visibleRequest returns the request if the person may see what it holds.
func (b *Bot) visibleRequest(
	ctx context.Context, ws approvals.WorkspaceID, id approvals.RequestID, by approvals.UserID,
) (*approvals.Request, error) {
	r, err := b.service.Request(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	return r, b.explained(ctx, r, b.service.MaySee(ctx, r, by))
}
