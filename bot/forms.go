package bot

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// The input of every form.
const (
	inputBlock  = "reason"
	inputAction = "text"
)

// refusalBudget is how long after a form arrived it may still be found out why its answer was refused: Slack waits
// three seconds for the words.
const refusalBudget = 2500 * time.Millisecond

// form asks for the text that goes with an answer.
type form struct {
	verdict approvals.Verdict
	title   string
	label   string
	hint    string
	submit  string
}

var forms = map[action]form{
	actRejectReason: {
		verdict: approvals.Reject, title: "Reject with reason", submit: "Reject",
		label: "Why not?", hint: "The agent is told.",
	},
	actMarkDone: {
		verdict: approvals.MarkDone, title: "Mark done", submit: "Mark done",
		label: "What came of it?", hint: "The agent reads this as the result of the call.",
	},
	actGiveUp: {
		verdict: approvals.GiveUp, title: "Give up", submit: "Give up",
		label: "What should the agent know?", hint: "The call is left as it is. The agent is told.",
	},
	actProvide: {
		verdict: approvals.ProvideResult, title: "Provide result", submit: "Provide result",
		label: "What came of it?", hint: "The agent reads this as the result of the call.",
	},
}

func formView(a action, r *approvals.Request) slack.ModalViewRequest {
	f := forms[a]
	text := slack.NewPlainTextInputBlockElement(nil, inputAction)
	text.Multiline, text.MinLength, text.MaxLength = true, 1, maxReason
	input := slack.NewInputBlock(inputBlock, plain(f.label), plain(f.hint), text)
	blocks := []slack.Block{paragraph(heading(r)...)}
	if a == actRejectReason && votesBefore(r, false).forever > 0 {
		blocks = append(blocks, paragraph(phrase{"Somebody has answered always. This answer is for this call alone, " +
			"so later calls ask again."}))
	}
	v := modal(string(a), f.title, append(blocks, input)...)
	v.Submit, v.Close = plain(f.submit), plain("Cancel")
	v.PrivateMetadata = note{Request: r.ID, Digest: r.Digest}.String()
	return v
}

// openForm opens the form that belongs to a button.
func (b *Bot) openForm(_ context.Context, c click) (answer, error) {
	return answer{then: func(ctx context.Context) {
		b.openModal(ctx, c, func(ctx context.Context) (slack.ModalViewRequest, error) {
			r, err := b.visibleRequest(ctx, c.id.workspace, c.request, c.by)
			if err != nil {
				return slack.ModalViewRequest{}, err
			}
			if words := misplaced(c, r); words != nil {
				return wordsView(words), nil
			}
			if err := b.service.MayDecide(ctx, r, c.by); err != nil {
				b.inform(ctx, r)
				err = b.explained(ctx, r, err)
				words, known := refusedDecision(err, r, c.by)
				if !known {
					return slack.ModalViewRequest{}, err
				}
				return wordsView(words), nil
			}
			v := formView(c.act, r)
			if c.private() {
				v.PrivateMetadata = note{Request: r.ID, Digest: r.Digest, Channel: c.channel()}.String()
			}
			return v, nil
		})
	}}, nil
}

// decodeForm accepts a submitted form that we know.
func (b *Bot) decodeForm(i interaction) (delivery, error) {
	if i.View == nil {
		return delivery{}, errUnreadable
	}
	f, ok := forms[action(i.View.Callback)]
	if !ok {
		return delivery{}, nil // a modal without a form
	}
	n, ok := readNote(i.View.Private)
	if !ok {
		return delivery{}, fmt.Errorf("a form without a request: %w", errUnreadable)
	}
	return delivery{
		what: "form " + i.View.Callback, key: "request " + string(n.Request), click: true,
		handle: b.checked(i.origin(), func(ctx context.Context, id identity) (answer, error) {
			return b.submitForm(ctx, i, f, approvals.Decision{
				ID:        decisionID(n.Request, approvals.NewUserID(id.workspace, i.User.ID), i.View.ID+i.View.Hash),
				Workspace: id.workspace, Request: n.Request, By: approvals.NewUserID(id.workspace, i.User.ID),
				Verdict: f.verdict, Digest: n.Digest, Via: "modal", Reason: strings.TrimSpace(typed(i.View)),
			})
		}),
	}, nil
}

func typed(v *view) string { return v.State.Values[inputBlock][inputAction].Value }

// viewAnswer is what the acknowledgement of a form carries.
type viewAnswer struct {
	Action string                  `json:"response_action"`
	Errors map[string]string       `json:"errors,omitempty"`
	View   *slack.ModalViewRequest `json:"view,omitempty"`
}

func fieldError(words string) viewAnswer {
	return viewAnswer{Action: "errors", Errors: map[string]string{inputBlock: words}}
}

func becomes(v slack.ModalViewRequest) viewAnswer { return viewAnswer{Action: "update", View: &v} }

// submitForm records the answer of a form. Success closes it; what can be mended is said at the field, what cannot
// takes the form's place.
func (b *Bot) submitForm(ctx context.Context, i interaction, f form, d approvals.Decision) (answer, error) {
	switch n := utf8.RuneCountInString(d.Reason); {
	case n == 0:
		return answer{payload: fieldError("Please write something.")}, nil
	case n > maxReason:
		tooLong := fmt.Sprintf("At most %d characters, please; these are %d.", maxReason, n)
		return answer{payload: fieldError(tooLong)}, nil
	}
	res := b.record(ctx, d, i.arrived)
	if res.late != nil {
		return answer{payload: becomes(wordsView(unconfirmed())), then: func(ctx context.Context) {
			b.follow(ctx, d, <-res.late, func(ctx context.Context, res result) {
				b.inform(ctx, res.request)
				res.err = b.explained(ctx, res.request, res.err)
				if err := b.updateView(ctx, i.View.ID, wordsView(res.words(d))); err != nil {
					b.whisper(ctx, "", "", i.User.ID, res.words(d))
				}
			})
		}}, nil
	}
	if res.err == nil {
		return b.formRecorded(i, d, res), nil
	}
	asking, cancel := context.WithDeadline(ctx, i.arrived.Add(refusalBudget))
	defer cancel()
	b.inform(asking, res.request)
	res.err = b.explained(asking, res.request, res.err)
	words, known := res.refusal(d)
	switch {
	case !known:
		b.log.Error("a form was not recorded", "request", d.Request, "error", res.err)
		return answer{payload: fieldError(unrecorded().fallback())}, nil
	case mendableByHand(res.err):
		return answer{payload: fieldError(words.fallback())}, nil
	}
	return answer{payload: becomes(wordsView(words))}, nil
}

// formRecorded closes a form whose answer was recorded, and says so where no card does: the form was opened from a
// list.
func (b *Bot) formRecorded(i interaction, d approvals.Decision, res result) answer {
	n, _ := readNote(i.View.Private)
	if !channelID.MatchString(n.Channel) {
		return answer{}
	}
	return answer{then: func(ctx context.Context) {
		b.inform(ctx, res.request)
		b.whisper(ctx, n.Channel, "", i.User.ID, append(res.words(d), " ", code(string(d.Request))))
	}}
}
