package boltstore

import (
	"sync"
	"time"

	"countersign/approvals"
)

// readyJob names a job that was enqueued, and when it is due; the zero time is at once.
type readyJob struct {
	kind  approvals.JobKind
	group string
	key   string
	due   time.Time
	soon  bool // it is in the bucket queue: the scheduler has to remember when it is due
}

// announcements tell the scheduler which jobs the commits have planned. They are hints: the file has the truth, and a
// scheduler that begins reads it.
type announcements struct {
	mu        sync.Mutex
	listening bool
	jobs      []readyJob
}

// listen begins or ends to keep what is announced.
func (a *announcements) listen(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listening, a.jobs = on, nil
}

func (a *announcements) add(jobs []readyJob) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.listening {
		a.jobs = append(a.jobs, jobs...)
	}
}

// take returns what was announced since the last time.
func (a *announcements) take() []readyJob {
	a.mu.Lock()
	defer a.mu.Unlock()
	jobs := a.jobs
	a.jobs = nil
	return jobs
}

// maxHandlers bounds the handlers of one kind over all groups, where the kind has no bound of its own. It only protects
// memory.
const maxHandlers = 4096

// readyQueue holds the keys of the jobs of one kind that may be due, in groups. Groups are served in turns, one job
// at a time; within a group jobs keep the order in which they were announced. A group without a free slot is not
// looked at, so that what is started costs the same however many jobs wait.
type readyQueue struct {
	slots   int // handlers at once, per group
	most    int // handlers at once, over all groups
	running int
	groups  map[string]*readyGroup
	turn    []*readyGroup // groups with a waiting job and a free slot, the next one first
}

// readyGroup is a fairness group. It exists while it has jobs that wait or run.
type readyGroup struct {
	name    string
	keys    []string
	running int
	inTurn  bool
}

func newReadyQueue(slots, most int) *readyQueue {
	return &readyQueue{slots: slots, most: most, groups: make(map[string]*readyGroup)}
}

func (q *readyQueue) group(name string) *readyGroup {
	g := q.groups[name]
	if g == nil {
		g = &readyGroup{name: name}
		q.groups[name] = g
	}
	return g
}

// add puts a key behind the others of its group.
func (q *readyQueue) add(group, key string) {
	g := q.group(group)
	g.keys = append(g.keys, key)
	q.update(g)
}

// ready reports whether a job waits for which there is a free slot.
func (q *readyQueue) ready() bool { return len(q.turn) > 0 && q.running < q.most }

// next takes the first key of the group whose turn it is. Nothing is ready for a free slot when g is nil.
func (q *readyQueue) next() (g *readyGroup, key string) {
	if !q.ready() {
		return nil, ""
	}
	g = q.turn[0]
	q.turn = q.turn[1:]
	g.inTurn = false
	key = g.keys[0]
	g.keys = g.keys[1:]
	return g, key
}

// started takes a slot of the group from which next took a job that is now being handled.
func (q *readyQueue) started(g *readyGroup) {
	g.running++
	q.running++
	q.update(g)
}

// skipped says that what next took from the group needs no slot.
func (q *readyQueue) skipped(g *readyGroup) { q.update(g) }

// ended frees the slot of a job of the group.
func (q *readyQueue) ended(name string) {
	g := q.group(name)
	g.running--
	q.running--
	q.update(g)
}

// update gives the group a turn when it has a waiting job and a free slot, and forgets it when it is empty.
func (q *readyQueue) update(g *readyGroup) {
	switch {
	case len(g.keys) == 0 && g.running == 0:
		delete(q.groups, g.name)
	case !g.inTurn && len(g.keys) > 0 && g.running < q.slots:
		g.inTurn = true
		q.turn = append(q.turn, g)
	}
}
