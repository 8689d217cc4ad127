package approvals

import (
	"sync"
	"time"
)

// storeTime tells the store's time between transactions, without asking for it: what the last one said, and what has
// passed here since. The clock of this process may say something else, and decides nothing.
type storeTime struct {
	mu   sync.Mutex
	said time.Time
	here time.Time
}

// hear notes what the store's clock says now.
func (s *storeTime) hear(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said, s.here = now, time.Now()
}

// now returns the zero time while nothing was heard.
func (s *storeTime) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said.IsZero() {
		return noTime
	}
	return s.said.Add(time.Since(s.here))
}
