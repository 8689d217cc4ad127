package approvals

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// mostAtOnce is how many questions about one decision or one card are put to the directory at the same time. Slack
// takes a tenth of a second or more for each, and a person waits for the last.
const mostAtOnce = 8

// question is one to the directory: who somebody is, who is in a group, or whether somebody is in the conversation's
// channel.
type question struct {
	person    UserID
	group     string
	inChannel UserID
}

func (g *gatherer) askPerson(ctx context.Context, u UserID) answer[Person] {
	who, err := g.dir.Person(ctx, u, g.since)
	return cameTo(who, Person{ID: u, Why: "unknown to the workspace"}, err)
}

func (g *gatherer) askGroup(ctx context.Context, group string) answer[[]UserID] {
	members, err := g.dir.Members(ctx, g.at.ws, group, g.since)
	return cameTo(members, nil, err)
}

func (g *gatherer) askChannel(ctx context.Context, u UserID) answer[bool] {
	in, err := g.dir.InChannel(ctx, g.at.ws, g.at.place.Channel, u, g.since)
	return cameTo(in, false, err)
}

// cameTo is what a question came to; of what does not exist the answer is none.
func cameTo[V any](v, none V, err error) answer[V] {
	switch {
	case errors.Is(err, ErrNotFound):
		v, err = none, nil
	case err != nil:
		v, err = none, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return answer[V]{v, err}
}

// put asks the question, and returns what keeps the answer, and the error that the answer is. It changes nothing, so
// that several may be asked at once.
func (g *gatherer) put(ctx context.Context, q question) (keep func(), err error) {
	switch {
	case q.person != "":
		a := g.askPerson(ctx, q.person)
		return func() { g.persons.put(q.person, a) }, a.err
	case q.inChannel != "":
		a := g.askChannel(ctx, q.inChannel)
		return func() { g.channel.put(q.inChannel, a) }, a.err
	}
	a := g.askGroup(ctx, q.group)
	return func() { g.groups.put(q.group, a) }, a.err
}

// askUntilKnown has missing name questions that have no answer yet, and asks those that do not wait for each other at
// once, until it names none.
func (g *gatherer) askUntilKnown(ctx context.Context, missing func(openQuestions)) {
	var room [4]question
	for all := room[:0]; ; all = all[:0] {
		missing(openQuestions{g, &all})
		if len(all) == 0 {
			return
		}
		keep := make([]func(), len(all))
		atOnce(len(all), func(i int) (err error) {
			keep[i], err = g.put(ctx, all[i])
			return err
		})
		for _, k := range keep {
			k()
		}
	}
}

// openQuestions collects what nobody has asked yet.
type openQuestions struct {
	*gatherer
	all *[]question
}

func (o openQuestions) add(q question) {
	if !slices.Contains(*o.all, q) {
		*o.all = append(*o.all, q)
	}
}

// person wants to know who u is; nil while that is not known. Who cannot be looked up is nobody regular, and neither is
// anybody of another workspace, of whom nothing is asked.
func (o openQuestions) person(u UserID) *Person {
	a := o.persons.find(u)
	switch {
	case u.Workspace() != o.at.ws:
		return &Person{ID: u}
	case a == nil:
		o.add(question{person: u})
		return nil
	case a.err != nil:
		return &Person{ID: u}
	}
	return &a.value
}

// membership wants to know whether the set names u: the groups one after the other, as one that has them is enough.
func (o openQuestions) membership(a Approvers, u UserID) {
	if slices.Contains(a.Users, u) {
		return
	}
	for _, group := range a.Groups {
		switch members := o.groups.find(group); {
		case members == nil:
			o.add(question{group: group})
			return
		case members.err == nil && slices.Contains(members.value, u):
			return
		}
	}
	if a.ChannelMembers {
		o.channelOf(u)
	}
}

// channelOf wants to know whether u is in the conversation's channel.
func (o openQuestions) channelOf(u UserID) {
	if !o.at.place.Direct && o.channel.find(u) == nil {
		o.add(question{inChannel: u})
	}
}

// exceptions wants to know whether the freezes of q that may be in force at the time except u.
func (o openQuestions) exceptions(q *Requirement, u UserID, now time.Time) {
	for _, z := range q.Freeze {
		if z.near(now) {
			o.membership(z.Except, u)
		}
	}
}

// atOnce calls do with each number below n, mostAtOnce of them at a time, and returns when all have returned. What is
// put off, which may be because of the others, is done once more, one after the other. A panic goes on where atOnce was
// called.
func atOnce(n int, do func(i int) error) {
	if n == 1 {
		_ = do(0)
		return
	}
	var wg sync.WaitGroup
	var panicked sync.Map
	off := make([]bool, n)
	room := make(chan struct{}, mostAtOnce)
	for i := range n {
		room <- struct{}{}
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked.Store(i, fmt.Sprintf("%v\n\n%s", p, debug.Stack()))
				}
				<-room
			}()
			_, off[i] = errors.AsType[*RetryError](do(i))
		})
	}
	wg.Wait()
	for _, p := range panicked.Range {
		panic(p)
	}
	for i := range n {
		if off[i] {
			_ = do(i)
		}
	}
}
