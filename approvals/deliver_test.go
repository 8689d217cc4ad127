package approvals_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// TestOutboxKeepsTheOrderOfAPlace has the first deliveries fail: nothing behind them is shown before them.
func TestOutboxKeepsTheOrderOfAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.policy.always(approvals.Requirement{Policy: "nobody"})
		b.model(asks(call("c1", "pay", `{}`), call("c2", "pay", `{"amount":2}`)))
		failures := 2
		begin := time.Now()
		var at time.Duration
		b.surface.intercept = func(*approvals.Notification) error {
			if failures > 0 {
				failures--
				return &approvals.RetryError{After: 30 * time.Second, Err: errors.New("slow down")}
			}
			at = time.Since(begin)
			return nil
		}
		b.start()
		id := b.submit()
		time.Sleep(2 * time.Minute)
		if got := b.run(id); got.Status != approvals.RunDone {
			t.Fatalf("run is %s: %s", got.Status, got.Failure)
		}
		var kinds []approvals.NotificationKind
		for _, p := range b.surface.all() {
			kinds = append(kinds, p.kind)
		}
		want := []approvals.NotificationKind{
			approvals.NotifyNotice, approvals.NotifyNotice, approvals.NotifyAnswer,
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("shown %v", kinds)
		}
		if at < time.Minute || at > 62*time.Second {
			t.Errorf("delivered after %s, two pauses of 30 s were asked for", at)
		}
		b.stop()
		b.store.Close()
	})
}

// TestNotifierLearnsOfFailedAttempts: one that may have been carried out is looked for before it is repeated.
func TestNotifierLearnsOfFailedAttempts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(approvals.Requirement{Policy: "nobody"})
	b.model(asks(call("c1", "pay", `{}`), call("c2", "pay", `{"amount":2}`)))
	step := b.step()
	if err := step(runJob(b.submit())); err != nil {
		t.Fatal(err)
	}
	var attempts []int
	broken := errors.New("the line broke")
	b.surface.intercept = func(n *approvals.Notification) error {
		attempts = append(attempts, n.Attempts)
		return broken
	}
	job := deliverJob(place)
	for job.Attempts = range 3 { // as a store counts them
		if job.Attempts == 2 {
			broken = nil
		}
		if err := step(job); !errors.Is(err, broken) {
			t.Fatalf("attempt %d: %v", job.Attempts, err)
		}
	}
	if want := []int{0, 1, 2, 0, 0}; !slices.Equal(attempts, want) {
		t.Errorf("told of %v failed attempts, want %v", attempts, want)
	}
}

// TestCardsOfOneRequestAreCoalesced lets several changes of a request pile up.
func TestCardsOfOneRequestAreCoalesced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(with(func(q *approvals.Requirement) { quorum(q, 2) }))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	r := b.pending(id)[0]
	b.must(r, bob, approvals.Approve, "")
	b.must(r, cara, approvals.Approve, "")
	if err := step(deliverJob(place)); err != nil {
		t.Fatal(err)
	}
	if got := b.surface.all(); len(got) != 1 || got[0].status != approvals.RequestApproved {
		t.Errorf("shown %+v", got)
	}
	if !b.delivered() {
		t.Error("something is left in the outbox")
	}
	if got := b.request(r.ID).Cards; len(got) != 1 || got[0] != (approvals.Card{Channel: "C1", Message: "m1"}) {
		t.Errorf("cards %v", got)
	}
}

// TestCardFollowsTheRequest delivers between the changes: the card is brought up to date, and is one card.
func TestCardFollowsTheRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := b.step()
	id := b.submit()
	deliver := func() {
		t.Helper()
		if err := errors.Join(step(runJob(id)), step(deliverJob(place))); err != nil {
			t.Fatal(err)
		}
	}
	deliver()
	r := b.pending(id)[0]
	b.must(r, bob, approvals.Reject, "no")
	deliver()
	var shown []string
	for _, p := range b.surface.all() {
		shown = append(shown, fmt.Sprintf("%s %s %s", p.kind, p.status, p.message))
	}
	if got := strings.Join(shown, ", "); got != "card pending m1, card rejected m1, answer  m3" {
		t.Errorf("shown: %s", got)
	}
	if n := len(b.request(r.ID).Cards); n != 1 {
		t.Errorf("%d cards", n)
	}
}

