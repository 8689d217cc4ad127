package approvals_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// reminders counts the reminders that people have seen.
func (b *bench) reminders() int { return len(b.surface.texts(approvals.NotifyReminder)) }

// reminding demands a reminder every quarter of an hour.
func reminding(how approvals.OnExpiry) approvals.Requirement {
	return with(func(q *approvals.Requirement) { q.RemindEvery, q.OnExpiry = 15*time.Minute, how })
}

// TestReminders has people reminded until the deadline, or for ever where there is none.
func TestReminders(t *testing.T) {
	t.Parallel()
	for how, want := range map[approvals.OnExpiry]int{
		approvals.ExpiryReject: 3, approvals.ExpiryCancel: 3, approvals.ExpiryKeep: 2*96 + 3,
	} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.policy.always(reminding(how))
				b.start()
				id := b.submit()
				synctest.Wait()
				r := b.pending(id)[0]
				time.Sleep(14 * time.Minute)
				if n := b.reminders(); n != 0 {
					t.Errorf("%d reminders before the first is due", n)
				}
				time.Sleep(2 * time.Minute)
				if n := b.reminders(); n != 1 {
					t.Errorf("%d reminders after a quarter of an hour", n)
				}
				time.Sleep(48*time.Hour + 40*time.Minute)
				if n := b.reminders(); n != want {
					t.Errorf("%d reminders in the end, want %d", n, want)
				}
				keeps := how == approvals.ExpiryKeep
				got := b.request(r.ID)
				if (got.Status == approvals.RequestPending) != keeps || got.Expires.IsZero() != keeps {
					t.Errorf("it is %s, and expires %s", got.Status, got.Expires)
				}
				b.stop()
				b.store.Close()
			})
		})
	}
}

// TestReminderCallsWhoCameLater: who joined a group since a call was asked about, and who has left the channel, is
// called by the next reminder: neither sees the thread. Where nobody can be looked up nobody is called anew, and who
// cannot be reached is tried once.
func TestReminderCallsWhoCameLater(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(b *bench)
		want   []approvals.Copy
		refuse bool
	}{
		"control: nobody came": {func(*bench) {}, nil, false},
		"into the group": {
			func(b *bench) { b.people.setGroup("S1", bob, out) }, []approvals.Copy{approvals.CopyFor(out)}, false,
		},
		"out of the channel": {
			func(b *bench) { b.people.leaves("C1", bob) }, []approvals.Copy{approvals.CopyFor(bob)}, false,
		},
		"nobody can be looked up": {func(b *bench) {
			b.people.setGroup("S1", bob, out)
			b.people.fail(errors.New("down"))
		}, nil, false},
		"nobody says who is in the channel": {
			func(b *bench) { b.people.failChannel("C1", errors.New("down")) }, nil, false,
		},
		"cannot be reached": {
			func(b *bench) { b.people.setGroup("S1", bob, out) }, []approvals.Copy{approvals.CopyFor(out)}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				var shown []approvals.Copy // one for each attempt to show a card to somebody; under b.surface.mu
				attempts := func() []approvals.Copy {
					b.surface.mu.Lock()
					defer b.surface.mu.Unlock()
					return slices.Clone(shown)
				}
				b.surface.intercept = func(n *approvals.Notification) error {
					if n.Kind != approvals.NotifyCard || n.Copy == "" {
						return nil
					}
					shown = append(shown, n.Copy)
					if tt.refuse {
						return errors.Join(approvals.ErrUndeliverable, approvals.ErrUnreachable)
					}
					return nil
				}
				b.people.setGroup("S1", bob)
				b.policy.always(with(func(q *approvals.Requirement) {
					q.RemindEvery, q.OnExpiry = 15*time.Minute, approvals.ExpiryKeep
					askOf(q, approvals.Approvers{Users: []approvals.UserID{cara}, Groups: []string{"S1"}})
				}))
				b.start()
				id := b.submit()
				synctest.Wait()
				r := b.pending(id)[0]
				tt.change(b)
				time.Sleep(16 * time.Minute)
				first := attempts()
				time.Sleep(30 * time.Minute)
				got := b.request(r.ID).Called.Copies
				if tt.refuse == slices.Equal(got, tt.want) {
					t.Errorf("in the end %v are called", got)
				}
				if n := b.reminders(); !slices.Equal(first, tt.want) || n < 3 || tt.refuse && len(attempts()) != 1 {
					t.Errorf("after the first of %d reminders the card was shown to %v, in the end to %v",
						n, first, attempts())
				}
				b.stop()
				b.store.Close()
			})
		})
	}
}

// TestNoReminderOfASettledRequest has an answer end the reminders.
func TestNoReminderOfASettledRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.policy.always(reminding(approvals.ExpiryKeep))
		b.start()
		id := b.submit()
		time.Sleep(16 * time.Minute)
		r := b.pending(id)[0]
		b.must(r, bob, approvals.Approve, "")
		time.Sleep(time.Hour)
		if n := b.reminders(); n != 1 {
			t.Errorf("%d reminders, want the one before the answer", n)
		}
		b.stop()
		b.store.Close()
	})
}

