package approvals_test

import (
	"errors"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// TestVerifyNamesForgedRecords changes, behind the trail's back, what only some requests have: a callback, the person
// who had it made, the way to the system that carries a call out, and the arguments.
func TestVerifyNamesForgedRecords(t *testing.T) {
	t.Parallel()
	inCallback := func(change func(*approvals.Callback)) func(approvals.Tx, *approvals.Request) error {
		return func(tx approvals.Tx, r *approvals.Request) error {
			k, err := tx.Callback(r.Workspace, r.ID)
			if err != nil {
				return err
			}
			change(k)
			return tx.PutCallback(k)
		}
	}
	inRequest := func(change func(*approvals.Request)) func(approvals.Tx, *approvals.Request) error {
		return func(tx approvals.Tx, r *approvals.Request) error {
			change(r)
			return tx.PutRequest(r)
		}
	}
	for name, c := range map[string]struct {
		world func(*testing.T) (*bench, *approvals.Request)
		forge func(approvals.Tx, *approvals.Request) error
		holds bool
	}{
		"nothing":              {reported, inRequest(func(*approvals.Request) {}), true},
		"nothing, sent":        {sentAway, inRequest(func(*approvals.Request) {}), true},
		"who had a token made": {reported, inCallback(func(k *approvals.Callback) { k.Issuer = bob }), false},
		"a token":              {reported, inCallback(func(k *approvals.Callback) { k.Token[0]++ }), false},
		"a token more": {reported, inCallback(func(k *approvals.Callback) {
			k.Earlier = append(k.Earlier, agent.Digest{1})
		}), false},
		"whose token it was": {reported, inRequest(func(r *approvals.Request) { r.Decisions[0].Issuer = bob }), false},
		"that the system has it": {sentAway, inRequest(func(r *approvals.Request) {
			r.Trigger.Status = approvals.TriggerFailed
		}), false},
		"how often it was sent":   {sentAway, inRequest(func(r *approvals.Request) { r.Trigger.Attempt++ }), false},
		"that it is sent at all":  {sentAway, inRequest(func(r *approvals.Request) { r.Trigger = nil }), false},
		"the token that was sent": {sentAway, inCallback(func(k *approvals.Callback) { k.Token[0]++ }), false},
		"who asked":               {reported, inRequest(func(r *approvals.Request) { r.Requester = bob }), false},
		"the tool":                {reported, inRequest(func(r *approvals.Request) { r.Tool.Name = "lunch" }), false},
		"what is asked":           {reported, inRequest(func(r *approvals.Request) { r.Kind = agent.Confirm }), false},
		"when it was asked": {reported, inRequest(func(r *approvals.Request) {
			r.Created = r.Created.Add(-time.Hour)
		}), false},
		"when it was settled": {reported, inRequest(func(r *approvals.Request) {
			r.Settled = r.Settled.Add(-time.Nanosecond)
		}), false},
		"how somebody answered": {reported, inRequest(func(r *approvals.Request) {
			r.Decisions[0].Via = "button"
		}), false},
		"when somebody answered": {reported, inRequest(func(r *approvals.Request) {
			r.Decisions[0].At = r.Decisions[0].At.Add(time.Hour)
		}), false},
		"the arguments": {reported, inRequest(func(r *approvals.Request) {
			r.Arguments = []byte(`{"to":"prod"}`)
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := c.world(t)
			err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
				now, err := tx.Request(ws, r.ID)
				if err != nil {
					return err
				}
				return c.forge(tx, now)
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.service.VerifyAudit(t.Context())
			bad, found := errors.AsType[*approvals.AuditError](err)
			if c.holds && err != nil || !c.holds && (!found || bad.Request != r.ID) {
				t.Errorf("have %v", err)
			}
		})
	}
}

// reported is a bench whose deployment a system has reported by a callback that cara had made.
func reported(t *testing.T) (*bench, *approvals.Request) {
	b, id, r := deploying(t)
	if err := b.provide(r, b.token(r, cara), "green"); err != nil {
		t.Fatal(err)
	}
	b.reaches(id, approvals.RunDone)
	return b, r
}

// sentAway is a bench whose deployment was sent to the system that carries it out.
func sentAway(t *testing.T) (*bench, *approvals.Request) {
	b := triggering(t, external())
	b.start()
	return b, b.awaits(b.submit(), approvals.TriggerSent)
}
