package storetest

import (
	"context"
	"sync"
	"time"

	"countersign/approvals"
)

// forgetting returns a store that loses everything when nobody has it open.
func forgetting() func() approvals.Store {
	return counting(func(data *Memory, open int) *Memory {
		if open == 0 {
			return NewMemory()
		}
		return data
	}, func(s approvals.Store, _ func() int) approvals.Store { return s })
}

// handsOutTwice returns a store that hands out everything twice when there are three.
func handsOutTwice() func() approvals.Store {
	same := func(data *Memory, _ int) *Memory { return data }
	return counting(same, func(s approvals.Store, open func() int) approvals.Store {
		return handling(func(ctx context.Context, j approvals.Job, h handle) error {
			if open() > 2 {
				h(ctx, j)
			}
			return h(ctx, j)
		})(s)
	})
}

// counting returns stores that know how many there are. next tells what is there for the next, when so many are open.
func counting(next func(data *Memory, open int) *Memory,
	wrap func(s approvals.Store, open func() int) approvals.Store) func() approvals.Store {
	var mu sync.Mutex
	data, open := NewMemory(), 0
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return open
	}
	return func() approvals.Store {
		mu.Lock()
		defer mu.Unlock()
		data = next(data, open)
		open++
		var once sync.Once
		return closing{wrap(data.Open(), count), func() {
			once.Do(func() {
				mu.Lock()
				defer mu.Unlock()
				open--
			})
		}}
	}
}

// closing tells when it was closed.
type closing struct {
	approvals.Store
	closed func()
}

func (s closing) Close() error {
	defer s.closed()
	return s.Store.Close()
}

// apart returns stores each of which has a clock of its own.
func apart() func() approvals.Store {
	data := NewMemory()
	var mu sync.Mutex
	opened := 0
	return func() approvals.Store {
		mu.Lock()
		defer mu.Unlock()
		ahead := time.Duration(opened) * time.Second
		opened++
		return clockOf(func(at time.Time, _, _ int) time.Time { return at.Add(ahead) })(data.Open())
	}
}
