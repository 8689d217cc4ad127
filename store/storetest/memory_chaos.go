package storetest

import (
	"hash/fnv"
	"math"
	"slices"
	"sync"
	"time"

	"countersign/approvals"
)

// Chaos is what a Memory may do to its users within the contract of [approvals.Store]. The zero Chaos does nothing.
type Chaos struct {
	// Seed decides the draws: the n-th draw of a kind always falls the same. Which caller it hits depends on who comes
	// first, unless the callers are in a fixed order.
	Seed uint64

	// Rerun runs the closure of every View and Update twice, as a store does that repeats a transaction after a
	// conflict. What the first run did and returned is thrown away; it may see an older state than the second.
	Rerun bool
	// Defer carries puts out at the next read or at the end of the closure. An error that needs a look at the data
	// comes only then, and spoils the transaction. Records are still copied, and their keys checked, when they are
	// put.
	Defer bool
	// Unknown is the share of Updates, from 0 to 1, that return [approvals.ErrCommitUnknown]: half of them were
	// committed.
	Unknown float64
	// ShortPages has QueryRequests look at three records a call.
	ShortPages bool

	// Late is the share of jobs that are handed out late, and so overtaken by others, by up to Delay.
	Late  float64
	Delay time.Duration
	// Twice is the share of jobs that are handed out a second time, up to Delay after the first, and whatever becomes
	// of that: often to another Dispatch, often while the first handler is still at work.
	Twice float64
	// Lose is the share of jobs, of the kinds in LoseKinds, that are never handed out, until they are enqueued again.
	Lose      float64
	LoseKinds []approvals.JobKind
}

// Havoc returns a Chaos that does everything but lose jobs, often.
func Havoc(seed uint64) Chaos {
	return Chaos{Seed: seed, Rerun: true, Defer: true, Unknown: 0.1, ShortPages: true,
		Late: 0.3, Delay: 2 * time.Second, Twice: 0.3}
}

// Unreliable makes the stores do from now on what c says, and returns m. Unreliable(Chaos{}) ends all that: what is
// held back still comes when it was to come, and what was lost stays lost until it is enqueued again.
func (m *Memory) Unreliable(c Chaos) *Memory {
	c.LoseKinds = slices.Clone(c.LoseKinds)
	m.dice.reset(c.Seed)
	m.chaos.Store(&c)
	m.wake()
	return m
}

// looks is how many records one call of QueryRequests looks at.
func (c *Chaos) looks() int {
	if c.ShortPages {
		return 3
	}
	return 100
}

// dice draws by lot. Each name has draws of its own, which depend on the seed and on how often the name was asked.
type dice struct {
	mu    sync.Mutex
	seed  uint64
	draws map[string]uint64
}

func (d *dice) reset(seed uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seed, d.draws = seed, map[string]uint64{}
}

// roll reports true in the given share of cases.
func (d *dice) roll(name string, share float64) bool {
	return share > 0 && d.draw(name) < share
}

// draw returns the name's next number, from 0 up to 1.
func (d *dice) draw(name string) float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draws == nil {
		d.draws = map[string]uint64{}
	}
	d.draws[name]++
	h := fnv.New64a()
	h.Write([]byte(name))
	return float64(mix(h.Sum64()+mix(d.seed+d.draws[name]*0x9e3779b97f4a7c15))>>11) / math.Exp2(53)
}

// pause draws up to d.
func (d *dice) pause(name string, upTo time.Duration) time.Duration {
	return time.Duration(d.draw(name) * float64(upTo))
}
