package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
)

const (
	mostTogether = 20 // calls that one window answers together
	mostLeft     = 20 // calls that it names without answering them
)

// batchForm answers all waiting calls of a run together.
type batchForm struct {
	verdict       approvals.Verdict
	title, submit string
	lead          string
}

var batchForms = map[action]*batchForm{
	actApproveAll: {approvals.Approve, wordsApproveTogether, wordsApprove, wordsTheseApproved},
	actRejectAll:  {approvals.Reject, wordsRejectTogether, wordsReject, wordsTheseRejected},
}

// batchNote is what such a window remembers: which calls it shows.
type batchNote struct {
	Items []approvals.BatchItem `json:"items"`
}

// batchCall is a call that a window answers together with others, or why it does not.
type batchCall struct {
	request *approvals.Request
	blocks  []slack.Block
	why     phrase // nil: it is answered
}

// openBatch shows the calls of the run that the person may answer together.
func (b *Bot) openBatch(_ context.Context, c click) (answer, error) {
	return answer{then: func(ctx context.Context) {
		b.openModal(ctx, c, func(ctx context.Context) (slack.ModalViewRequest, error) {
			r, err := b.visibleRequest(ctx, c.id.workspace, c.request, c.by)
			if err != nil {
				return slack.ModalViewRequest{}, err
			}
			if words := misplaced(c, r); words != nil {
				return wordsView(words), nil
			}
			calls, err := b.batchCalls(ctx, c, r)
			if err != nil {
				return slack.ModalViewRequest{}, err
			}
			return batchView(c.act, calls), nil
		})
	}}, nil
}

// batchCalls reads the calls that wait beside r, and judges each.
func (b *Bot) batchCalls(ctx context.Context, c click, r *approvals.Request) ([]batchCall, error) {
	var calls []batchCall
	used, answered := 0, 0
	all, err := b.service.Requests(ctx, c.id.workspace, append([]approvals.RequestID{r.ID}, r.Beside...))
	if err == nil && len(all) <= len(r.Beside) {
		err = approvals.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		call := batchCall{request: o}
		b.inform(ctx, o)
		shown, whole := wholeCall(o)
		raw, err := encodeBlocks(shown)
		switch may := b.service.MayDecide(ctx, o, c.by); {
		case may != nil:
			words, known := refusedDecision(b.explained(ctx, o, may), o, c.by)
			if !known {
				return nil, may
			}
			call.why = words
		case o.Kind != agent.Confirm || careful(o):
			call.why = phrase{wordsAnsweredByItself}
		case err != nil || !whole || len(raw) > formCallBytes || len(shown) > 8:
			call.why = phrase{wordsTooLongHere}
		case used+len(raw) > formCallBytes || answered == mostTogether:
			call.why = phrase{wordsNoRoomHere}
		default:
			call.blocks = shown
			used, answered = used+len(raw), answered+1
		}
		calls = append(calls, call)
	}
	return calls, nil
}

// batchView shows the calls that are answered together, whole, and below them those that are not.
func batchView(a action, calls []batchCall) slack.ModalViewRequest {
	f := batchForms[a]
	var n batchNote
	blocks := []slack.Block{paragraph(phrase{f.lead})}
	var left []phrase
	for _, call := range calls {
		r := call.request
		room := len(blocks)+len(call.blocks)+3 <= 85
		if call.why == nil && room {
			n.Items = append(n.Items, approvals.BatchItem{Request: r.ID, Digest: r.Digest})
			number := fmt.Sprintf("%d. ", len(n.Items))
			blocks = append(append(blocks, paragraph(phrase{strong(number + headline(r))})), call.blocks...)
			blocks = append(blocks, smallPrint(fineprint(r, true)))
			continue
		}
		if call.why == nil {
			call.why = phrase{wordsNoRoomHere}
		}
		line := phrase{strong(headline(r)), " ", code(string(r.ID)), ": "}
		left = append(left, append(line, call.why...).joined())
	}
	if len(n.Items) == 0 {
		return wordsView(append(phrase{wordsNoneHere}, joined(left)...))
	}
	if left != nil {
		if more := len(left) - mostLeft; more > 0 {
			left = append(left[:mostLeft], phrase{wordsMore(more)})
		}
		blocks = append(blocks, slack.NewDividerBlock(),
			paragraph(append([]phrase{{strong(wordsNotAnswered)}}, left...)...))
	}
	if f.verdict == approvals.Reject {
		own := reasonInput(wordsWhyNot, wordsAgentIsTold)
		own.Optional = true
		own.Element.(*slack.PlainTextInputBlockElement).MinLength = 0
		blocks = append(blocks, own)
	}
	v := modal(string(a), f.title, blocks...)
	v.Submit, v.Close = plain(fmt.Sprintf("%s %d", f.submit, len(n.Items))), plain(wordsCancel)
	raw, err := json.Marshal(n)
	if err != nil {
		panic(fmt.Sprintf("encode note: %v", err)) // strings
	}
	v.PrivateMetadata = string(raw)
	return v
}

