package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// TestDirectoryIsAskedAtOnce has a directory that takes as long for an answer as Slack does. What does not wait for
// another answer is asked with it, so that a decision takes as long as one or two answers, however many there are.
func TestDirectoryIsAskedAtOnce(t *testing.T) {
	t.Parallel()
	const takes = 200 * time.Millisecond
	people := make([]approvals.UserID, 40)
	for i := range people {
		people[i] = user(fmt.Sprintf("u%02d", i))
	}
	channel := func(q *approvals.Requirement) { askOf(q, approvals.Approvers{ChannelMembers: true}) }
	tests := map[string]struct {
		requires func(*approvals.Requirement)
		votes    []approvals.UserID // those before the one that is timed
		verdict  approvals.Verdict
		want     time.Duration
	}{
		"a member of the channel approves": {channel, nil, approvals.Approve, takes},
		"a member of the channel rejects":  {channel, nil, approvals.Reject, takes},
		"a member of a group approves": {
			func(q *approvals.Requirement) { askOf(q, approvals.Approvers{Groups: []string{"S1"}}) },
			nil, approvals.Approve, takes,
		},
		"a member of the second group": {
			func(q *approvals.Requirement) { askOf(q, approvals.Approvers{Groups: []string{"S2", "S1"}}) },
			nil, approvals.Approve, 2 * takes,
		},
		"the last of five": {
			func(q *approvals.Requirement) { channel(q); quorum(q, 5) },
			people[:4], approvals.Approve, 2 * takes, // ten questions, eight at a time
		},
		// Who is left is counted: bob's right, the members of the channel, who the first five are, and one more in the
		// place of the guest among them.
		"the first of two who reject": {
			func(q *approvals.Requirement) { channel(q); quorum(q, 2); q.DenyQuorum = 2 },
			nil, approvals.Reject, 4 * takes,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				for _, u := range people {
					b.people.persons[u] = approvals.Person{ID: u, Regular: true}
				}
				b.people.channels["C1"] = append(b.people.channels["C1"], people...)
				b.people.setGroup("S1", append(people, bob)...)
				b.people.setGroup("S2", ann)
				b.policy.always(with(tt.requires))
				b.model(asks(call("c1", "pay", `{"amount":5}`)))
				step := b.step()
				id := b.submit()
				if err := step(runJob(id)); err != nil {
					t.Fatal(err)
				}
				r := b.pending(id)[0]
				for _, u := range tt.votes {
					b.must(r, u, tt.verdict, "")
				}
				b.people.takes = takes
				begin := time.Now()
				b.must(r, bob, tt.verdict, "no")
				if took := time.Since(begin); took != tt.want {
					t.Errorf("took %s of answers that take %s each, want %s", took, takes, tt.want)
				}
				b.people.takes = 0
				b.stop()
			})
		})
	}
}

// TestGroupIsLookedUpAtOnce calls a group of forty to a request: they are looked up eight at a time.
func TestGroupIsLookedUpAtOnce(t *testing.T) {
	t.Parallel()
	const takes = 200 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		var people []approvals.UserID
		for i := range 40 {
			u := user(fmt.Sprintf("u%02d", i))
			people = append(people, u)
			b.people.persons[u] = approvals.Person{ID: u, Regular: true}
		}
		b.people.setGroup("S1", people...)
		b.policy.always(with(func(q *approvals.Requirement) { askOf(q, approvals.Approvers{Groups: []string{"S1"}}) }))
		b.model(asks(call("c1", "pay", `{"amount":5}`)))
		step := b.step()
		id := b.submit()
		b.people.takes = takes
		begin := time.Now()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > 9*takes {
			t.Errorf("took %s of answers that take %s each", took, takes)
		}
		if r := b.pending(id)[0]; len(r.Called.Copies)+len(r.Called.Users)+len(r.Called.Groups) == 0 {
			t.Errorf("nobody is called: %+v", r.Called)
		}
		b.people.takes = 0
		b.stop()
	})
}

// TestRejectingAsksForNobodyElse rejects where one rejection settles: who else could have answered is not asked.
func TestRejectingAsksForNobodyElse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(with(func(q *approvals.Requirement) { askOf(q, approvals.Approvers{ChannelMembers: true}) }))
	b.model(asks(call("c1", "pay", `{"amount":5}`)))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	r := b.pending(id)[0]
	b.people.mu.Lock()
	b.people.asked, b.people.membersErr = 0, errors.New("the list of members is too long")
	b.people.mu.Unlock()
	if r = b.must(r, bob, approvals.Reject, "no"); r.Status != approvals.RequestRejected {
		t.Errorf("status %s", r.Status)
	}
	if b.people.asked != 2 {
		t.Errorf("%d questions, of which two matter: who bob is, and whether he is in the channel", b.people.asked)
	}
	b.stop()
}

// TestFactsAreAskedAtOnce has a policy read three facts about a request: they are asked for together.
func TestFactsAreAskedAtOnce(t *testing.T) {
	t.Parallel()
	const takes = 200 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		name := b.people.persons[ann]
		name.Name = "Ann"
		b.people.persons[ann] = name
		b.policy.reads = []approvals.Fact{
			approvals.FactRequesterName, approvals.FactRequesterGroups, approvals.FactChannel, approvals.FactChannel,
		}
		var known approvals.PolicyFacts
		b.policy.informed = func(_ *approvals.Request, told approvals.PolicyFacts) (approvals.Requirement, error) {
			known = told
			return lenient(), nil
		}
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		r := b.pending(id)[0]
		b.people.takes = takes
		begin := time.Now()
		b.must(r, bob, approvals.Approve, "")
		if took := time.Since(begin); took != 2*takes { // the facts, and then bob's right
			t.Errorf("took %s of answers that take %s each", took, takes)
		}
		for _, f := range b.policy.reads {
			if !known.Knows(f) {
				t.Errorf("%s is not known", f)
			}
		}
		b.people.takes = 0
		b.stop()
	})
}