// TestDeliveryIsRepeatedAfterACrash dies between the delivery and its record.
func TestDeliveryIsRepeatedAfterACrash(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var ids []approvals.NotificationID
	b.surface.intercept = func(n *approvals.Notification) error {
		if ids = append(ids, n.ID); len(ids) == 1 {
			b.mortal.dieAt(1, false)
		}
		return nil
	}
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	if err := step(deliverJob(place)); err == nil {
		t.Fatal("delivered by a dead process")
	}
	b.reopen()
	if err := b.step()(deliverJob(place)); err != nil {
		t.Fatal(err)
	}
	if len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("notified with %v", ids)
	}
}

// TestMessageOnItsWayOutlastsTheStop stops the worker while a message is being sent.
func TestMessageOnItsWayOutlastsTheStop(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		takes     time.Duration
		delivered bool
	}{{3 * time.Second, true}, {time.Minute, false}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			step := b.step()
			if err := step(runJob(b.submit())); err != nil {
				t.Fatal(err)
			}
			b.stop()
			b.worker.Notifier = sending(tt.takes)
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- b.handler(ctx, b.store)(deliverJob(place)) }()
			synctest.Wait()
			begin := time.Now()
			stop()
			<-done
			if got := b.delivered(); got != tt.delivered || time.Since(begin) != min(tt.takes, 5*time.Second) {
				t.Errorf("a message that takes %s: delivered %v after %s", tt.takes, got, time.Since(begin))
			}
			b.store.Close()
		})
	}
}

// sending is a Notifier that takes its time.
type sending time.Duration

func (d sending) Notify(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	select {
	case <-time.After(time.Duration(d)):
		return approvals.Delivery{Channel: n.Place.Channel, Message: "m"}, nil
	case <-ctx.Done():
		return approvals.Delivery{}, ctx.Err()
	}
}

func TestUndeliverableCardLeavesTheRequestDecidable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.surface.intercept = func(n *approvals.Notification) error {
		if n.Kind == approvals.NotifyCard {
			return fmt.Errorf("channel is archived: %w", approvals.ErrUndeliverable)
		}
		return nil
	}
	b.start()
	id := b.submit()
	r := b.question(id)
	b.until("the notice", func() bool { return len(b.surface.texts(approvals.NotifyNotice)) == 1 })
	got := b.surface.texts(approvals.NotifyNotice)[0]
	if !strings.Contains(got, "countersign approvals decide "+string(r.ID)) {
		t.Errorf("people were told %q", got)
	}
	b.must(r, bob, approvals.Approve, "")
	b.reaches(id, approvals.RunDone)
	b.until("the answer", func() bool { return len(b.surface.texts(approvals.NotifyAnswer)) == 1 })
	b.until("the outbox to be empty", b.delivered)
	if n := b.count(approvals.AuditUndeliverable); n < 2 || n > 3 { // two updates may be one
		t.Errorf("%d undeliverable audited, want the card, its decision and its outcome", n)
	}
}

