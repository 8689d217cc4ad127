package boltstore

import (
	"errors"
	"maps"
	"sync"
	"time"

	"countersign/approvals"
)

// ledger holds the jobs that were handled well and are still in the file. Writing them out rides on the next commit:
// losing the ledger only repeats jobs.
type ledger struct {
	mu   sync.Mutex
	gens map[string]uint64 // by job key: handled up to this generation
}

func newLedger() *ledger { return &ledger{gens: make(map[string]uint64)} }

func (l *ledger) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.gens)
}

func (l *ledger) add(key string, gen uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gens[key] = gen
}

func (l *ledger) drop(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.gens, key)
}

// snapshot returns a copy of what the ledger holds now.
func (l *ledger) snapshot() map[string]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.gens)
}

// ride writes the ledger in t. The result is told whether t was committed. An entry that cannot be written stays.
func (l *ledger) ride(t *tx) func(committed bool) {
	list := l.snapshot()
	for key, gen := range list {
		if err := t.answerJob([]byte(key), gen); err != nil {
			delete(list, key)
		}
	}
	return func(committed bool) {
		if !committed {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for key, gen := range list {
			if l.gens[key] == gen {
				delete(l.gens, key)
			}
		}
	}
}

// answerJob removes the wants of a job up to gen, and the job when none is left.
func (t *tx) answerJob(k []byte, gen uint64) (err error) {
	defer t.end(t.begin(), &err)
	rec, err := t.job(k)
	if errors.Is(err, approvals.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	rec.answer(gen)
	return t.putJob(k, rec, time.Now())
}

// retryJob plans to handle again what failed at generation gen.
func (t *tx) retryJob(k []byte, gen uint64, cause error, now time.Time) (err error) {
	defer t.end(t.begin(), &err)
	rec, err := t.job(k)
	if errors.Is(err, approvals.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if asked, ok := errors.AsType[*approvals.RetryError](cause); ok {
		rec.retry(gen, now.Add(asked.After), true)
	} else {
		rec.retry(gen, now.Add(pause(rec.Attempts)), false)
	}
	return t.putJob(k, rec, now)
}
