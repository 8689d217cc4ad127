package storetest

import (
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
)

func outbox() []promise {
	return []promise{
		{"Outbox", "a conversation reads in order, and what was not delivered is delivered again", testOutbox},
		{"OutboxCopies",
			"who cannot be reached in one place is not kept from hearing of it in another", testOutboxCopies},
		{"DeadLetters", "what can never be delivered blocks nobody, is not forgotten, and can be sent again",
			testDeadLetters},
		{"UndeliveredPlaces", "a card whose job was lost is shown all the same", testUndeliveredPlaces},
	}
}

// expectQueue checks the notifications that wait in a queue, with their attempts.
func (s *suite) expectQueue(audience approvals.Copy, limit int, want ...string) {
	s.Helper()
	s.view(func(tx approvals.Tx) error {
		list, err := tx.Notifications(ws, place, audience, limit)
		got := idsOf(list, func(n *approvals.Notification) string { return fmt.Sprint(n.ID, "/", n.Attempts) })
		same(s, fmt.Sprintf("queue %q", audience), want, got)
		return err
	})
}

func testOutbox(s *suite) {
	elsewhere := notification("ntf_2")
	elsewhere.Place.Thread += "1"
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutNotification(notification("ntf_3")), tx.PutNotification(notification("ntf_1")),
			tx.PutNotification(elsewhere), tx.PutNotification(notification("ntf_2")))
	})
	s.expectQueue("", 10, "ntf_1/0", "ntf_2/0", "ntf_3/0")
	s.expectQueue("", 2, "ntf_1/0", "ntf_2/0")
	tried := notification("ntf_1")
	tried.Attempts = 1
	s.update(func(tx approvals.Tx) error { return tx.PutNotification(tried) })
	s.reopen()
	s.expectQueue("", 2, "ntf_1/1", "ntf_2/0")
	s.update(func(tx approvals.Tx) error { return tx.DeleteNotification(tried) })
	s.update(func(tx approvals.Tx) error { return tx.DeleteNotification(tried) }) // told twice
	s.expectQueue("", 10, "ntf_2/0", "ntf_3/0")
}

func testOutboxCopies(s *suite) {
	s.update(func(tx approvals.Tx) error {
		return errors.Join(
			tx.PutNotification(notification("ntf_1")), tx.PutNotification(notification("ntf_2")),
			tx.PutNotification(copyFor("dm:U1", "ntf_1")), // the same news for somebody else
			tx.PutNotification(copyFor("dm:U1", "ntf_4")), tx.PutNotification(copyFor("dm:U1", "ntf_3")),
			tx.PutNotification(copyFor("dm:U11", "ntf_5")), tx.PutNotification(copyFor("dm", "ntf_6")))
	})
	s.expectQueue("", 10, "ntf_1/0", "ntf_2/0")
	s.expectQueue("dm:U1", 10, "ntf_1/0", "ntf_3/0", "ntf_4/0")
	s.expectQueue("dm:U11", 10, "ntf_5/0")
	s.expectQueue("home:U1", 10)
	tried := copyFor("dm:U1", "ntf_1")
	tried.Attempts = 3
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutNotification(tried), tx.DeleteNotification(notification("ntf_1")),
			tx.DeleteNotification(notification("ntf_5")), tx.DeleteNotification(copyFor("dm:U11", "ntf_3")))
	})
	s.reopen()
	s.expectQueue("", 10, "ntf_2/0")
	s.expectQueue("dm:U1", 10, "ntf_1/3", "ntf_3/0", "ntf_4/0")
	s.expectQueue("dm:U11", 10, "ntf_5/0")
	s.expectQueue("dm", 10, "ntf_6/0")
}

// deadLetters lists those of the workspace.
func (s *suite) deadLetters(after approvals.NotificationID, limit int) (list []*approvals.Notification) {
	s.Helper()
	s.view(func(tx approvals.Tx) (err error) {
		list, err = tx.DeadLetters(ws, after, limit)
		return err
	})
	return list
}

func testDeadLetters(s *suite) {
	foreign, elsewhere := dead("ntf_5"), dead("ntf_3")
	foreign.Workspace, elsewhere.Place.Thread, elsewhere.Copy = other, "another", "dm:U1"
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutNotification(notification("ntf_1")), tx.PutNotification(notification("ntf_2")),
			tx.PutNotification(notification("ntf_4")), tx.PutNotification(elsewhere), tx.PutNotification(foreign))
	})
	letter := dead("ntf_2")
	s.update(func(tx approvals.Tx) error { return tx.PutNotification(letter) })
	s.expectQueue("", 10, "ntf_1/0", "ntf_4/0")
	s.expectQueue("", 1, "ntf_1/0")
	same(s, "dead letters", []*approvals.Notification{letter, elsewhere}, s.deadLetters("", 10))
	s.update(func(tx approvals.Tx) error { return tx.PutNotification(dead("ntf_1")) })
	s.expectQueue("", 10, "ntf_4/0")
	s.reopen()
	ids := func(after approvals.NotificationID, limit int, want ...approvals.NotificationID) {
		s.Helper()
		same(s, fmt.Sprintf("dead letters after %q", after), want, idsOf(s.deadLetters(after, limit), notificationID))
	}
	ids("", 10, "ntf_1", "ntf_2", "ntf_3")
	ids("", 2, "ntf_1", "ntf_2")
	ids("ntf_1", 1, "ntf_2")
	ids("ntf_2", 10, "ntf_3")
	ids("ntf_3", 10)
	s.update(func(tx approvals.Tx) error { // sent again
		return errors.Join(tx.PutNotification(notification("ntf_2")), tx.DeleteNotification(elsewhere))
	})
	s.expectQueue("", 10, "ntf_2/0", "ntf_4/0")
	ids("", 10, "ntf_1")
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.DeleteNotification(dead("ntf_1")), tx.DeleteNotification(dead("ntf_2")))
	})
	s.expectQueue("", 10, "ntf_4/0")
	ids("", 10)
	within := func(do ...func(approvals.Tx) error) { // one transaction, which has read the queue
		s.Helper()
		s.update(func(tx approvals.Tx) error {
			_, err := tx.Notifications(ws, place, "", 10)
			for _, change := range do {
				err = errors.Join(err, change(tx))
			}
			return err
		})
	}
	put := func(n *approvals.Notification) func(approvals.Tx) error {
		return func(tx approvals.Tx) error { return tx.PutNotification(n) }
	}
	remove := func(tx approvals.Tx) error { return tx.DeleteNotification(notification("ntf_4")) }
	within(put(dead("ntf_4")), put(notification("ntf_4")))
	s.expectQueue("", 10, "ntf_4/0")
	ids("", 10)
	within(put(notification("ntf_4")), put(dead("ntf_4")))
	s.expectQueue("", 10)
	ids("", 10, "ntf_4")
	within(put(notification("ntf_4")), put(dead("ntf_4")), remove)
	s.expectQueue("", 10)
	ids("", 10)
	within(put(notification("ntf_4")), remove, put(dead("ntf_4")), put(notification("ntf_4")))
	s.expectQueue("", 10, "ntf_4/0")
	ids("", 10)
}

