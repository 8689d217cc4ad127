package approvals_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// triggerInBubble runs fn with a bench whose calls are about to be sent, and the request that waits for the result.
func triggerInBubble(t *testing.T, fn func(b *bench, r *approvals.Request)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := triggering(t, external())
		id := b.submit()
		if err := b.step()(runJob(id)); err != nil {
			t.Fatal(err)
		}
		fn(b, b.pending(id)[0])
		b.trail()
		b.stop()
		b.store.Close()
	})
}

// TestSlowSenderIsNotAskedAbout: sending takes as long as eight leases, and another replica looks at it all the time.
func TestSlowSenderIsNotAskedAbout(t *testing.T) {
	triggerInBubble(t, func(b *bench, r *approvals.Request) {
		b.trigger.wait = func(ctx context.Context, _ int) {
			select {
			case <-time.After(2 * time.Minute):
			case <-ctx.Done():
				b.Errorf("broken off: %v", context.Cause(ctx))
			}
		}
		done := make(chan error, 1)
		go func() { done <- b.handler(b.Context(), &replica{Store: b.store})(triggerJob(r.ID)) }()
		other := b.handler(b.Context(), &replica{Store: b.store})
		for range 10 {
			time.Sleep(11 * time.Second)
			if err := other(triggerJob(r.ID)); !isRetry(err) {
				b.Fatalf("took a sending that is under way: %v", err)
			}
		}
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		got := b.request(r.ID).Trigger
		if got.Status != approvals.TriggerSent || got.Attempt != 1 || len(b.trigger.all()) != 1 {
			b.Errorf("%+v, sent %d times", got, len(b.trigger.all()))
		}
	})
}

// TestDeadSenderIsAskedAbout when its lease is over, and not before: whether it had sent the call, nobody knows.
func TestDeadSenderIsAskedAbout(t *testing.T) {
	triggerInBubble(t, func(b *bench, r *approvals.Request) {
		dies := make(chan struct{})
		b.trigger.wait = func(context.Context, int) { <-dies }
		a := &replica{Store: b.store}
		done := make(chan error, 1)
		ctx, stop := context.WithCancel(b.Context())
		go func() { done <- b.handler(ctx, a)(triggerJob(r.ID)) }()
		time.Sleep(time.Minute) // it has been slow, and alive
		a.fail(errors.New("this process is dead"))
		died := time.Now()
		other := b.handler(b.Context(), &replica{Store: b.store})
		err := other(triggerJob(r.ID))
		for {
			later, ok := errors.AsType[*approvals.RetryError](err)
			if !ok {
				break
			}
			time.Sleep(later.After)
			err = other(triggerJob(r.ID))
		}
		if took := time.Since(died); err != nil || took < 10*time.Second || took > 15*time.Second {
			b.Errorf("asked about after %s, %v", took, err)
		}
		got := b.request(r.ID)
		if got.Trigger.Status != approvals.TriggerUnknown ||
			!strings.Contains(got.Sending(), "the program was stopped while the call was sent") {
			b.Errorf("people are told %q", got.Sending())
		}
		stop()
		close(dies)
		<-done
	})
}

// TestSenderWithoutALease: of a sending that an earlier version of the program began, nobody knows whether it is under
// way; it has more time.
func TestSenderWithoutALease(t *testing.T) {
	triggerInBubble(t, func(b *bench, r *approvals.Request) {
		err := b.store.Update(b.Context(), func(tx approvals.Tx) error {
			head, err := tx.RequestHead(ws, r.ID)
			if err != nil {
				return err
			}
			own := *head.Trigger
			own.Status, own.Attempt, own.Nonce, own.Begun = approvals.TriggerSending, 1, "another", tx.Now()
			head.Trigger = &own
			head.Version++
			return tx.PutRequestHead(head)
		})
		if err != nil {
			b.Fatal(err)
		}
		other := b.handler(b.Context(), &replica{Store: b.store})
		time.Sleep(4 * time.Minute)
		if err := other(triggerJob(r.ID)); !isRetry(err) {
			b.Errorf("taken over: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if err := other(triggerJob(r.ID)); err != nil || b.request(r.ID).Trigger.Status != approvals.TriggerUnknown {
			b.Errorf("%v; %s", err, b.request(r.ID).Sending())
		}
	})
}

// standing is the store of a process that stands still once, right after its nth write.
type standing struct {
	approvals.Store
	left int
	thaw chan struct{}
}

func (s *standing) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	err := s.Store.Update(ctx, fn)
	if s.left--; s.left == 0 {
		<-s.thaw
	}
	return err
}

