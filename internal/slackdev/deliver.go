package slackdev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The kinds of payload an app receives; in Socket Mode the type of the envelope.
const (
	kindEvent       = "events_api"
	kindInteractive = "interactive"
	kindCommand     = "slash_commands"
)

var (
	errNoConnection = errors.New("no connection to the app")
	errNoAck        = errors.New("no acknowledgement in time")
)

// envelope is one thing to deliver; a redelivery is a new envelope with the
// same payload.
type envelope struct {
	kind    string
	inner   string // type of the payload, for the record
	eventID string
	payload json.RawMessage // in HTTP mode a command is turned into a form
	accepts bool            // the acknowledgement may carry an answer
	attempt int
	reason  string
}

// flight is one attempt under way. Its outcome is valid once done is closed.
type flight struct {
	record *Delivery
	done   chan struct{}
	outcome
}

// outcome is how an attempt ended.
type outcome struct {
	ack     json.RawMessage
	err     error
	noRetry bool // the app does not want the event again
}

// launch starts an attempt. w.mu is held, so attempts reach the wire in the
// order of what caused them.
func (w *Workspace) launch(env envelope) *flight {
	f := &flight{done: make(chan struct{}), record: &Delivery{
		ID: uuid(), Kind: env.kind, Type: env.inner, EventID: env.eventID, Attempt: env.attempt,
		Reason: env.reason, Payload: env.payload, Sent: time.Now(),
	}}
	w.sent = append(w.sent, f.record)
	if w.cfg.Mode == ModeHTTP {
		w.launchHTTP(env, f)
	} else {
		w.launchSocket(env, f)
	}
	w.touch()
	return f
}

// await waits for the acknowledgement, at most AckTimeout.
func (w *Workspace) await(ctx context.Context, f *flight) (json.RawMessage, error) {
	timer := time.NewTimer(w.cfg.AckTimeout)
	defer timer.Stop()
	var cause error
	select {
	case <-f.done:
		return f.ack, f.err
	case <-timer.C:
		cause = errNoAck
	case <-w.life.Done():
		cause = ErrClosed
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle(f, outcome{err: cause})
	return f.ack, f.err
}

// settle ends an attempt once; later calls change nothing. w.mu is held.
func (w *Workspace) settle(f *flight, o outcome) {
	select {
	case <-f.done:
		return
	default:
	}
	f.outcome = o
	if o.err != nil {
		f.record.Error = o.err.Error()
	} else {
		f.record.Acked, f.record.AckPayload = time.Now(), o.ack
	}
	delete(w.sock.pending, f.record.ID)
	close(f.done)
	w.touch()
}

// ask delivers something a person waits for and returns the answer in the
// acknowledgement. It is never redelivered.
func (w *Workspace) ask(ctx context.Context, env envelope) (json.RawMessage, error) {
	w.mu.Lock()
	if w.removed {
		w.mu.Unlock()
		return nil, ErrTrouble
	}
	f := w.launch(env)
	w.mu.Unlock()
	ack, err := w.await(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrTrouble, err)
	}
	return ack, nil
}
