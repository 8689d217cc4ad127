package pgstore

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/approvals"
)

// overlapping has callers of one transaction read and write the same rows: one counts up the same run, the other
// decides the last two requests of a run. It returns the version of the one and the status of the other.
func overlapping(t *testing.T, cfg Config) (uint64, approvals.RunStatus) {
	s := openStore(t, newURL(t), cfg)
	putRuns(t, s, "run_1", "run_2")
	err := s.Update(t.Context(), func(tx approvals.Tx) error {
		var all error
		for _, id := range []approvals.RequestID{"req_1", "req_2"} {
			q := &approvals.Request{RequestHead: approvals.RequestHead{Workspace: "T1", ID: id, Run: "run_2",
				Status: approvals.RequestPending}}
			q.Arguments = []byte(`{}`)
			all = errors.Join(all, tx.PutRequest(q))
		}
		return all
	})
	if err != nil {
		t.Fatal(err)
	}
	errs := sharing(t, s, 5, func(i int) func(*tx) error {
		return func(tx *tx) error { return bump(tx, "run_1") }
	})
	errs = append(errs, sharing(t, s, 2, func(i int) func(*tx) error {
		mine := []approvals.RequestID{"req_1", "req_2"}[i]
		return func(tx *tx) error {
			open := 0
			list, err := tx.RequestsOfRun("T1", "run_2")
			for _, r := range list {
				if r.ID == mine {
					r.Status = approvals.RequestApproved
					err = errors.Join(err, tx.PutRequestHead(r))
				} else if r.Status == approvals.RequestPending {
					open++
				}
			}
			if open > 0 {
				return err
			}
			woken := &approvals.Run{Workspace: "T1", ID: "run_2", Status: approvals.RunQueued}
			return errors.Join(err, tx.PutRun(woken))
		}
	})...)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var status approvals.RunStatus
	err = s.View(t.Context(), func(tx approvals.Tx) error {
		r, err := tx.Run("T1", "run_2")
		if err == nil {
			status = r.Status
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return version(t, s, "run_1"), status
}

// TestTogetherOverlap: callers of one transaction lose no update and see no skew.
func TestTogetherOverlap(t *testing.T) {
	t.Parallel()
	if n, status := overlapping(t, Config{straggling: time.Minute}); n != 5 || status != approvals.RunQueued {
		t.Errorf("a run that five have counted up has version %d; one whose requests are decided is %s", n, status)
	}
}

// TestTogetherLoose is the control: when nobody looks who reads what others write, neither of the two who decide wakes
// the run. That two write the same row the server itself notices, as they come in one statement.
func TestTogetherLoose(t *testing.T) {
	t.Parallel()
	n, status := overlapping(t, Config{straggling: time.Minute, loose: true})
	if n != 5 || status != approvals.RunWaiting {
		t.Errorf("version %d, %s, although nobody looked", n, status)
	}
}

// balances are two from which callers take, each from one of them alone, and only as long as both together hold
// something.
type balances struct {
	t      *testing.T
	stores []*Store
	took   atomic.Int64
}

var ErrEmpty = errors.New("nothing is left")

func newBalances(t *testing.T, held int, stores ...*Store) *balances {
	err := stores[0].Update(t.Context(), func(tx approvals.Tx) error {
		return errors.Join(
			tx.PutRun(&approvals.Run{Workspace: "T1", ID: "run_0", Status: approvals.RunWaiting, StateItems: held}),
			tx.PutRun(&approvals.Run{Workspace: "T1", ID: "run_1", Status: approvals.RunWaiting}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return &balances{t: t, stores: stores}
}

// read returns both runs, and what they hold together.
func (b *balances) read(tx approvals.Tx) (both [2]*approvals.Run, held int, err error) {
	for i := range both {
		if both[i], err = tx.Run("T1", approvals.RunID(fmt.Sprintf("run_%d", i))); err != nil {
			return both, 0, err
		}
		held += both[i].StateItems
	}
	return both, held, nil
}

// take takes one from the balance of the caller.
func (b *balances) take(i int) error {
	err := b.stores[i/2%len(b.stores)].Update(b.t.Context(), func(tx approvals.Tx) error {
		both, held, err := b.read(tx)
		if err == nil && held <= 0 {
			err = ErrEmpty
		}
		if err != nil {
			return err
		}
		both[i%2].StateItems--
		return tx.PutRun(both[i%2])
	})
	if err == nil {
		b.took.Add(1)
	}
	return err
}

// check says whether as much was taken as there was.
func (b *balances) check(held int) error {
	left := 0
	err := b.stores[0].View(b.t.Context(), func(tx approvals.Tx) (err error) {
		_, left, err = b.read(tx)
		return err
	})
	if n := int(b.took.Load()); err == nil && (n != held || left != 0) {
		err = fmt.Errorf("of %d, %d were taken, and %d are left", held, n, left)
	}
	return err
}

// TestTogetherSkew: nobody takes what somebody else takes from the other balance, be that in the same transaction or in
// another process.
func TestTogetherSkew(t *testing.T) {
	t.Parallel()
	const held = 40
	url := newURL(t)
	b := newBalances(t, held, openStore(t, url, Config{}), openStore(t, url, Config{}))
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			var err error
			for err == nil {
				err = b.take(i)
			}
			if !errors.Is(err, ErrEmpty) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := b.check(held); err != nil {
		t.Error(err)
	}
}

// TestTogetherSkewLoose is the control: two of one transaction take the last one, each from another balance, unless
// somebody looks.
func TestTogetherSkewLoose(t *testing.T) {
	t.Parallel()
	for _, loose := range []bool{false, true} {
		b := newBalances(t, 1, openStore(t, newURL(t), Config{straggling: time.Minute, loose: loose}))
		errs := withHeld(t, b.stores[0], 2, b.take)
		if err := b.check(1); (err != nil) != loose {
			t.Errorf("loose %v: %v; the callers: %v", loose, err, errs)
		}
	}
}
