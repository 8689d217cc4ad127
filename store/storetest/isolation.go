package storetest

import (
	"errors"
	"sync"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

func isolation() []promise {
	return []promise{
		{"LostUpdate", "two people who answer at once must both be counted", testLostUpdate},
		{"WriteSkew", "when the last two requests of a run are decided at once, one of the two must wake the run", testWriteSkew},
		{"Claim", "one worker executes a run; an ended lease can be taken over; an older epoch writes nothing", testClaim},
		{"AuditRace", "the audit has no gap and no fork, however many write at once", testAuditRace},
		{"OnceRace", "an event delivered twice at once is taken once", testOnceRace},
		{"Snapshot", "a page of requests and the counts beside it must be of one moment", testSnapshot},
	}
}

// overlap runs two functions in transactions of which neither commits before both have read, as far as the store lets
// them: each calls read in between. It returns their errors.
func (s *suite) overlap(a, b func(tx approvals.Tx, read func()) error) (errA, errB error) {
	var firstRead, secondRead sync.Once
	first, second := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		errA = s.store.Update(s.ctx, func(tx approvals.Tx) error {
			return a(tx, func() {
				firstRead.Do(func() { close(first) })
				settle(second)
			})
		})
	})
	await(s, "the first transaction to read", first)
	wg.Go(func() {
		errB = s.store.Update(s.ctx, func(tx approvals.Tx) error {
			return b(tx, func() { secondRead.Do(func() { close(second) }) })
		})
	})
	wg.Wait()
	return errA, errB
}

func testLostUpdate(s *suite) {
	s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_1", approvals.RunQueued)) })
	add := func(tx approvals.Tx, read func()) error {
		r, err := tx.Run(ws, "run_1")
		if err != nil {
			return err
		}
		read()
		r.Version++
		return tx.PutRun(r)
	}
	errA, errB := s.overlap(add, add)
	s.must(errors.Join(errA, errB))
	s.expectVersion(2)
}

func testWriteSkew(s *suite) {
	s.update(func(tx approvals.Tx) error {
		return errors.Join(
			tx.PutRun(run("run_1", approvals.RunWaiting)),
			tx.PutRequest(request("req_1", approvals.RequestPending)),
			tx.PutRequest(request("req_2", approvals.RequestPending)))
	})
	decide := func(mine approvals.RequestID) func(tx approvals.Tx, read func()) error {
		return func(tx approvals.Tx, read func()) error {
			open := 0
			list, err := tx.RequestsOfRun(ws, "run_1")
			for _, r := range list {
				if r.ID != mine && r.Status == approvals.RequestPending {
					open++
				}
			}
			read()
			err = errors.Join(err, tx.PutRequest(request(mine, approvals.RequestApproved)))
			if open > 0 {
				return err
			}
			return errors.Join(err, tx.PutRun(run("run_1", approvals.RunQueued)))
		}
	}
	errA, errB := s.overlap(decide("req_1"), decide("req_2"))
	s.must(errors.Join(errA, errB))
	s.view(func(tx approvals.Tx) error {
		r, err := tx.Run(ws, "run_1")
		if err == nil && r.Status != approvals.RunQueued {
			s.Errorf("both requests are decided and the run is still %s", r.Status)
		}
		return err
	})
}

var errTaken = errors.New("taken")

// claim takes the lease of the run unless somebody has it.
func claim(tx approvals.Tx, owner string, at time.Time, read func()) error {
	r, err := tx.Run(ws, "run_1")
	if err != nil {
		return err
	}
	read()
	if at.Before(r.LeaseUntil) {
		return errTaken
	}
	r.Status, r.Owner, r.LeaseUntil = approvals.RunRunning, owner, at.Add(time.Minute)
	r.Epoch++
	return tx.PutRun(r)
}

func testClaim(s *suite) {
	s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_1", approvals.RunQueued)) })
	at := now()
	by := func(owner string) func(tx approvals.Tx, read func()) error {
		return func(tx approvals.Tx, read func()) error { return claim(tx, owner, at, read) }
	}
	errA, errB := s.overlap(by("a"), by("b"))
	if (errA == nil) == (errB == nil) {
		s.Errorf("claims at once: %v and %v, want one winner", errA, errB)
	}
	s.update(func(tx approvals.Tx) error { return claim(tx, "c", at.Add(2*time.Minute), func() {}) })
	err := s.store.Update(s.ctx, func(tx approvals.Tx) error {
		r, err := tx.Run(ws, "run_1")
		if err == nil && r.Epoch != 1 { // the first winner's
			err = approvals.ErrFenced
		}
		return err
	})
	if !errors.Is(err, approvals.ErrFenced) {
		s.Errorf("a write of the first winner after the lease was taken over: %v, want ErrFenced", err)
	}
}

func testAuditRace(s *suite) {
	link := func(tx approvals.Tx, read func()) error {
		e := entry(1)
		head, err := tx.AuditHead(ws)
		switch {
		case err == nil:
			e.Seq, e.Prev = head.Seq+1, head.Hash
		case !errors.Is(err, approvals.ErrNotFound):
			return err
		}
		read()
		e.Hash = agent.Digest{byte(e.Seq)}
		return tx.PutAudit(e)
	}
	for range 2 {
		errA, errB := s.overlap(link, link)
		s.must(errors.Join(errA, errB))
	}
	s.view(func(tx approvals.Tx) error {
		list, err := tx.AuditEntries(ws, 1, 10)
		if len(list) != 4 {
			s.Errorf("%d entries, want 4", len(list))
		}
		var prev agent.Digest
		for i, e := range list {
			if e.Seq != uint64(i+1) || e.Prev != prev {
				s.Errorf("entry %d has number %d, linked to the one before: %v", i+1, e.Seq, e.Prev == prev)
			}
			prev = e.Hash
		}
		return err
	})
}

func testOnceRace(s *suite) {
	take := func(tx approvals.Tx, read func()) error {
		ok, err := tx.Once(ws, "event", now())
		read()
		if err == nil && ok {
			err = bump(tx)
		}
		return err
	}
	s.update(func(tx approvals.Tx) error { return tx.PutRun(run("run_1", approvals.RunQueued)) })
	errA, errB := s.overlap(take, take)
	s.must(errors.Join(errA, errB))
	s.expectVersion(1)
}

func testSnapshot(s *suite) {
	s.update(func(tx approvals.Tx) error { return tx.PutRequest(request("req_1", approvals.RequestPending)) })
	s.view(func(tx approvals.Tx) error {
		before, err := tx.PendingRequests(ws, "", 10)
		if err != nil {
			return err
		}
		done := make(chan error)
		go func() {
			done <- s.store.Update(s.ctx, func(tx approvals.Tx) error {
				return tx.PutRequest(request("req_1", approvals.RequestApproved))
			})
		}()
		if err := await(s, "a commit while somebody reads", done); err != nil {
			return err
		}
		after, err := tx.Request(ws, "req_1")
		if err == nil && (len(before) != 1 || after.Status != approvals.RequestPending) {
			s.Errorf("the snapshot changed: %d pending, then %s", len(before), after.Status)
		}
		return err
	})
}