func testUndeliveredPlaces(s *suite) {
	start := now()
	another := approvals.Place{Surface: "slack", Channel: "C2", Thread: "1"}
	third := approvals.Place{Surface: "slack", Channel: "C3"}
	put := func(id approvals.NotificationID, k approvals.CopyKey, minute int, change func(*approvals.Notification)) {
		n := notification(id)
		n.Workspace, n.Place, n.Copy = k.Workspace, k.Place, k.Copy
		n.Created = start.Add(time.Duration(minute) * time.Minute)
		change(n)
		s.update(func(tx approvals.Tx) error { return tx.PutNotification(n) })
	}
	asIs := func(*approvals.Notification) {}
	thread := approvals.CopyKey{Workspace: ws, Place: place}
	direct := approvals.CopyKey{Workspace: ws, Place: place, Copy: "dm:U1"}
	late, foreign := approvals.CopyKey{Workspace: ws, Place: another}, approvals.CopyKey{Workspace: other, Place: place}
	put("ntf_1", thread, 0, asIs)
	put("ntf_2", thread, 1, asIs)
	put("ntf_9", thread, 8, asIs)
	put("ntf_3", direct, 8, asIs)
	put("ntf_4", direct, 2, func(n *approvals.Notification) { n.Owner, n.LeaseUntil = "worker", start.Add(time.Hour) })
	put("ntf_5", late, 5, asIs)
	put("ntf_6", foreign, 0, asIs)
	put("ntf_7", approvals.CopyKey{Workspace: ws, Place: third}, 0, func(n *approvals.Notification) { n.Dead = start })
	expect := func(minute, limit int, want ...approvals.CopyKey) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
			got, err := tx.UndeliveredPlaces(at(minute), at(20), limit)
			same(s, fmt.Sprintf("undelivered before minute %d", minute), want, got)
			return err
		})
	}
	count := func(limit, want, oldest int) {
		s.Helper()
		s.view(func(tx approvals.Tx) error {
			n, at, err := tx.Undelivered(limit)
			if since := start.Add(time.Duration(oldest) * time.Minute); n != want || want > 0 && !at.Equal(since) {
				s.Errorf("%d are undelivered up to %d, since %s; want %d, since %s", n, limit, at, want, since)
			}
			if want == 0 && !at.IsZero() {
				s.Errorf("nothing is undelivered since %s", at)
			}
			return err
		})
	}
	count(100, 7, 0)
	count(0, 0, 0)
	expect(9, 10, thread, direct, late, foreign)
	expect(9, 2, thread, direct)
	expect(5, 10, thread, direct, foreign)
	expect(2, 10, thread, foreign)
	expect(0, 10)
	s.update(func(tx approvals.Tx) error {
		n := notification("ntf_1")
		m := copyFor("dm:U1", "ntf_4")
		m.Dead = start
		return errors.Join(tx.DeleteNotification(n), tx.PutNotification(m))
	})
	s.reopen()
	count(100, 5, 0)
	s.view(func(tx approvals.Tx) error {
		n, at, err := tx.Undelivered(2)
		if n != 2 || at.Before(start) {
			s.Errorf("%d, since %s, want 2", n, at)
		}
		return err
	})
	s.update(func(tx approvals.Tx) error {
		n := notification("ntf_6")
		n.Workspace = other
		return tx.DeleteNotification(n)
	})
	count(100, 4, 1)
	put("ntf_6", foreign, 0, asIs)
	expect(2, 10, thread, foreign)
	expect(1, 10, foreign)
	expect(6, 10, thread, late, foreign)
	put("ntf_7", approvals.CopyKey{Workspace: ws, Place: third}, 0, asIs) // sent again
	expect(1, 10, approvals.CopyKey{Workspace: ws, Place: third}, foreign)
	put("ntf_8", late, 20, asIs)
	expect(0, 10)
	put("ntf_8", late, 21, asIs) // while the clock was ahead
	put("ntf_3", direct, 30, func(n *approvals.Notification) { n.Dead = start })
	expect(0, 10, late)
	expect(2, 10, thread, late, approvals.CopyKey{Workspace: ws, Place: third}, foreign)
}
