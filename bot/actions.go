package bot

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// decideBudget is how long a person's click waits for the commit before they are told that it takes longer;
// decideLimit is when we stop waiting ourselves.
const (
	decideBudget = 2 * time.Second
	decideLimit  = 15 * time.Second
)

// click is a button that somebody pressed.
type click struct {
	interaction
	act     action
	request approvals.RequestID
	press   pressed
	option  int // the number of the option of a question
	id      identity
	by      approvals.UserID
}

// fromMenu reports whether the action was chosen in the menu. What has asked back there where it was a button has not.
func (c click) fromMenu() bool { return c.press.ActionID == string(actMore) }

// decodeInteraction reads clicks, forms and shortcuts. Anything else is nothing to do.
func (b *Bot) decodeInteraction(payload json.RawMessage) (delivery, error) {
	i, err := readInteraction(payload)
	if err != nil {
		return delivery{}, err
	}
	i.arrived = time.Now()
	if !isUserID(i.User.ID) {
		return delivery{}, fmt.Errorf("an interaction of nobody: %w", errUnreadable)
	}
	switch i.Type {
	case "block_actions":
		return b.decodeClick(i)
	case "view_submission":
		return b.decodeForm(i)
	case "shortcut":
		if i.CallbackID == shortcutPending {
			return b.shortcutDelivery(i), nil
		}
	}
	return delivery{}, nil
}

// decodeClick accepts exactly one button that we know, with the id of a request.
func (b *Bot) decodeClick(i interaction) (delivery, error) {
	if len(i.Actions) != 1 {
		return delivery{}, fmt.Errorf("a click on %d elements: %w", len(i.Actions), errUnreadable)
	}
	c := click{interaction: i, press: i.Actions[0]}
	act, request, option := actionOf(c.press)
	c.act, c.option = act, option
	handle, ok := handlers[c.act]
	if !ok {
		return delivery{}, fmt.Errorf("a click on an unknown button: %w", errUnreadable)
	}
	key := "click of " + i.User.ID
	if !c.act.ofLists() {
		if c.request, ok = parseRequestID(request); !ok {
			return delivery{}, fmt.Errorf("a click on a button without a request: %w", errUnreadable)
		}
		key = "request " + string(c.request)
	}
	return delivery{
		what: "click " + string(c.act), key: key, click: true,
		handle: b.checked(i.origin(), func(ctx context.Context, id identity) (answer, error) {
			c.id, c.by = id, approvals.NewUserID(id.workspace, i.User.ID)
			return handle(b, ctx, c)
		}),
	}, nil
}

// handlers is the list of buttons that exist.
var handlers = map[action]func(*Bot, context.Context, click) (answer, error){
	actApprove: (*Bot).decide, actReject: (*Bot).decide, actRetry: (*Bot).decide, actOption: (*Bot).decide,
	actAlwaysYes: (*Bot).always, actAlwaysNo: (*Bot).always,
	actRejectReason: (*Bot).openForm, actMarkDone: (*Bot).openForm, actGiveUp: (*Bot).openForm,
	actProvide: (*Bot).openForm, actComment: (*Bot).openForm, actAskBack: (*Bot).openForm, actEdit: (*Bot).openForm,
	actInput: (*Bot).openForm, actAnswerBack: (*Bot).openAnswerBack,
	actApproveAll: (*Bot).openBatch, actRejectAll: (*Bot).openBatch, actCallback: (*Bot).showCallback,
	actDetails: (*Bot).openDetails, actDetailsNext: (*Bot).turnPage, actDetailsPrev: (*Bot).turnPage,
	actReveal:    (*Bot).openRevealed,
	actCancelRun: (*Bot).cancelRun, actRevokeGrant: (*Bot).pressRevoke,
	actListNext: (*Bot).turnList, actListFirst: (*Bot).turnList, actListOpen: (*Bot).openList,
}

// always opens the form for a standing answer. The button of earlier versions has asked back itself, and answers for
// the rest of the run at once.
func (b *Bot) always(ctx context.Context, c click) (answer, error) {
	if c.fromMenu() {
		return b.openForm(ctx, c)
	}
	return b.decide(ctx, c)
}