// TestThawedSenderSendsNothing: a replica freezes between the record that sending begins and the sending. When it
// thaws after its lease it sends nothing, and says so, whatever has become of the call meanwhile.
func TestThawedSenderSendsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		frozen     time.Duration
		taken      bool // another replica takes it over
		idempotent bool
		sent       int
		status     approvals.TriggerStatus
		told       string
	}{
		"asked about": {20 * time.Second, true, false, 0, approvals.TriggerFailed, "stood still before it was sent"},
		"sent again":  {20 * time.Second, true, true, 1, approvals.TriggerSent, "has taken it"},
		"left alone":  {20 * time.Second, false, false, 0, approvals.TriggerPlanned, "It is tried again."},
		"in time":     {10 * time.Second, true, false, 1, approvals.TriggerSent, "has taken it"},
	} {
		t.Run(name, func(t *testing.T) {
			triggerInBubble(t, func(b *bench, r *approvals.Request) {
				b.trigger.idempotent = c.idempotent
				a := &standing{Store: &replica{Store: b.store}, left: 1, thaw: make(chan struct{})}
				frozen := make(chan error, 1)
				go func() { frozen <- b.handler(b.Context(), a)(triggerJob(r.ID)) }()
				time.Sleep(c.frozen)
				if c.taken {
					err := b.handler(b.Context(), &replica{Store: b.store})(triggerJob(r.ID))
					if isRetry(err) != (name == "in time") {
						b.Fatalf("the other replica: %v", err)
					}
				}
				close(a.thaw)
				err := <-frozen
				if isRetry(err) != (c.status == approvals.TriggerPlanned) {
					b.Errorf("the thawed replica: %v", err)
				}
				got := b.request(r.ID)
				if got.Trigger.Status != c.status || !strings.Contains(got.Sending(), c.told) {
					b.Errorf("it is %s: %q", got.Trigger.Status, got.Sending())
				}
				if n := len(b.trigger.all()); n != c.sent {
					b.Errorf("sent %d times, want %d", n, c.sent)
				}
			})
		})
	}
}

// TestSendingIsBrokenOffWithItsLease: a replica that is cut off from the store stops sending when its lease ends, as
// people are asked then. What came of it is taken, and told, should it be known after all.
func TestSendingIsBrokenOffWithItsLease(t *testing.T) {
	for name, c := range map[string]struct {
		answer approvals.TriggerAnswer
		status approvals.TriggerStatus
		told   string
	}{
		"taken":   {approvals.TriggerAnswer{Taken: true}, approvals.TriggerSent, "which has taken it"},
		"refused": {approvals.TriggerAnswer{Text: "HTTP 403"}, approvals.TriggerFailed, "was not taken by"},
		"unsent":  {approvals.TriggerAnswer{Again: true, Text: "no way"}, approvals.TriggerFailed, "was not taken by"},
		"silence": {approvals.TriggerAnswer{Unknown: true}, approvals.TriggerUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			triggerInBubble(t, func(b *bench, r *approvals.Request) {
				a, ended := &replica{Store: b.store}, make(chan time.Time, 1)
				b.trigger.wait = func(ctx context.Context, _ int) {
					select {
					case <-ctx.Done():
					case <-time.After(time.Hour):
					}
					ended <- time.Now()
					time.Sleep(5 * time.Second) // the answer is on its way
					a.fail(nil)
				}
				b.trigger.answer = func(int) approvals.TriggerAnswer { return c.answer }
				done := make(chan error, 1)
				go func() { done <- b.handler(b.Context(), a)(triggerJob(r.ID)) }()
				synctest.Wait()
				cut := time.Now()
				a.fail(errors.New("no route to host"))
				if took := (<-ended).Sub(cut); took < 10*time.Second || took > 20*time.Second {
					b.Errorf("it was broken off after %s", took)
				}
				if err := b.handler(b.Context(), &replica{Store: b.store})(triggerJob(r.ID)); err != nil {
					b.Fatal(err)
				}
				if got := b.request(r.ID).Trigger.Status; got != approvals.TriggerUnknown {
					b.Fatalf("while nobody knows it is %s", got)
				}
				if err := <-done; err != nil {
					b.Fatal(err)
				}
				if got := b.request(r.ID); got.Trigger.Status != c.status || len(b.trigger.all()) != 1 {
					b.Errorf("%s: %q; sent %d times", got.Trigger.Status, got.Sending(), len(b.trigger.all()))
				}
				b.start()
				synctest.Wait()
				notices := b.surface.texts(approvals.NotifyNotice)
				late := slices.ContainsFunc(notices, func(s string) bool {
					return strings.Contains(s, "of which nothing was known") && strings.Contains(s, c.told)
				})
				if late != (c.told != "") {
					b.Errorf("people were told %q", notices)
				}
			})
		})
	}
}
