package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// refusalBudget is how long after a form arrived it may still be found out why its answer was refused: Slack waits
// three seconds for the words.
const refusalBudget = 2500 * time.Millisecond

// form is a window that a button opens. It shows the request that it is about and asks for what goes with the answer.
// What a person typed stays in it until it is recorded, or can never be.
type form struct {
	title, submit string
	close         string // empty: Cancel
	// whole says that the answer may make the call run: whoever gives it was shown all of it.
	whole bool
	// ask returns what stands below the call: words and inputs. refuse is said instead where the form does not apply.
	ask func(r *approvals.Request) (blocks []slack.Block, refuse phrase)
	// read makes a decision of what was typed, or says what is wrong with it, by the input's block id. It fills in
	// the verdict and what goes with it.
	read func(r *approvals.Request, v values) (approvals.Decision, map[string]string)
	// at names the input that a refusal is about, by its block id; nil, or empty: the first one.
	at func(r *approvals.Request, refused *approvals.Refusal) string
	// do takes the place of read where submitting the form is no decision about one request.
	do func(b *Bot, ctx context.Context, s submitted) done
	// shows is the request as the form shows it, without what its inputs show; nil: all of it.
	shows func(r *approvals.Request) *approvals.Request
	// open takes the place of MayDecide: it says whether to show the form to the person.
	open func(b *Bot, ctx context.Context, r *approvals.Request, by approvals.UserID) error
}

// formOf returns the form that the action opens.
func formOf(a action) (form, bool) {
	f, ok := map[action]func() form{
		actApprove: approveForm, actComment: commentForm, actRejectReason: rejectForm,
		actAlwaysYes: func() form { return alwaysForm(true) }, actAlwaysNo: func() form { return alwaysForm(false) },
		actMarkDone: markDoneForm, actGiveUp: giveUpForm, actProvide: resultForm,
		actEdit: editForm, actInput: inputForm, actCancelRun: cancelForm, actAskBack: askBackForm,
		actAnswerBack: answerBackForm,
	}[a]
	if !ok {
		return form{}, false
	}
	return f(), true
}

// values are what somebody put into the inputs of a form, by block id. Each block has one input.
type values map[string]entered

// valuesOf reads what a submitted form holds.
func valuesOf(v *view) values {
	out := values{}
	for block, inputs := range v.State.Values {
		for _, e := range inputs {
			out[block] = e
		}
	}
	return out
}

// text is what somebody wrote into an input, without the white space around it.
func (v values) text(block string) string { return strings.TrimSpace(v[block].Value) }

// chosen is the value of the option that somebody chose, or empty.
func (v values) chosen(block string) string { return v[block].Option.Value }

// formBlocks shows a request above what a form asks for.
func formBlocks(r *approvals.Request, asked []slack.Block) (blocks []slack.Block, whole bool) {
	shown, whole := wholeCall(r)
	blocks = append(append(blocks, paragraph(leadIn(r)...)), questionBlocks(r)...)
	blocks = append(append(blocks, shown...), smallPrint(fineprint(r, whole)))
	return append(blocks, asked...), whole
}

// The bounds of a call in a form; a view holds 100 blocks and 250 KB.
const (
	formCallBlocks = 50
	formCallBytes  = 120_000
)

// wholeCall shows the call as far as there is room in a form, and reports whether that is all of it.
func wholeCall(r *approvals.Request) (blocks []slack.Block, whole bool) {
	for _, x := range []extent{full, bare} {
		blocks, _ = shownCall(r, x)
		raw, err := encodeBlocks(blocks)
		if err == nil && len(blocks) <= formCallBlocks && len(raw) <= formCallBytes {
			return blocks, true
		}
	}
	return newCallText(r).blocks(openingOnly), false
}

// shownCall shows the call as a card does, where something else stands around it. A question is shown by
// questionBlocks.
func shownCall(r *approvals.Request, x extent) (blocks []slack.Block, complete bool) {
	if lines := about(r, x); len(lines) > 0 {
		blocks = append(blocks, paragraph(lines...))
	}
	if r.Question() != nil {
		return blocks, true
	}
	call, complete := newCardCall(r).blocks(x)
	blocks = append(blocks, call...)
	if note := secretNote(r); note != nil {
		blocks = append(blocks, paragraph(note))
	}
	return blocks, complete
}

// formView renders the form that an action opens; see formAs for the words that may take its place.
func formView(a action, r *approvals.Request) slack.ModalViewRequest {
	v, _, _ := formAs(a, r)
	return v
}

