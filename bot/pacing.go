package bot

import (
	"sync"
	"time"
)

// pacing learns how often Slack takes a method in a channel. Nothing is slowed down until Slack says 429; then calls
// keep a distance that halves with every success until it is gone.
type pacing struct {
	mu    sync.Mutex
	lanes map[string]*pace
}

type pace struct {
	next     time.Time // not before
	distance time.Duration
}

const (
	firstDistance = time.Second
	mostDistance  = 30 * time.Second
	leastDistance = 100 * time.Millisecond
)

func newPacing() *pacing { return &pacing{lanes: map[string]*pace{}} }

// wait returns how long the next call of the method in the channel has to wait; zero takes the turn.
func (p *pacing) wait(method, channel string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	lane, ok := p.lanes[method+" "+channel]
	if !ok {
		return 0
	}
	now := time.Now()
	if d := lane.next.Sub(now); d > 0 {
		return d
	}
	lane.next = now.Add(lane.distance)
	return 0
}

// done reports how a call went: after is what Slack asked to wait, zero for a success.
func (p *pacing) done(method, channel string, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := method + " " + channel
	lane, ok := p.lanes[key]
	switch {
	case after > 0 && !ok:
		p.lanes[key] = &pace{next: time.Now().Add(after), distance: firstDistance}
	case after > 0:
		lane.next = time.Now().Add(after)
		lane.distance = min(2*lane.distance, mostDistance)
	case ok:
		lane.distance /= 2
		if lane.distance < leastDistance {
			delete(p.lanes, key)
		}
	}
}
