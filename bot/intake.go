package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"countersign/internal/fault"
)

// answer is what a handler sends back with the acknowledgement, and what it does afterwards.
type answer struct {
	payload any
	then    func(context.Context)
}

// delivery is something Slack handed over, decoded and checked, ready to be handled.
type delivery struct {
	what   string    // for the log and for traces
	key    string    // deliveries of one key are handled in order
	click  bool      // somebody waits at a button or form
	since  time.Time // when it arrived
	handle func(context.Context) (answer, error)
}

// receipts answer a delivery: exactly one of them is called, once. ack acknowledges; refuse leaves the delivery
// unacknowledged, so that Slack delivers an event again and warns a person who clicked.
type receipts struct {
	ack    func(payload any) error
	refuse func(reason error)
}

// fromSocket takes an envelope. It does not wait for its handling.
func (b *Bot) fromSocket(e envelope) {
	back := receipts{
		ack:    func(payload any) error { return b.socket.ack(e.by, e.ID, payload) },
		refuse: func(error) {},
	}
	b.take(e.Type, e.Payload, back)
}

// take decodes a payload and queues its handling. What cannot be read or belongs to others is acknowledged, so that
// Slack does not deliver it again, and logged without its content.
func (b *Bot) take(kind string, payload json.RawMessage, back receipts) {
	d, err := b.decode(kind, payload)
	if err != nil || d.handle == nil {
		if err != nil {
			b.log.Warn("a delivery was dropped", "kind", label(kind, 40), "reason", err)
		}
		b.acknowledge(back, notTaken(kind, payload))
		return
	}
	d.since = time.Now()
	b.way.enter()
	err = b.work.add(d.key, func(ctx context.Context) {
		defer b.way.leave()
		b.serve(ctx, d, back)
	})
	if err != nil {
		b.way.leave()
		b.log.Warn("a delivery was not taken", "what", d.what, "reason", err)
		back.refuse(err)
	}
}

// decode turns a payload into a delivery; without a handle there is nothing to do.
func (b *Bot) decode(kind string, payload json.RawMessage) (delivery, error) {
	switch kind {
	case kindEvent:
		return b.decodeEvent(payload)
	case kindInteractive:
		return b.decodeInteraction(payload)
	case kindCommand:
		var c command
		if err := decode(payload, &c); err != nil {
			return delivery{}, err
		}
		return b.commandDelivery(c), nil
	}
	return delivery{}, fmt.Errorf("unknown kind: %w", errUnreadable)
}

// serve handles a delivery and then acknowledges it. When the handler fails, and also when it panics, it is not
// acknowledged.
func (b *Bot) serve(ctx context.Context, d delivery, back receipts) {
	answered := false
	defer func() {
		if !answered {
			back.refuse(errors.New("the handler gave up"))
		}
	}()
	began := time.Now()
	ctx, end := b.traceReceived(ctx, d)
	defer func() { end(answered) }()
	a, err := d.handle(ctx)
	if a.then != nil {
		defer b.work.after(ctx, b.traceFollowUp(d, a.then))
	}
	if err != nil {
		b.log.Error("a delivery was not handled", "what", d.what, "error", err)
		return
	}
	answered = true
	if d.click {
		fault.Point("click.after_commit_before_ack")
	}
	fault.Point("ack.before")
	b.traceAcknowledged(ctx, func() { b.acknowledge(back, a.payload) })
	fault.Point("ack.after")
	if d.click {
		fault.Point("click.after_ack")
	}
	b.log.Debug("handled", "what", d.what, "took", time.Since(began))
}

func (b *Bot) acknowledge(back receipts, payload any) {
	if err := back.ack(payload); err != nil {
		b.log.Warn("an acknowledgement did not reach Slack", "error", err)
	}
}

// checked wraps a handler so that it runs only for payloads of this app and workspace.
func (b *Bot) checked(
	from origin, handle func(context.Context, identity) (answer, error),
) func(context.Context) (answer, error) {
	return func(ctx context.Context) (answer, error) {
		id, err := b.client.identify(ctx)
		if err != nil {
			return answer{}, err
		}
		if err := id.admit(from); err != nil {
			b.log.Warn("a delivery was dropped", "reason", err)
			return b.turnAway(from), nil
		}
		return handle(ctx, id)
	}
}

// turnAway tells a person that what they did belongs to another workspace. A form that is acknowledged without a word
// closes as if it had been taken.
func (b *Bot) turnAway(from origin) answer {
	switch {
	case from.form:
		return answer{payload: becomes(wordsView(wordsForeign()))}
	case from.reply != "":
		return answer{then: func(ctx context.Context) {
			p := wordsForeign()
			said := hookMessage{Text: p.fallback(), Blocks: paragraphs(p)}
			if err := b.hooks.send(ctx, from.reply, said); err != nil {
				b.log.Warn("could not tell a person", "error", err)
			}
		}}
	}
	return answer{}
}

// notTaken is the acknowledgement of what could not be read: nothing, but for a form, which says so.
func notTaken(kind string, payload json.RawMessage) any {
	var form struct {
		Type string `json:"type"`
	}
	if kind != kindInteractive || json.Unmarshal(payload, &form) != nil || form.Type != "view_submission" {
		return nil
	}
	return becomes(wordsView(wordsUnreadableForm()))
}
