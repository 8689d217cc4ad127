package storetest

import (
	"context"
	"sync"
	"time"

	"countersign/approvals"
)

func clocks() []promise {
	return []promise{
		{"Now", "a decision and what follows from it happen at one time, which every store can keep", testNow},
		{"NowIsReal", "people are told when something happened, and how long they have", testNowIsReal},
		{"NowForward", "what is seen to have happened has not happened later", testNowForward},
		{"NowBetween", "what a store says of its time between two transactions lies between theirs", testNowBetween},
	}
}

func testNow(s *suite) {
	look := func(tx approvals.Tx) error {
		first := tx.Now()
		time.Sleep(2 * time.Millisecond) // time that must not show
		if again := tx.Now(); !again.Equal(first) {
			s.Errorf("now is %v, and %v later in the same transaction", first, again)
		}
		if first.Location() != time.UTC {
			s.Errorf("the time is in %v, want UTC", first.Location())
		}
		if !first.Equal(first.Truncate(time.Microsecond)) {
			s.Errorf("%v is not in whole microseconds", first)
		}
		return nil
	}
	s.view(look)
	s.update(look)
}

// A minute is what clocks of different machines may well differ by.
func testNowIsReal(s *suite) {
	begin := time.Now()
	at := s.now()
	if end := time.Now(); at.Before(begin.Add(-time.Minute)) || at.After(end.Add(time.Minute)) {
		s.Errorf("now is %v; the time here is between %v and %v", at, begin, end)
	}
}

func testNowBetween(s *suite) {
	timed, ok := s.store.(approvals.Timed)
	if !ok {
		return
	}
	before := s.now()
	for range 50 {
		between := timed.Now()
		after := s.now()
		if between.Before(before) || after.Before(between) {
			s.Errorf("a transaction began at %v, the store said %v, and the next began at %v", before, between, after)
		}
		if between.Location() != time.UTC || !between.Equal(between.Truncate(time.Microsecond)) {
			s.Errorf("%v is not in UTC and whole microseconds", between)
		}
		before = after
	}
}

func testNowForward(s *suite) {
	const callers, times = 6, 20
	var mu sync.Mutex
	var newest time.Time
	look := func(transact func(context.Context, func(approvals.Tx) error) error) {
		mu.Lock()
		before := newest
		mu.Unlock()
		var at time.Time
		err := transact(s.ctx, func(tx approvals.Tx) error {
			at = tx.Now()
			return nil
		})
		if err != nil {
			s.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if at.Before(before) {
			s.Errorf("now is %v before what it was", before.Sub(at))
		}
		if at.After(newest) {
			newest = at
		}
	}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range times {
				look(s.store.View)
				look(s.store.Update)
			}
		})
	}
	wg.Wait()
}