// TestThreadIsLookedUpAtOnce mentions the bot in a thread in which twelve people wrote.
func TestThreadIsLookedUpAtOnce(t *testing.T) {
	t.Parallel()
	const takes = 200 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		r := &thread{}
		for i := range 12 {
			u := user(fmt.Sprintf("u%02d", i))
			b.people.persons[u] = approvals.Person{ID: u, Regular: true}
			b.people.channels["C1"] = append(b.people.channels["C1"], u)
			r.say(u, fmt.Sprintf("0.%d", i), "a remark of "+u.Local())
		}
		b.reads(r)
		m := &ears{}
		b.model(m)
		step := b.step()
		id := b.submitAt(inThread)
		b.people.takes = takes
		begin := time.Now()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		// Two questions about ann, who asks, and twice twelve, eight at a time.
		if took := time.Since(begin); took > 5*takes {
			t.Errorf("took %s of answers that take %s each", took, takes)
		}
		for i := range 12 {
			if want := fmt.Sprintf("a remark of u%02d", i); !strings.Contains(m.all()[0], want) {
				t.Errorf("the model has not read %q", want)
			}
		}
		b.people.takes = 0
		b.stop()
	})
}

// TestPanicOfADirectory has one of several questions that are asked at once panic: the caller does, who can deal with
// it.
func TestPanicOfADirectory(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(with(func(q *approvals.Requirement) { askOf(q, approvals.Approvers{ChannelMembers: true}) }))
	b.model(asks(call("c1", "pay", `{"amount":5}`)))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	b.people.mu.Lock()
	b.people.panics = true
	b.people.mu.Unlock()
	defer func() {
		if recover() == nil {
			t.Error("nothing is said of the panic")
		}
		b.people.panics = false
		b.stop()
	}()
	b.decide(b.pending(id)[0], bob, approvals.Approve, "")
}

// TestEnoughPeopleAreEnough has a policy name more people than a seat needs, and the members of a channel that is too
// large to be listed. Who is in it does not matter then: that nobody can take the other seat is found out all the same,
// and nobody is asked.
func TestEnoughPeopleAreEnough(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	some := approvals.Approvers{ChannelMembers: true, Users: []approvals.UserID{bob, cara}}
	for _, name := range []string{"dora", "emil"} {
		some.Users = append(some.Users, user(name))
		b.people.put(approvals.Person{ID: user(name), Regular: true})
	}
	b.policy.always(with(func(q *approvals.Requirement) {
		q.Seats = []approvals.Seat{{Approvers: some}, {Approvers: approvals.Approvers{Groups: []string{"S1"}}}}
	}))
	b.people.mu.Lock()
	b.people.membersErr = errors.New("the list of members is too long")
	b.people.mu.Unlock()
	b.model(asks(call("c1", "pay", `{"amount":5}`)))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	if all := b.pending(id); len(all) != 0 {
		t.Errorf("a card asks for what nobody can give: %+v", all[0].Requirement.Seats)
	}
	b.stop()
}

// TestNobodyIsNotAskedAbout has a policy name somebody without an id, and somebody of another workspace, who may answer
// as little.
func TestNobodyIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.always(with(func(q *approvals.Requirement) {
		askOf(q, approvals.Approvers{Users: []approvals.UserID{"", approvals.NewUserID("T2", "zoe"), bob}})
	}))
	b.model(asks(call("c1", "pay", `{"amount":5}`)))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	if r := b.must(b.pending(id)[0], bob, approvals.Approve, ""); r.Status != approvals.RequestApproved {
		t.Errorf("status %s", r.Status)
	}
	b.stop()
}

// takingTurns is a directory that answers about people one after the other, so far apart, and sends a question away
// that would have to wait for more than a second, as that of Slack does once Slack has refused a call.
type takingTurns struct {
	approvals.Directory
	apart time.Duration

	mu   sync.Mutex
	next time.Time
}

func (d *takingTurns) Person(ctx context.Context, u approvals.UserID, since time.Time) (approvals.Person, error) {
	d.mu.Lock()
	wait := max(time.Until(d.next), 0)
	if wait > time.Second {
		d.mu.Unlock()
		return approvals.Person{}, &approvals.RetryError{After: wait, Err: errors.New("slowed down")}
	}
	d.next = time.Now().Add(wait + d.apart)
	d.mu.Unlock()
	time.Sleep(wait)
	return d.Directory.Person(ctx, u, since)
}

// TestGroupIsCalledAlthoughAnswersTakeTurns: the directory sends away most of the questions that are put at once. All
// people of the group are called, as nobody waits.
func TestGroupIsCalledAlthoughAnswersTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		var people []approvals.UserID
		for i := range 9 {
			u := user(fmt.Sprintf("u%02d", i))
			people = append(people, u)
			b.people.put(approvals.Person{ID: u, Regular: true})
		}
		b.people.setGroup("S1", people...)
		b.policy.always(with(func(q *approvals.Requirement) {
			askOf(q, approvals.Approvers{Groups: []string{"S1"}})
			quorum(q, 5)
		}))
		b.model(asks(call("c1", "pay", `{"amount":5}`)))
		b.worker.Directory = &takingTurns{Directory: b.people, apart: 600 * time.Millisecond}
		step := b.step()
		id := b.submit()
		if err := step(runJob(id)); err != nil {
			t.Fatal(err)
		}
		if got := b.pending(id)[0].Called; len(got.Copies) != len(people) {
			t.Errorf("called: %+v", got)
		}
		b.stop()
	})
}