// decide records the answer of a button.
func (b *Bot) decide(ctx context.Context, c click) (answer, error) {
	r, seen, err := b.clicked(ctx, c)
	if errors.Is(err, approvals.ErrNotFound) {
		return b.reply(c, wordsUnknownRequest()), nil
	}
	if err != nil {
		return b.reply(c, wordsUnrecorded()), err
	}
	if refusal := misplaced(c, r); refusal != nil {
		return answer{then: func(ctx context.Context) {
			b.tell(ctx, c, refusal)
			b.retire(ctx, c, r)
		}}, nil
	}
	if c.act.runsCall() && !shownWhole(c, r) {
		return b.reply(c, wordsReadToTheEnd()), nil
	}
	if c.act == actApprove && careful(r) && !c.inDetails() { // whose window shows the call once more
		return b.openForm(ctx, c)
	}
	d := approvals.Decision{
		ID: decisionID(c.request, c.by, c.moment()), Workspace: c.id.workspace, Request: c.request, By: c.by,
		Verdict: verdicts[c.act], Digest: c.shown(r), Via: c.via(),
	}
	if c.act == actOption {
		var ok bool
		if d.Answers, ok = optionChosen(r, c.option); !ok {
			return b.reply(c, wordsNoSuchOption()), nil
		}
	}
	res := b.record(ctx, seen, d, c.arrived)
	if res.late != nil {
		return answer{then: func(ctx context.Context) {
			b.tell(ctx, c, wordsUnconfirmed())
			b.follow(ctx, d, <-res.late, func(ctx context.Context, res result) {
				b.inform(ctx, res.request)
				res.err = b.explained(ctx, res.request, res.err)
				if c.private() {
					b.answerInList(ctx, c, d, res)
				} else {
					b.tell(ctx, c, res.words(d))
				}
			})
		}}, nil
	}
	return b.conclude(c, d, res)
}

// clicked reads the request of a button, and returns it also as it is recorded. What Request adds for readers matters
// here only where the whole card does: whether that showed all of a long call. A store that does not answer is told to
// the person in time.
func (b *Bot) clicked(ctx context.Context, c click) (r, recorded *approvals.Request, err error) {
	ctx, cancel := context.WithDeadline(ctx, c.arrived.Add(decideBudget))
	defer cancel()
	recorded, err = b.service.Recorded(ctx, c.id.workspace, c.request)
	if err != nil || surelyWhole(recorded) {
		return recorded, recorded, err
	}
	r, err = b.service.Request(ctx, c.id.workspace, c.request)
	return r, recorded, err
}

// conclude turns a result into an acknowledgement and words. A click without a result is not acknowledged.
func (b *Bot) conclude(c click, d approvals.Decision, res result) (answer, error) {
	if _, known := res.refusal(d); res.err != nil && !known {
		return b.reply(c, unrecorded(res.err)), fmt.Errorf("decide: %w", res.err)
	}
	if res.err == nil && c.onCard() && !policyChanged(res.request) {
		return answer{}, nil // the card itself tells
	}
	return answer{then: func(ctx context.Context) {
		b.inform(ctx, res.request)
		res.err = b.explained(ctx, res.request, res.err)
		if c.private() {
			b.answerInList(ctx, c, d, res)
			return
		}
		if res.err != nil || !c.onCard() || policyChanged(res.request) { // else the card itself tells
			b.tell(ctx, c, res.words(d))
		}
		if res.err != nil {
			b.refresh(ctx, c, res)
		}
	}}, nil
}

// result is what the service made of a decision. late is set instead when it has not answered in time.
type result struct {
	request *approvals.Request
	err     error
	late    <-chan result
}

// record calls the service, which is told what was read as recorded, and waits until decideBudget has passed since the
// click arrived: it may have waited behind other clicks on the same request.
func (b *Bot) record(
	ctx context.Context, seen *approvals.Request, d approvals.Decision, arrived time.Time,
) result {
	done := make(chan result, 1)
	b.work.aside(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(approvals.ArrivedAt(ctx, arrived), decideLimit)
		defer cancel()
		r, err := b.service.DecideOn(ctx, seen, d)
		done <- b.settle(ctx, d, r, err)
	}, func() { done <- result{err: errPanicked} })
	timer := time.NewTimer(time.Until(arrived.Add(decideBudget)))
	defer timer.Stop()
	select {
	case res := <-done:
		return res
	case <-timer.C:
		return result{late: done}
	}
}