// TestListThatCannotBeShown: of each request that somebody was to see in one message, and cannot, it is told in its
// place that they do not see it.
func TestListThatCannotBeShown(t *testing.T) {
	t.Parallel()
	const n = 5
	b, st, all := readBench(t, n)
	own := approvals.CopyKey{Workspace: ws, Place: place, Copy: approvals.CopyFor(cara)}
	b.queueCards(own, slices.Concat(all, all))
	b.surface.intercept = func(n *approvals.Notification) error {
		if n.Copy == own.Copy {
			return fmt.Errorf("refused: %w: %w", approvals.ErrUndeliverable, approvals.ErrUnreachable)
		}
		return nil
	}
	handle := b.handler(t.Context(), st)
	job := deliverJob(place)
	job.ID, job.Copy = own.JobID(), own.Copy
	if err := handle(job); err != nil {
		t.Fatal(err)
	}
	told := map[approvals.RequestID]bool{}
	err := b.store.View(t.Context(), func(tx approvals.Tx) error {
		places, err := tx.UndeliveredPlaces(tx.Now().Add(time.Hour), tx.Now().Add(time.Hour), 100)
		for _, key := range places {
			waiting, err := tx.Notifications(ws, key.Place, key.Copy, 100)
			if err != nil {
				return err
			}
			for _, n := range waiting {
				for _, r := range all {
					if n.Kind == approvals.NotifyNotice && n.By == cara && n.Place == r.Place {
						told[r.ID] = true
					}
				}
			}
		}
		return err
	})
	dead, err2 := b.service.DeadLetters(t.Context(), ws, "", 0)
	if err != nil || err2 != nil || len(told) != n || len(dead) != n {
		t.Errorf("told of %d of %d requests, %d dead letters, %v, %v", len(told), n, len(dead), err, err2)
	}
	for _, r := range all {
		if got := b.request(r.ID).Called.Copies; len(got) != 0 {
			t.Errorf("%s is taken to be shown to %v", r.ID, got)
		}
	}
}

// TestHomeBehindADeletedRequest: somebody's own page is brought up to date for the sake of one request where another
// one is gone.
func TestHomeBehindADeletedRequest(t *testing.T) {
	t.Parallel()
	b, st, all := readBench(t, 2)
	key := approvals.CopyKey{Workspace: ws, Place: place, Copy: "home:cara"}
	err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
		for i, r := range all {
			err := tx.PutNotification(&approvals.Notification{
				Workspace: ws, ID: approvals.NotificationID(fmt.Sprintf("ntf_%02d", i)), Place: key.Place,
				Copy: key.Copy, Kind: approvals.NotifyCard, Run: r.Run, Request: r.ID, Created: tx.Now(),
			})
			if err != nil {
				return err
			}
		}
		return tx.DeleteRequest(ws, all[0].ID)
	})
	if err != nil {
		t.Fatal(err)
	}
	job := deliverJob(place)
	job.ID, job.Copy = key.JobID(), key.Copy
	if err := b.handler(t.Context(), st)(job); err != nil {
		t.Fatal(err)
	}
	if got := b.surface.all(); len(got) != 1 || got[0].request != all[1].ID {
		t.Errorf("shown %+v", got)
	}
}

// TestUndeliverableIsToldWhereItIsRead: a card for somebody else that cannot be delivered is told in the run's own
// place, with their name; one for a place where nothing arrives is told nowhere, and counted.
func TestUndeliverableIsToldWhereItIsRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why  string
		copy approvals.Copy
		err  error
		by   approvals.UserID
		text string // of the notice; empty: there is none
	}{
		{"an approver's own conversation", "dm:dan", approvals.ErrUnreachable, approvals.NewUserID(ws, "dan"),
			"was to see the request for approval of pay, and no message reaches them."},
		{"a channel of approvers", "channel:C9", approvals.ErrUnreachable, "", "could not be shown to everybody"},
		{"a card that cannot be shown", "", approvals.ErrUndeliverable, "", "cannot be shown here"},
		{"a place where nothing arrives", "", approvals.ErrUnreachable, "", ""},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var notices []*approvals.Notification
			b.surface.intercept = func(n *approvals.Notification) error {
				if n.Kind == approvals.NotifyNotice {
					notices = append(notices, n)
				}
				if n.Kind == approvals.NotifyCard && n.Copy == tt.copy {
					return fmt.Errorf("refused: %w: %w", approvals.ErrUndeliverable, tt.err)
				}
				return nil
			}
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			r := b.pending(id)[0]
			if tt.copy != "" {
				err := b.store.Update(t.Context(), func(tx approvals.Tx) error {
					return tx.PutNotification(&approvals.Notification{
						Workspace: ws, ID: "ntf_0copy", Kind: approvals.NotifyCard, Place: place, Copy: tt.copy,
						Run: r.Run, Request: r.ID, Created: tx.Now(),
					})
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, queue := range []approvals.Copy{tt.copy, ""} {
				job := deliverJob(place)
				job.ID, job.Copy = approvals.CopyKey{Workspace: ws, Place: place, Copy: queue}.JobID(), queue
				if err := step(job); err != nil {
					t.Fatal(err)
				}
			}
			if dead, err := b.service.DeadLetters(t.Context(), ws, "", 0); len(dead) != 1 || err != nil {
				t.Errorf("%d dead letters, %v", len(dead), err)
			}
			switch {
			case tt.text == "" && len(notices) == 0:
			case tt.text == "" || len(notices) != 1:
				t.Errorf("%d notices", len(notices))
			case notices[0].Copy != "" || notices[0].By != tt.by || !strings.Contains(notices[0].Text, tt.text):
				t.Errorf("the notice: %+v", notices[0])
			}
		})
	}
}

