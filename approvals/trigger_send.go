package approvals

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
	"countersign/internal/fault"
)

// sending is one attempt to send a call.
type sending struct {
	*Worker
	trigger Trigger
	request *Request
	run     *Run
	permit  *permit // nil when the call may not be sent; why says so
	why     string
	nonce   string
	token   string        // empty: there are no callbacks
	until   lapse         // when the lease ends unless it is renewed
	stands  TriggerStatus // for traces
}

// sendTrigger does a JobTrigger: it sends the call of a request to the system that carries it out. The intent is
// recorded before, so that a call of which nobody knows whether it was sent is sent again only where that is safe.
func (w *Worker) sendTrigger(ctx context.Context, job Job) error {
	s, err := w.prepareTrigger(ctx, job)
	if s == nil || err != nil {
		return err
	}
	ctx, end := s.traceSend(ctx)
	err = s.carryOut(ctx)
	end(err)
	return err
}

// carryOut records the intent, sends the call and records what came of it.
func (s *sending) carryOut(ctx context.Context) error {
	fault.Point("trigger.before_intent")
	began := time.Now()
	goes, err := s.begin(ctx)
	if err != nil || !goes {
		return err
	}
	lasting, release := s.hold(ctx, began)
	defer release()
	fault.Point("trigger.after_intent")
	if s.lapsed(&s.until) { // whoever has it now asks people about it, or sends it
		return s.record(ctx, TriggerAnswer{Again: true, Text: "the program stood still before it was sent"})
	}
	body, err := s.body()
	if err != nil {
		return err
	}
	answer := s.trigger.Send(lasting, s.request.Trigger.Effect, body)
	fault.Point("trigger.sent_before_record")
	return s.record(ctx, answer)
}