// settle finds out what an unclear error means by reading the request again: when it holds the decision, it was
// recorded after all.
func (b *Bot) settle(ctx context.Context, d approvals.Decision, r *approvals.Request, err error) result {
	if _, known := refusedDecision(err, r, d.By); err == nil || known {
		return result{request: r, err: err}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decideBudget)
	defer cancel()
	again, readErr := b.service.Request(ctx, d.Workspace, d.Request)
	if readErr != nil {
		return result{err: errors.Join(err, readErr)}
	}
	for _, have := range again.Decisions {
		if have.ID == d.ID {
			return result{request: again}
		}
	}
	return result{request: again, err: err}
}

// follow tells how a late decision went.
func (b *Bot) follow(ctx context.Context, d approvals.Decision, res result, tell func(context.Context, result)) {
	if res.err != nil {
		b.log.Error("a late decision was not recorded", "request", d.Request, "error", res.err)
	}
	tell(ctx, res)
}

// refusal returns the words for an error with a known meaning.
func (res result) refusal(d approvals.Decision) (phrase, bool) {
	return refusedDecision(res.err, res.request, d.By)
}

// words says how a decision went.
func (res result) words(d approvals.Decision) phrase {
	if res.err != nil {
		if p, known := res.refusal(d); known {
			return p
		}
		return unrecorded(res.err)
	}
	p := wordsRecorded(wordsVerdict(d.Verdict))
	if r := res.request; r != nil && r.Status == approvals.RequestPending {
		p = append(p, wordsOthersToAnswer)
		if policyChanged(r) {
			p = append(append(p, " "), joined(whoAnswers(r)[1:])...)
		}
		if still := stillNeeded(r); still != nil && d.Verdict.Affirms() {
			p = append(append(append(p, " "), still...), ".")
		}
	}
	return p
}

// refresh brings a card up to date whose reader pressed a button that it should not show any more.
func (b *Bot) refresh(ctx context.Context, c click, res result) {
	r := res.request
	if r == nil || c.View != nil || c.Container.Ephemeral || !isMessageTS(c.Container.Message) {
		return
	}
	if !errors.Is(res.err, approvals.ErrStale) && r.Status == approvals.RequestPending && !policyChanged(r) {
		return
	}
	at := approvals.Card{Channel: c.channel(), Message: c.Container.Message}
	if err := b.showNow(ctx, at, r); err != nil {
		b.log.Warn("a card could not be brought up to date", "request", r.ID, "error", err)
	}
}

// showTries is how often a card is changed at most by showNow.
const showTries = 5

// showNow has a message show the request as it stands. The outbox changes the same message whenever the request
// changes, and may do so while this is on its way: so it is read afterwards whether what was shown still holds.
func (b *Bot) showNow(ctx context.Context, at approvals.Card, r *approvals.Request) error {
	for range showTries {
		now, err := b.service.Request(ctx, r.Workspace, r.ID)
		if err != nil {
			return err
		}
		b.inform(ctx, now)
		shown := b.update(ctx, at, b.cardAt(ctx, now, at.Channel, at.Message), now)
		if shown != nil && !uncertain(shown) {
			return shown // it was not changed
		}
		switch after, err := b.service.Recorded(ctx, r.Workspace, r.ID); {
		case err != nil:
			return errors.Join(shown, err)
		case after.Version == now.Version:
			return shown
		}
	}
	return errors.New("it changes too often")
}

// misplaced refuses a click on a message that is not one of the request's cards: a copy, or one of another
// conversation. A card whose place is not recorded yet is accepted when the message itself says that it is one; see
// surelyOurs.
func misplaced(c click, r *approvals.Request) phrase {
	if c.View != nil || c.Container.Ephemeral {
		return nil
	}
	for _, at := range r.Cards {
		if at.Channel == c.channel() && at.Message == c.Container.Message {
			return nil
		}
	}
	there := func(at approvals.Card) bool { return at.Copy == "" }
	unrecorded := !slices.ContainsFunc(r.Cards, there)
	if unrecorded && c.surelyOurs(r) || c.onUnrecordedCopy(r) {
		return nil
	}
	if unrecorded { // the card may be the one whose place is not recorded yet
		return wordsCardUnsure(r.ID)
	}
	return wordsCardIsCopy(r.ID)
}

