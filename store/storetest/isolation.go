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
		{"WriteSkew", "when the last two requests of a run are decided at once, one of the two must wake the run",
			testWriteSkew},
		{"Claim",
			"one worker executes a run; an ended lease can be taken over; an older epoch writes nothing", testClaim},
		{"AuditRace", "the audit has no gap and no fork, however many write at once", testAuditRace},
		{"SealRace", "two sealers at once, the lease of one having ended, must not fork the chain", testSealRace},
		{"OnceRace", "an event delivered twice at once is taken once", testOnceRace},
		{"Snapshot", "a page of requests and the counts beside it must be of one moment", testSnapshot},
		{"OneRead", "what says that it reads once and reads again must not mix two moments", testOneRead},
	}
}

// overlap runs two functions in transactions of which neither commits before both have read, as far as the store lets
// them: each calls read in between. The second is of another process, if the store serves several. It returns their
// errors.
func (s *suite) overlap(a, b func(tx approvals.Tx, read func()) error) (errA, errB error) {
	var firstRead, secondRead sync.Once
	first, second := make(chan struct{}), make(chan struct{})
	elsewhere := s.replica()
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
		errB = elsewhere.Update(s.ctx, func(tx approvals.Tx) error {
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
			err = errors.Join(err, tx.PutRequestHead(head(mine, approvals.RequestApproved)))
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

// nextInChain returns the number of the chain's next entry, and the hash that links it.
func nextInChain(tx approvals.Tx) (seq uint64, prev agent.Digest, err error) {
	head, err := tx.AuditHead(ws)
	switch {
	case errors.Is(err, approvals.ErrNotFound):
		return 1, prev, nil
	case err != nil:
		return 0, prev, err
	}
	return head.Seq + 1, head.Hash, nil
}

// expectChain checks that the chain has so many entries, each linked to the one before.
func (s *suite) expectChain(n int) {
	s.Helper()
	s.view(func(tx approvals.Tx) error {
		list, err := tx.AuditEntries(ws, 1, 10*n)
		if len(list) != n {
			s.Errorf("%d entries, want %d", len(list), n)
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

func testAuditRace(s *suite) {
	link := func(tx approvals.Tx, read func()) error {
		seq, prev, err := nextInChain(tx)
		if err != nil {
			return err
		}
		read()
		e := entry(seq)
		e.Prev, e.Hash = prev, agent.Digest{byte(seq)}
		return tx.AppendAudit(e)
	}
	for range 2 {
		errA, errB := s.overlap(link, link)
		s.must(errors.Join(errA, errB))
	}
	s.expectChain(4)
}

func testSealRace(s *suite) {
	s.update(func(tx approvals.Tx) error {
		return tx.AppendAudit(unsealed("aud_1"), unsealed("aud_2"), unsealed("aud_3"))
	})
	seal := func(tx approvals.Tx, read func()) error {
		list, err1 := tx.UnsealedAudit(ws, 2)
		seq, prev, err2 := nextInChain(tx)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		read()
		for i, e := range list {
			e.Seq, e.Prev, e.Hash = seq+uint64(i), prev, agent.Digest{byte(seq) + byte(i)}
			prev = e.Hash
		}
		return tx.SealAudit(list...)
	}
	errA, errB := s.overlap(seal, seal)
	s.must(errors.Join(errA, errB))
	s.expectChain(3)
	s.view(func(tx approvals.Tx) error {
		list, err := tx.UnsealedAudit(ws, 10)
		same(s, "unsealed", nil, list)
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
		before, err := tx.RequestHead(ws, "req_1")
		if err != nil {
			return err
		}
		done := make(chan error, 1)
		go func() {
			done <- s.store.Update(s.ctx, func(tx approvals.Tx) error {
				r := head("req_1", approvals.RequestApproved)
				r.Version = before.Version + 1
				return tx.PutRequestHead(r)
			})
		}()
		if err := await(s, "a commit while somebody reads", done); err != nil {
			return err
		}
		page, _, err1 := tx.QueryRequests(approvals.RequestQuery{Workspace: ws, Limit: 10})
		after, err2 := tx.Request(ws, "req_1")
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		same(s, "the snapshot", []*approvals.RequestHead{before, before}, append(page, &after.RequestHead))
		return nil
	})
}

// testOneRead has a View that is marked as one that reads once read twice, with a commit in between the first time.
func testOneRead(s *suite) {
	put := func(version int64) error {
		return s.store.Update(s.ctx, func(tx approvals.Tx) error {
			a, b := run("run_1", approvals.RunWaiting), run("run_2", approvals.RunWaiting)
			a.Version, b.Version = version, version
			return errors.Join(tx.PutRun(a), tx.PutRun(b))
		})
	}
	s.must(put(1))
	meanwhile := sync.OnceValue(func() error {
		done := make(chan error, 1)
		go func() { done <- put(2) }()
		return await(s, "a commit while somebody reads", done)
	})
	var first, second *approvals.Run
	err := s.store.View(approvals.WithOneRead(s.ctx, true), func(tx approvals.Tx) (err error) {
		if first, err = tx.Run(ws, "run_1"); err != nil {
			return err
		}
		if err := meanwhile(); err != nil {
			return err
		}
		second, err = tx.Run(ws, "run_2")
		return err
	})
	s.must(err)
	if first.Version != second.Version {
		s.Errorf("it has read versions %d and %d of what is written together", first.Version, second.Version)
	}
}