// TestFailedDeliveryIsLogged tells the operator why people see nothing. That a surface asked for a pause is no news.
func TestFailedDeliveryIsLogged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		err   error
		words []string
	}{
		{"it fails", errors.New("the line broke"),
			[]string{"level=WARN", "kind=deliver", "attempts=3", "the line broke"}},
		{"no attempt can succeed", fmt.Errorf("channel is archived: %w", approvals.ErrUndeliverable), []string{
			"level=WARN", "notification=ntf_", "kind=card", "run=run_", "request=req_", "channel is archived",
		}},
		{"later", &approvals.RetryError{After: time.Second, Err: errors.New("slow down")}, nil},
		{"control: it succeeds", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			var log bytes.Buffer
			b.worker.Logger = slog.New(slog.NewTextHandler(&log, nil))
			b.surface.intercept = func(n *approvals.Notification) error {
				if n.Kind == approvals.NotifyCard {
					return tt.err
				}
				return nil
			}
			step := b.step()
			if err := step(runJob(b.submit())); err != nil {
				t.Fatal(err)
			}
			job := deliverJob(place)
			job.Attempts = 2
			if err := step(job); !errors.Is(err, tt.err) && !errors.Is(tt.err, approvals.ErrUndeliverable) {
				t.Fatal(err)
			}
			for _, word := range tt.words {
				if !strings.Contains(log.String(), word) {
					t.Errorf("the log lacks %q: %s", word, &log)
				}
			}
			if len(tt.words) == 0 && log.Len() != 0 {
				t.Errorf("the log says %s", &log)
			}
		})
	}
}

// TestOnePlaceDoesNotHoldUpAnother has one place fail for ever, another panic, and a third work.
func TestOnePlaceDoesNotHoldUpAnother(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := func(thread string) approvals.Place {
		return approvals.Place{Surface: "slack", Channel: "C1", Thread: thread}
	}
	b.surface.intercept = func(n *approvals.Notification) error {
		switch {
		case n.Place.Thread == "down":
			return errors.New("no answer")
		case n.Place.Thread == "poison" && n.Kind == approvals.NotifyCard:
			panic("cannot render this")
		}
		return nil
	}
	b.start()
	for _, thread := range []string{"down", "poison", "fine"} {
		b.submitAt(at(thread))
	}
	b.until("the healthy place", func() bool {
		return slices.ContainsFunc(b.surface.all(), func(p post) bool { return p.place == at("fine") })
	})
	b.until("the place behind the panic", func() bool {
		return slices.ContainsFunc(b.surface.all(), func(p post) bool {
			return p.place == at("poison") && p.kind == approvals.NotifyNotice
		})
	})
}