// prepareTrigger reads what is to be sent, and finds out whether that is still allowed. It returns nil when there is
// nothing to send.
func (w *Worker) prepareTrigger(ctx context.Context, job Job) (*sending, error) {
	s := &sending{Worker: w, nonce: rand.Text()}
	var requests []*Request
	err := w.store.View(ctx, func(tx Tx) (err error) {
		if s.request, err = tx.Request(job.Workspace, RequestID(job.ID)); err != nil {
			return err
		}
		if s.run, err = tx.Run(job.Workspace, s.request.Run); err != nil {
			return err
		}
		requests, err = (&txn{Tx: tx, ws: job.Workspace}).asking(s.run)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	r := s.request
	if err != nil || r.Status != RequestPending || r.Trigger == nil || r.Trigger.Status.over() {
		return nil, err
	}
	if w.publicURL != "" {
		s.token = newToken()
	}
	return s, s.allow(ctx, requests)
}

// allow finds the trigger and what allows the call to be sent. Otherwise it says why nothing does.
func (s *sending) allow(ctx context.Context, requests []*Request) error {
	tool := s.tool()
	if tool == nil {
		s.why = "the tool is not configured so any more"
		return nil
	}
	x := &execution{Worker: s.Worker, run: s.run, requests: requests}
	p, err := (&journal{x: x}).permit(ctx, s.effect(requests, tool))
	if err != nil {
		return err
	}
	if s.permit = p; p.denied != nil {
		s.why = "what had allowed the call does not hold any more"
	}
	return nil
}

// tool returns the configured tool while it is the one that people were asked about, and its trigger with it.
func (s *sending) tool() *agent.Tool {
	r := s.request
	config, err := s.agents.Agent(r.Agent)
	if err != nil || s.triggers == nil {
		return nil
	}
	i := slices.IndexFunc(config.Agent.Tools, func(t agent.Tool) bool { return t.Name == r.Tool.Name })
	if i < 0 || !sameDigest(config.Agent.Tools[i].Digest(), r.Definition) {
		return nil
	}
	if s.trigger = s.triggers.Trigger(r.Agent, r.Tool.Name); s.trigger == nil {
		return nil
	}
	return &config.Agent.Tools[i]
}

// effect is the sending as the journal knows the execution of a tool: what has to allow it is the same.
func (s *sending) effect(requests []*Request, tool *agent.Tool) agent.Effect {
	r := s.request
	e := agent.Effect{
		ID: r.Trigger.Effect, Interruption: r.Interruption, Definition: r.Definition, Digest: r.Digest, Tool: tool,
		Idempotent: s.trigger.Idempotent(), Preconditions: r.Facts,
		Call: agent.ToolCall{
			ID: r.Trigger.Call, Tool: r.Tool.Name, Kind: r.Tool.Kind, Arguments: r.Arguments, Agent: r.Agent,
			Path: r.Path, EffectID: r.Trigger.Effect, Preconditions: r.Facts,
			Run: &agent.RunContext{ID: string(s.run.ID), Value: s.run},
		},
	}
	for _, o := range requests {
		switch {
		case o.Kind == agent.Confirm && o.Interruption == r.Interruption && o.Status == RequestApproved:
			e.Decided = true
		case o.Status == RequestApproved && o.standing() && o.about(r.Agent, r.Tool.Name, r.Definition):
			e.Always = true
		}
	}
	e.Always = e.Always && !e.Decided
	return e
}

// begin records the intent, and the callback's token with it. It reports whether the call is to be sent now.
func (s *sending) begin(ctx context.Context) (goes bool, err error) {
	err = update(ctx, s.store, s.request.Workspace, func(c *txn) error {
		goes = false
		r, err := c.request(s.request.ID)
		if err != nil || r.Status != RequestPending || r.Trigger.Status.over() {
			return err
		}
		if r.Trigger.Status == TriggerSending && r.Trigger.Nonce == s.nonce { // an earlier try was committed
			goes = true
			return nil
		}
		if r.overdue(c.Now()) { // its timer is late: nobody would take the result of what is sent now
			return c.expire(r)
		}
		if stop, err := s.interrupted(c, r); stop || err != nil {
			return err
		}
		if why := s.forbidden(c); why != "" {
			return s.give(c, r, TriggerWithheld, why)
		}
		own := *r.Trigger
		own.Attempt++
		own.Nonce, own.Begun, own.LeaseUntil = s.nonce, c.Now(), c.Now().Add(s.lease)
		r.Trigger = &own
		if s.token != "" {
			if err := s.issue(c, r); err != nil {
				return err
			}
		}
		goes = true
		return s.move(c, r, TriggerSending, "")
	})
	return goes, err
}

// issue records the token that goes out with this sending. A system that knows a call by its key may have taken an
// earlier sending, and leave this one unread: the tokens of both count.
func (s *sending) issue(c *txn, r *RequestHead) error {
	before, err := c.Callback(c.ws, r.ID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if err := c.issue(r, s.token, "", "trigger"); err != nil || before == nil {
		return err
	}
	if before.Issuer != "" || !s.trigger.Idempotent() || len(before.Earlier) >= triggerTries {
		return nil
	}
	k, err := c.Callback(c.ws, r.ID)
	if err != nil {
		return err
	}
	k.Earlier = append(slices.Clone(before.Earlier), before.Token)
	return c.PutCallback(k)
}

// forbidden says why the call may not be sent; empty when it may.
func (s *sending) forbidden(c *txn) string {
	if s.why != "" {
		return s.why
	}
	if _, err := s.permit.allowing(c, s.run, nil); err != nil {
		return "what had allowed the call does not hold any more"
	}
	return ""
}

// interrupted sees to a sending that was begun and of which nothing is recorded. It reports whether that is all.
func (s *sending) interrupted(c *txn, r *RequestHead) (stop bool, err error) {
	if r.Trigger.Status != TriggerSending {
		return false, nil
	}
	if left := s.leased(c, r); left > 0 {
		return true, &RetryError{After: left, Err: errLeased}
	}
	if s.trigger != nil && s.trigger.Idempotent() {
		own := *r.Trigger
		own.Doubt, r.Trigger = true, &own // also where it may not be sent again
		return false, nil
	}
	return true, s.give(c, r, TriggerUnknown, "the program was stopped while the call was sent")
}

// give ends the sending otherwise than by success, and tells the place. Where the system may have the call, nobody
// says that it has not.
func (s *sending) give(c *txn, r *RequestHead, to TriggerStatus, text string) error {
	if r.Trigger.Doubt {
		to = TriggerUnknown
	}
	if err := s.move(c, r, to, text); err != nil {
		return err
	}
	if r.Status != RequestPending {
		return nil
	}
	run, err := c.run(r.Run)
	if err != nil {
		return err
	}
	c.say(run, wordsNotSent(r.Tool.Name, r.ID, r.Sending()))
	return nil
}

// body is what is sent.
func (s *sending) body() ([]byte, error) {
	r := s.request
	b := triggerBody{Effect: r.Trigger.Effect, Request: r.ID, Tool: r.Tool.Name, Arguments: r.Arguments}
	if s.token != "" {
		b.Callback = &CallbackAddress{URL: callbackURL(s.publicURL, r.ID), Token: s.token}
	}
	body, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("send the call of request %s: %w", r.ID, err)
	}
	return body, nil
}