// retire takes the buttons away from a second card of the same request, which an interrupted post can leave behind. One
// of which the place is not recorded yet may be the first.
func (b *Bot) retire(ctx context.Context, c click, r *approvals.Request) {
	if len(r.Cards) == 0 || c.channel() != r.Place.Channel || !isMessageTS(c.Container.Message) {
		return
	}
	words := append(phrase{wordsRetired}, b.leadingTo(ctx, r)...)
	at := approvals.Card{Channel: c.channel(), Message: c.Container.Message}
	if err := b.update(ctx, at, card{text: words, blocks: paragraphs(words)}, r); err != nil && !gone(err) {
		b.log.Warn("a copy of a card could not be retired", "request", r.ID, "error", err)
	}
}

// shownWhole reports whether the person was shown the complete call where they pressed the button.
func shownWhole(c click, r *approvals.Request) bool {
	switch {
	case c.View == nil:
		return showsWhole(r)
	case c.View.Type == "home" || c.View.Callback == viewList:
		return brief(r)
	case c.View.Callback == viewDetails:
		n, ok := readNote(c.View.Private)
		return ok && n.Request == r.ID && n.Page == len(newCallText(n.shows(r)).pages())-1
	}
	return false
}

// shown returns the digest of what the person was shown: of the block that holds the button, of the modal, of the
// message's metadata. A card that carries none of them showed what is stored.
func (c click) shown(r *approvals.Request) agent.Digest {
	if d, ok := shownDigest(c.press.BlockID); ok {
		return d
	}
	if c.View != nil {
		if n, ok := readNote(c.View.Private); ok {
			return n.Digest
		}
	}
	if meta := c.Message.Metadata; meta.EventType == cardEvent {
		hexed, _ := meta.EventPayload["digest"].(string)
		d, _ := parseDigest(hexed) // unreadable: compared as zero, and found stale
		return d
	}
	return r.Digest
}

// inDetails reports whether the button stands in the window that shows the call in detail.
func (c click) inDetails() bool { return c.View != nil && c.View.Callback == viewDetails }

// private reports whether the button stands in a message that only the person sees: a list, or a card of "show".
func (c click) private() bool { return c.View == nil && c.Container.Ephemeral }

// onCard reports whether the button stands in a message that everybody in the conversation sees.
func (c click) onCard() bool { return c.View == nil && !c.Container.Ephemeral }

func (c click) via() string {
	switch {
	case c.View == nil:
		return "button"
	case c.View.Type == "home":
		return "home"
	}
	return "modal"
}

func (c click) channel() string {
	if c.Container.Channel != "" {
		return c.Container.Channel
	}
	return c.Channel.ID
}

func (c click) thread() string {
	if c.Container.Thread != "" {
		return c.Container.Thread
	}
	return c.Message.ThreadTS
}

// moment tells two clicks of a person apart.
func (c click) moment() string {
	if c.press.ActionTS != "" {
		return c.press.ActionTS
	}
	return c.Trigger
}

var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// decisionID names one press of a button by one person, the same however often it is delivered.
func decisionID(request approvals.RequestID, by approvals.UserID, moment string) approvals.DecisionID {
	var named []byte
	for _, part := range []string{"countersign.decision/1", string(request), string(by), moment} {
		named = append(append(strconv.AppendInt(named, int64(len(part)), 10), ':'), part...)
	}
	sum := sha256.Sum256(named)
	return approvals.DecisionID("dec_" + idEncoding.EncodeToString(sum[:16]))
}

// reply tells the person something once their click is acknowledged.
func (b *Bot) reply(c click, p phrase) answer {
	return answer{then: func(ctx context.Context) { b.tell(ctx, c, p) }}
}

// tell shows words where the person clicked: in the modal, else only to them in the conversation.
func (b *Bot) tell(ctx context.Context, c click, p phrase) {
	var err error
	switch {
	case c.View != nil && c.View.Type == "modal":
		if err = b.updateView(ctx, c.View.ID, wordsView(p)); err == nil {
			b.refreshList(ctx, c.View, c.by)
			return
		}
	case c.View != nil:
		if err = b.sayAtHome(ctx, c, p); err == nil {
			return
		}
	default:
		if err = b.ephemeral(ctx, c.channel(), c.thread(), c.User.ID, p, paragraphs(p)); err == nil {
			return
		}
		if err = b.hooks.send(ctx, c.ResponseURL, hookMessage{Text: p.fallback(), Blocks: paragraphs(p)}); err == nil {
			return
		}
	}
	if direct := b.direct(ctx, c.User.ID, p); direct != nil {
		b.log.Warn("could not tell a person", "user", c.User.ID, "error", errors.Join(err, direct))
	}
}