// formAs renders the form, and reports whether it shows the whole call. refuse is said instead of it where it does not
// apply.
func formAs(a action, r *approvals.Request) (v slack.ModalViewRequest, whole bool, refuse phrase) {
	f, _ := formOf(a)
	asked, refuse := f.ask(r)
	if refuse != nil {
		return v, false, refuse
	}
	shown := r
	if f.shows != nil {
		shown = f.shows(r)
	}
	blocks, whole := formBlocks(shown, asked)
	if r.IsQuestion() && a == actInput {
		f.title = wordsAnswer
	}
	v = modal(string(a), f.title, blocks...)
	v.Submit, v.Close = plain(f.submit), plain(wordsCancel)
	if f.close != "" {
		v.Close = plain(f.close)
	}
	v.PrivateMetadata = note{Request: r.ID, Digest: r.Digest}.String()
	return v, whole, nil
}

// openForm opens the form that belongs to an action.
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
			return b.formFor(ctx, c, r)
		})
	}}, nil
}

// formFor renders the form for the person who pressed the button, or says why they get none.
func (b *Bot) formFor(ctx context.Context, c click, r *approvals.Request) (slack.ModalViewRequest, error) {
	f, _ := formOf(c.act)
	may := (*Bot).mayDecide
	if f.open != nil {
		may = f.open
	}
	err := may(b, ctx, r, c.by)
	b.inform(ctx, r)
	if err != nil {
		err = b.explained(ctx, r, err)
		words, known := refusedDecision(err, r, c.by)
		if !known {
			return slack.ModalViewRequest{}, err
		}
		return wordsView(words), nil
	}
	v, whole, refuse := formAs(c.act, r)
	switch {
	case refuse != nil:
		return wordsView(refuse), nil
	case f.whole && r.RevealFirst():
		return wordsView(secretNote(r)), nil
	case f.whole && !whole && !shownWhole(c, r):
		return detailsView(r, 0, b.rights(ctx, r, c.by)), nil // approving is offered at its end
	}
	n := note{Request: r.ID, Digest: r.Digest, Home: c.View != nil && c.View.Type == "home"}
	if c.private() {
		n.Channel = c.channel()
	}
	v.PrivateMetadata = n.String()
	return v, nil
}

func (b *Bot) mayDecide(ctx context.Context, r *approvals.Request, by approvals.UserID) error {
	return b.service.MayDecide(ctx, r, by)
}

// submitted is a form that somebody sent.
type submitted struct {
	interaction
	form   form
	act    action
	note   note
	id     identity
	by     approvals.UserID
	values values
}

// decisionID names this submission, the same however often it is delivered.
func (s *submitted) decisionID() approvals.DecisionID {
	return decisionID(s.note.Request, s.by, s.View.ID+s.View.Hash)
}

// decodeForm accepts a submitted form that we know.
func (b *Bot) decodeForm(i interaction) (delivery, error) {
	if i.View == nil {
		return delivery{}, errUnreadable
	}
	s := submitted{interaction: i, act: action(i.View.Callback), values: valuesOf(i.View)}
	var ok bool
	if all := batchForms[s.act]; all != nil {
		return b.decodeBatch(s)
	}
	if s.form, ok = formOf(s.act); !ok {
		return delivery{}, nil // a modal without a form
	}
	if s.note, ok = readNote(i.View.Private); !ok {
		return delivery{}, fmt.Errorf("a form without a request: %w", errUnreadable)
	}
	return delivery{
		what: "form " + i.View.Callback, key: "request " + string(s.note.Request), click: true,
		handle: b.checked(i.origin(), func(ctx context.Context, id identity) (answer, error) {
			s.id, s.by = id, approvals.NewUserID(id.workspace, i.User.ID)
			return b.submitForm(ctx, s)
		}),
	}, nil
}

// viewAnswer is what the acknowledgement of a form carries.
type viewAnswer struct {
	Action string                  `json:"response_action"`
	Errors map[string]string       `json:"errors,omitempty"`
	View   *slack.ModalViewRequest `json:"view,omitempty"`
}

func becomes(v slack.ModalViewRequest) viewAnswer { return viewAnswer{Action: "update", View: &v} }

// wrong says at the inputs what is wrong with them; the form stays as the person filled it in.
func wrong(at map[string]string) answer {
	short := make(map[string]string, len(at))
	for block, words := range at {
		short[block] = label(words, 300)
	}
	return answer{payload: viewAnswer{Action: "errors", Errors: short}}
}

// submitForm records the answer of a form. Success closes it; what can be mended is said at the field, what cannot
// takes the form's place.
func (b *Bot) submitForm(ctx context.Context, s submitted) (answer, error) {
	if s.form.do != nil {
		return b.doForm(ctx, s), nil
	}
	reading, cancel := context.WithDeadline(ctx, s.arrived.Add(decideBudget))
	r, err := b.service.Recorded(reading, s.id.workspace, s.note.Request)
	cancel()
	if err != nil {
		words, known := refusedDecision(err, nil, s.by)
		if !known {
			b.log.Error("a form was not recorded", "request", s.note.Request, "error", err)
			words = wordsUnrecorded()
		}
		return b.formRefused(s, nil, err, words, !known), nil
	}
	d, bad := s.form.read(r, s.values)
	if bad != nil {
		return wrong(bad), nil
	}
	d.ID, d.Workspace, d.Request, d.By = s.decisionID(), s.id.workspace, s.note.Request, s.by
	d.Digest, d.Via = s.note.Digest, "modal"
	return b.decideByForm(ctx, s, r, d), nil
}

