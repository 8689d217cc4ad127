package approvals_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"countersign/approvals"
	"countersign/store/storetest"
)

// TestRequestHasOneWinnerAmongReplicas is TestRequestHasOneWinner through two processes on one store that repeats its
// transactions and does not always know of its commits, while the time for an answer ends too.
func TestRequestHasOneWinnerAmongReplicas(t *testing.T) {
	t.Parallel()
	rounds, ends := uint64(15), map[approvals.RequestStatus]int{}
	if *long {
		rounds = 300
	}
	for seed := range rounds {
		synctest.Test(t, func(t *testing.T) {
			history, end := rushReplicas(t, seed)
			ends[end]++
			if !porcupine.CheckOperations(oneWinner, history) {
				t.Fatalf("seed %d: no order explains %+v", seed, history)
			}
		})
	}
	for _, s := range []approvals.RequestStatus{approvals.RequestApproved, approvals.RequestExpired} {
		if ends[s] == 0 {
			t.Errorf("no request was %s at the end: %v", s, ends)
		}
	}
}

// rushReplicas has everybody act at once on a request, in a bubble, and returns what they were told, and how it ended.
func rushReplicas(t *testing.T, seed uint64) (history []porcupine.Operation, end approvals.RequestStatus) {
	t.Helper()
	chaos := storetest.Havoc(seed)
	c := newCluster(t, 2, storetest.Chaos{})
	c.bench.model(asks(call("c1", "pay", `{"amount":1}`)))
	if _, err := c.service[0].Submit(t.Context(), c.bench.submission(ann, place, "please")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Second)
	r := c.pending()[0]
	c.stopWorking()
	c.data.Unreliable(chaos)
	var tick atomic.Int64 // virtual time stands still meanwhile: what counts is what came before what
	var mu sync.Mutex
	var all sync.WaitGroup
	gate := make(chan struct{})
	random := rand.New(rand.NewPCG(seed, 3))
	act := func(client int, in answer, do func(s *approvals.Service) (seen, bool)) {
		s := c.service[random.IntN(2)]
		pause := random.IntN(3)
		all.Go(func() {
			<-gate
			time.Sleep(time.Duration(pause) * time.Millisecond)
			call := tick.Add(1)
			out, told := do(s)
			done := tick.Add(1)
			mu.Lock()
			defer mu.Unlock()
			if told {
				history = append(history,
					porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: done})
			}
		})
	}
	read := func(s *approvals.Service) *approvals.Request {
		got, err := s.Recorded(t.Context(), ws, r.ID)
		if err != nil {
			t.Error(err)
		}
		return got
	}
	for i, by := range []approvals.UserID{ann, bob, cara} {
		verdict := []approvals.Verdict{approvals.Approve, approvals.Reject, approvals.AlwaysApprove}[i]
		act(i, answer{by, verdict}, func(s *approvals.Service) (out seen, told bool) {
			d := approvals.Decision{ID: approvals.DecisionID(fmt.Sprint("dec_", by)), Workspace: ws, Request: r.ID,
				By: by, Verdict: verdict, Digest: r.Digest, Via: "button"}
			var got *approvals.Request
			var err error
			c.again("decide", func() error {
				got, err = s.Decide(t.Context(), d)
				if errors.Is(err, approvals.ErrConflict) || errors.Is(err, approvals.ErrExpired) {
					return nil
				}
				return err
			})
			// Too late, and nobody has recorded yet that it is: that says nothing about who wins.
			told = err == nil || got != nil && got.Status != approvals.RequestPending
			return stands(got, err == nil), told
		})
	}
	act(3, answer{by: ann}, func(s *approvals.Service) (seen, bool) {
		c.again("cancel", func() error {
			_, err := s.CancelRun(t.Context(), ws, r.Run, ann, "")
			if errors.Is(err, approvals.ErrEnded) {
				return nil
			}
			return err
		})
		got := read(s)
		return stands(got, got.Status == approvals.RequestCancelled), true
	})
	for i := range 3 {
		act(4+i, answer{}, func(s *approvals.Service) (seen, bool) { return stands(read(s), false), true })
	}
	expire := tick.Add(1)
	all.Go(func() {
		<-gate
		time.Sleep(time.Duration(seed%3) * time.Millisecond)
		c.data.Advance(25 * time.Hour)
		c.again("expire", func() error { return c.service[seed%2].Expire(t.Context(), ws, r.ID) })
	})
	close(gate)
	all.Wait()
	c.data.Unreliable(storetest.Chaos{})
	last := read(c.service[0])
	if last.Status == approvals.RequestExpired { // by whoever noticed first
		history = append(history, porcupine.Operation{ClientId: 9, Input: answer{by: "time"}, Call: expire,
			Output: seen{status: approvals.RequestExpired, by: "time", won: true}, Return: tick.Add(1)})
		for i, op := range history {
			if out := op.Output.(seen); out.status == approvals.RequestExpired {
				out.by = "time"
				history[i].Output = out
			}
		}
	}
	c.stop()
	return history, last.Status
}
