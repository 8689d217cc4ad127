package simulation_test

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"sync"
	"time"
)

// dice draws by lot for one seed. Each name has draws of its own: the nth draw of a name falls the same whoever asks,
// so a schedule is nearly the same each time although goroutines run as they like.
type dice struct {
	seed uint64

	mu       sync.Mutex
	calm     bool
	draws    map[string]*rand.Rand
	struckBy map[string]int
}

func newDice(seed uint64) *dice {
	return &dice{seed: seed, draws: map[string]*rand.Rand{}, struckBy: map[string]int{}}
}

// n draws from 0 up to below n.
func (d *dice) n(name string, n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.draws[name]
	if r == nil {
		h := fnv.New64a()
		h.Write([]byte(name))
		r = rand.New(rand.NewPCG(d.seed, h.Sum64()))
		d.draws[name] = r
	}
	return r.IntN(n)
}

// fault reports whether a fault happens that has so many chances in a thousand; none does once it is calm.
func (d *dice) fault(name string, inThousand int) bool {
	d.mu.Lock()
	calm := d.calm
	d.mu.Unlock()
	if calm || inThousand == 0 || d.n(name, 1000) >= inThousand {
		return false
	}
	d.strike(name)
	return true
}

// strike notes that a fault has happened.
func (d *dice) strike(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.struckBy[name]++
}

// struck counts the faults that have happened by name.
func (d *dice) struck() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.struckBy)
}

// pause draws a duration up to most.
func (d *dice) pause(name string, most time.Duration) time.Duration {
	return time.Duration(d.n(name, int(most/time.Millisecond)+1)) * time.Millisecond
}

// rest ends all faults.
func (d *dice) rest() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calm = true
}