// decideByForm has the service record what a form says.
func (b *Bot) decideByForm(ctx context.Context, s submitted, r *approvals.Request, d approvals.Decision) answer {
	res := b.record(ctx, r, d, s.arrived)
	if res.late != nil {
		return s.answeredLater(wordsView(wordsUnconfirmed()), func(ctx context.Context, at answeredView) {
			b.follow(ctx, d, <-res.late, func(ctx context.Context, res result) { b.formLate(ctx, s, at, r, d, res) })
		})
	}
	if res.err == nil {
		return b.formRecorded(s, d, res)
	}
	asking, cancel := context.WithDeadline(ctx, s.arrived.Add(refusalBudget))
	defer cancel()
	b.inform(asking, res.request)
	res.err = b.explained(asking, res.request, res.err)
	words, known := res.refusal(d)
	if !known {
		b.log.Error("a form was not recorded", "request", d.Request, "error", res.err)
		words = unrecorded(res.err)
	}
	return b.formRefused(s, r, res.err, words, !known || mendableByHand(res.err))
}

// formRefused says why a form was not recorded: at its input when sending it again may help, else in its place.
func (b *Bot) formRefused(s submitted, r *approvals.Request, err error, words phrase, mendable bool) answer {
	text := words.unmarked()
	if block := s.input(r, refusalIn(err)); mendable && block != "" {
		return wrong(map[string]string{block: text})
	}
	return answer{payload: becomes(wordsView(words))}
}

// input is the block that a refusal is said at: the one it is about, else the first; empty for a form without any.
func (s *submitted) input(r *approvals.Request, refused *approvals.Refusal) string {
	if r == nil {
		for block := range s.values {
			return block
		}
		return ""
	}
	if s.form.at != nil {
		if block := s.form.at(r, refused); block != "" {
			return block
		}
	}
	asked, _ := s.form.ask(r)
	for _, block := range asked {
		if input, ok := block.(*slack.InputBlock); ok {
			return input.BlockID
		}
	}
	return ""
}

// formLate says how a form went that took longer than Slack waits. What was typed comes back with the words when it was
// not recorded and can be sent again.
func (b *Bot) formLate(
	ctx context.Context, s submitted, at answeredView, r *approvals.Request, d approvals.Decision, res result,
) {
	b.inform(ctx, res.request)
	res.err = b.explained(ctx, res.request, res.err)
	words := res.words(d)
	show := wordsView(words)
	if _, known := res.refusal(d); res.err != nil && (!known || mendableByHand(res.err)) {
		if v, _, refuse := formAs(s.act, r); refuse == nil {
			v.PrivateMetadata = s.View.Private
			v.Blocks.BlockSet = append([]slack.Block{paragraph(words)}, refilled(v.Blocks.BlockSet, s.values)...)
			show = v
		}
	}
	if err := b.updateAnswered(ctx, at, show); err != nil {
		b.whisper(ctx, "", "", s.User.ID, words)
	}
	b.refreshBelow(ctx, s)
}

// refreshBelow brings up to date what the form was opened from: the home tab, or a list.
func (b *Bot) refreshBelow(ctx context.Context, s submitted) {
	if s.note.Home {
		_ = b.showAtHome(ctx, s.by) // which has logged what went wrong
	}
	b.refreshList(ctx, s.View, s.by)
}

// formRecorded closes a form whose answer was recorded, and says so where no card does: the form was opened from a
// list.
func (b *Bot) formRecorded(s submitted, d approvals.Decision, res result) answer {
	switch {
	case s.note.Home, s.note.List != "":
		return answer{then: func(ctx context.Context) { b.refreshBelow(ctx, s) }}
	case !isChannelID(s.note.Channel):
		return answer{}
	}
	return answer{then: func(ctx context.Context) {
		b.inform(ctx, res.request)
		b.whisper(ctx, s.note.Channel, "", s.User.ID, append(res.words(d), " ", code(string(d.Request))))
	}}
}

// mayCancel says whether to offer somebody the form that cancels the run of a request.
func (b *Bot) mayCancel(ctx context.Context, r *approvals.Request, by approvals.UserID) error {
	if by == r.Requester {
		return nil
	}
	err := b.service.MayDecide(ctx, r, by)
	if errors.Is(err, approvals.ErrConflict) { // an answer to the request, which says nothing about the run
		return nil
	}
	return err
}