// decodeBatch accepts such a form.
func (b *Bot) decodeBatch(s submitted) (delivery, error) {
	var n batchNote
	if json.Unmarshal([]byte(s.View.Private), &n) != nil || len(n.Items) == 0 || len(n.Items) > mostTogether {
		return delivery{}, fmt.Errorf("a form without requests: %w", errUnreadable)
	}
	for _, item := range n.Items {
		if _, ok := parseRequestID(string(item.Request)); !ok {
			return delivery{}, fmt.Errorf("a form without a request: %w", errUnreadable)
		}
	}
	s.note.Request = n.Items[0].Request
	return delivery{
		what: "form " + s.View.Callback, key: "request " + string(s.note.Request), click: true,
		handle: b.checked(s.origin(), func(ctx context.Context, id identity) (answer, error) {
			s.id, s.by = id, approvals.NewUserID(id.workspace, s.User.ID)
			return b.submitBatch(ctx, s, n), nil
		}),
	}, nil
}

// submitBatch records the answers and says of each call what happened.
func (b *Bot) submitBatch(ctx context.Context, s submitted, n batchNote) answer {
	batch := approvals.Batch{
		ID: s.decisionID(), Workspace: s.id.workspace, By: s.by, Verdict: batchForms[s.act].verdict,
		Reason: s.values.text(inputBlock), Via: "modal", Requests: n.Items,
	}
	if words := tooLong(batch.Reason, maxReason); words != "" {
		return wrong(map[string]string{inputBlock: words})
	}
	done := make(chan slack.ModalViewRequest, 1)
	b.work.aside(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(approvals.ArrivedAt(ctx, s.arrived), decideLimit)
		defer cancel()
		answers, err := b.service.DecideAll(ctx, batch)
		done <- b.batchResult(ctx, s, answers, err)
	}, func() { done <- wordsView(unrecorded(errPanicked)) })
	timer := time.NewTimer(time.Until(s.arrived.Add(decideBudget)))
	defer timer.Stop()
	select {
	case v := <-done:
		if a := becomes(v); fitsAck(a) {
			return answer{payload: a}
		}
		return b.fillLater(s, wordsView(phrase{wordsOneMoment}), func() slack.ModalViewRequest { return v })
	case <-timer.C:
	}
	return b.fillLater(s, wordsView(wordsUnconfirmed()), func() slack.ModalViewRequest { return <-done })
}

// fillLater has the window show something first, and what came of the answers once the form is acknowledged.
func (b *Bot) fillLater(s submitted, first slack.ModalViewRequest, then func() slack.ModalViewRequest) answer {
	return s.answeredLater(first, func(ctx context.Context, at answeredView) {
		if err := b.updateAnswered(ctx, at, then()); err != nil {
			b.whisper(ctx, "", "", s.User.ID, phrase{wordsAsCardsShow})
		}
	})
}

// batchResult says of each call what came of the answer.
func (b *Bot) batchResult(
	ctx context.Context, s submitted, answers []approvals.BatchAnswer, err error,
) slack.ModalViewRequest {
	if err != nil {
		b.log.Error("answers to several requests were not recorded", "error", err)
		if words, known := refusedDecision(err, nil, s.by); known {
			return wordsView(words)
		}
		return wordsView(unrecorded(err))
	}
	d := approvals.Decision{Verdict: batchForms[s.act].verdict, By: s.by}
	all := make([]batchAnswer, len(answers))
	for i, a := range answers {
		res := result{request: a.Request, err: a.Err}
		b.inform(ctx, res.request)
		res.err = b.explained(ctx, res.request, res.err)
		if _, known := res.refusal(d); res.err != nil && !known {
			b.log.Error("one of several answers was not recorded", "request", a.ID, "error", res.err)
		}
		all[i] = batchAnswer{a.ID, res}
	}
	return batchResultView(d, all)
}

// batchAnswer is what came of the answer to one of several calls.
type batchAnswer struct {
	id approvals.RequestID
	result
}

// batchResultView says of each call what came of the answer d to it, under the number and headline that batchView has
// shown it with.
func batchResultView(d approvals.Decision, all []batchAnswer) slack.ModalViewRequest {
	blocks := make([]slack.Block, len(all))
	for i, a := range all {
		name := string(a.id)
		if a.request != nil {
			name = headline(a.request)
		}
		blocks[i] = paragraph(phrase{strong(fmt.Sprintf("%d. %s", i+1, name))}, a.words(d))
	}
	return modal(viewWords, wordsYourAnswers, blocks...)
}