// TestReminderAfterAnOutage stops the worker, or the surface, for a week: people get one reminder, not one for each
// that was missed, and then the rhythm goes on as it was.
func TestReminderAfterAnOutage(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"worker", "surface"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.policy.always(reminding(approvals.ExpiryKeep))
				b.start()
				id := b.submit()
				time.Sleep(time.Minute)
				r := b.pending(id)[0]
				begun := time.Now()
				if what == "worker" {
					b.stop()
					time.Sleep(7*24*time.Hour + 4*time.Minute) // not a multiple of the interval
					b.start()
				} else {
					b.surface.fail(&approvals.RetryError{After: time.Minute, Err: approvals.ErrUnavailable})
					time.Sleep(7*24*time.Hour + 4*time.Minute)
					b.surface.fail(nil)
				}
				time.Sleep(2 * time.Minute)
				if n := b.reminders(); n != 1 {
					t.Fatalf("%d reminders after the outage", n)
				}
				time.Sleep(time.Until(begun.Add(7*24*time.Hour + 15*time.Minute)))
				if n := b.reminders(); n != 2 {
					t.Errorf("%d reminders: the rhythm does not go on as it was; next at %s",
						n, b.request(r.ID).RemindAt)
				}
				b.stop()
				b.store.Close()
			})
		})
	}
}

// TestReminderIsSentOnce has several timers go off at the same instant.
func TestReminderIsSentOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.policy.always(reminding(approvals.ExpiryReject))
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.pending(id)[0]
		if err := step(expireJob(r.ID)); !isRetry(err) {
			t.Errorf("a timer that comes early: %v", err)
		}
		time.Sleep(15*time.Minute + time.Second)
		for range 3 {
			if err := step(expireJob(r.ID)); err != nil && !isRetry(err) {
				t.Fatal(err)
			}
			if err := step(deliverJob(place)); err != nil {
				t.Fatal(err)
			}
		}
		if n := b.reminders(); n != 1 {
			t.Errorf("%d reminders of one instant", n)
		}
		got := b.request(r.ID)
		if !got.NextAct.Equal(got.RemindAt) || !got.RemindAt.Equal(r.RemindAt.Add(15*time.Minute)) {
			t.Errorf("next act %s, next reminder %s", got.NextAct, got.RemindAt)
		}
		b.stop()
		b.store.Close()
	})
}

// TestReminderSetByAWrongClock has the next reminder be a year away: the clock was ahead when it was set.
func TestReminderSetByAWrongClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.policy.always(reminding(approvals.ExpiryKeep))
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		b.stop()
		r := b.pending(id)[0]
		b.forge(r.ID, func(r *approvals.Request) {
			r.Created, r.RemindAt = r.Created.AddDate(1, 0, 0), r.RemindAt.AddDate(1, 0, 0)
			r.NextAct = r.RemindAt
		})
		b.start()
		time.Sleep(17 * time.Minute)
		if n := b.reminders(); n != 1 {
			t.Errorf("%d reminders after a quarter of an hour", n)
		}
		b.stop()
		b.store.Close()
	})
}

// TestAwaited names those who could still answer: not the requester, not who has answered, no guests, and a group as
// one only when all of it could.
func TestAwaited(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dan, eve := user("dan"), user("eve")
	b.people.persons[dan] = approvals.Person{ID: dan, Regular: true}
	b.people.persons[eve] = approvals.Person{ID: eve, Why: "guest"}
	b.people.setGroup("S1", bob, cara)
	b.people.setGroup("S2", dan, eve)
	b.policy.always(with(func(q *approvals.Requirement) {
		q.SelfApproval = false
		q.Seats = approvals.Quorum(2, approvals.Approvers{
			Users: []approvals.UserID{ann, eve}, Groups: []string{"S1", "S2"}, ChannelMembers: true,
		})
	}))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	r := b.pending(id)[0]
	check := func(users []approvals.UserID, groups []string, sets ...approvals.Approvers) {
		t.Helper()
		who, err := b.service.Awaited(t.Context(), b.request(r.ID), sets...)
		if err != nil || !slices.Equal(who.Users, users) || !slices.Equal(who.Groups, groups) || who.More {
			t.Errorf("%+v, %v; want %v and %v", who, err, users, groups)
		}
	}
	check([]approvals.UserID{dan}, []string{"S1"})
	check(nil, []string{"S1"}, approvals.Approvers{Groups: []string{"S1"}})
	b.must(r, bob, approvals.Approve, "")
	check([]approvals.UserID{cara, dan}, nil)
	b.people.fail(errors.New("down"))
	who, err := b.service.Awaited(t.Context(), b.request(r.ID), approvals.Approvers{Users: []approvals.UserID{dan}})
	if err != nil || len(who.Users) > 0 || !who.More {
		t.Errorf("while nobody can be looked up: %+v, %v", who, err)
	}
	b.stop()
}
