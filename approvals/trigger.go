package approvals

import (
	"context"
	"encoding/json"
	"time"
)

// Trigger sends the calls of an external tool to the system that carries them out.
type Trigger interface {
	// Target names the system for people: scheme and host.
	Target() string
	// Idempotent reports whether a call may be sent again under the same key.
	Idempotent() bool
	// Send sends the body with the key, and says what is known of it. It returns when ctx ends at the latest.
	Send(ctx context.Context, key string, body []byte) TriggerAnswer
}

// TriggerAnswer is what is known of a call that was to be sent.
type TriggerAnswer struct {
	Taken bool // the system says that it has it
	// Again says that sending it once more is safe, and may help; After is how long to wait before, at least.
	Again bool
	After time.Duration
	// Unknown says that the system may have it, and does not say so: it was sent, as far as can be told, and not
	// answered, or answered that something went wrong.
	Unknown bool
	Text    string // the same for people, without secrets
}

// Triggers knows the triggers of the configured tools.
type Triggers interface {
	// Trigger returns the trigger of an agent's tool; nil when its calls are sent nowhere.
	Trigger(agentName, tool string) Trigger
}

// TriggerStatus is how far a call has come on its way to the system that carries it out.
type TriggerStatus string

// The statuses of triggers.
const (
	TriggerPlanned  TriggerStatus = "planned"  // it is to be sent
	TriggerSending  TriggerStatus = "sending"  // sending was begun
	TriggerSent     TriggerStatus = "sent"     // the system has it
	TriggerFailed   TriggerStatus = "failed"   // the system did not take it, or could not be reached
	TriggerUnknown  TriggerStatus = "unknown"  // it was sent, or may have been, and the system may have it
	TriggerWithheld TriggerStatus = "withheld" // it was not sent: what had allowed it did not hold any more
)

// over reports whether nothing is sent any more.
func (s TriggerStatus) over() bool { return s != TriggerPlanned && s != TriggerSending }

// reached reports whether the system may have the call.
func (t *TriggerState) reached() bool {
	return t != nil && (t.Doubt || t.Status == TriggerSending || t.Status == TriggerSent || t.Status == TriggerUnknown)
}

// TriggerState is what a request for an external result knows of its call's way.
type TriggerState struct {
	Status TriggerStatus `json:"status"`
	Target string        `json:"target"`
	// Effect is agent.ToolCall.EffectID, the key under which the call is sent; Call is the provider's id of the call.
	Effect  string    `json:"effect"`
	Call    string    `json:"call"`
	Attempt int       `json:"attempt,omitempty"` // grows with every sending that is begun
	Nonce   string    `json:"nonce,omitempty"`   // of the newest sending
	Begun   time.Time `json:"begun,omitzero"`    // when that was begun
	At      time.Time `json:"at,omitzero"`       // since when the status is so
	// Doubt says that the system may have the call by a sending that is not the newest, or was not answered.
	Doubt bool `json:"doubt,omitempty"`
	// Text says what the system answered, or why nothing was sent.
	Text string `json:"text,omitempty"`
	// Earlier is the request about the same call under which it was sent before this one was asked.
	Earlier RequestID `json:"earlier,omitempty"`
	// LeaseUntil is until when the newest sending belongs to the process that began it, and renews it while it lives.
	LeaseUntil time.Time `json:"lease_until,omitzero"`
}

// triggerBody is what the system receives.
type triggerBody struct {
	Effect    string           `json:"effect_id"`
	Request   RequestID        `json:"request"`
	Tool      string           `json:"tool"`
	Arguments json.RawMessage  `json:"arguments"`
	Callback  *CallbackAddress `json:"callback,omitempty"`
}

const (
	// triggerTries is how often sending a call is begun.
	triggerTries = 8
	// triggerRest is the pause after the first sending that failed; it doubles with each.
	triggerRest = 2 * time.Second
)

// planTrigger records in the new request r that its call is to be sent, or that it was sent under an earlier request.
func (x *execution) planTrigger(c *txn, r *Request, earlier []*RequestHead) {
	if r.Trigger == nil {
		return
	}
	own := *r.Trigger
	r.Trigger, own.At = &own, c.Now()
	for _, o := range earlier {
		if o.Interruption == r.Interruption && o.Trigger != nil && o.Trigger.Attempt > 0 {
			before := *o.Trigger
			r.Trigger, before.Earlier = &before, o.ID
			if !before.Status.over() {
				before.Status = TriggerUnknown
			}
			return
		}
	}
	c.plan(triggerJob(&r.RequestHead, c.Now()))
}

func triggerJob(r *RequestHead, due time.Time) Job {
	return Job{Workspace: r.Workspace, Kind: JobTrigger, ID: string(r.ID), Due: due, Group: r.Place.Channel}
}

// triggered moves the trigger of r to a status, and shows and records it.
func (c *txn) triggered(r *RequestHead, to TriggerStatus, text string) error {
	own := *r.Trigger
	own.Status, own.At, own.Text = to, c.Now(), text
	r.Trigger = &own
	c.touched(r)
	data := auditData{
		Effect: own.Effect, Tool: r.Tool.Name, Digest: r.Digest, Attempt: own.Attempt, Kind: string(to),
	}
	err := c.audit(entry{Action: AuditTrigger, Actor: system, Run: r.Run, Request: r.ID, Data: data})
	if err != nil || to == TriggerSending {
		return err
	}
	c.show(r)
	return nil
}
