package pgstore

import (
	"cmp"
	"container/heap"
	"strings"
	"time"

	"countersign/approvals"
)

// jobKey is the key of a job.
type jobKey struct {
	ws   approvals.WorkspaceID
	kind approvals.JobKind
	id   string
}

func keyOf(j *approvals.Job) jobKey { return jobKey{j.Workspace, j.Kind, j.ID} }

// compare orders keys as the table does.
func (k jobKey) compare(o jobKey) int {
	return cmp.Or(strings.Compare(text(k.ws), text(o.ws)), strings.Compare(text(k.kind), text(o.kind)),
		strings.Compare(text(k.id), text(o.id)))
}

// maxHandlers bounds the handlers of one kind over all groups, where the kind has no bound of its own. It only protects
// memory.
const maxHandlers = 4096

// maxReady bounds the keys of one group that a replica remembers. Of what is beyond them the table is asked when they
// run out.
const maxReady = 1000

// readyQueue holds the keys of the jobs of one kind that may be due, in groups. Groups are served in turns, one job
// at a time; within a group jobs keep the order in which they were found. A group without a free slot is not looked
// at, so that what is started costs the same however many jobs wait.
type readyQueue struct {
	slots   int // handlers at once, per group
	most    int // handlers at once, over all groups
	running int
	waiting int // keys in all groups
	groups  map[string]*readyGroup
	turn    []*readyGroup // groups with a waiting job and a free slot, the next one first
}

// readyGroup is a fairness group. It exists while it has jobs that wait or run.
type readyGroup struct {
	name    string
	keys    []jobKey
	more    bool // the table may have further ones
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

// add puts a key behind the others of its group and reports whether it was kept.
func (q *readyQueue) add(group string, k jobKey) bool {
	g := q.group(group)
	if len(g.keys) >= maxReady {
		g.more = true
		return false
	}
	g.keys = append(g.keys, k)
	q.waiting++
	q.update(g)
	return true
}

// next takes the first key of the group whose turn it is. Nothing is ready for a free slot when g is nil.
func (q *readyQueue) next() (g *readyGroup, k jobKey) {
	if len(q.turn) == 0 || q.running >= q.most {
		return nil, jobKey{}
	}
	g = q.turn[0]
	q.turn = q.turn[1:]
	g.inTurn = false
	k = g.keys[0]
	g.keys = g.keys[1:]
	q.waiting--
	return g, k
}

// started takes a slot of the group from which next took a key; the caller has to, and frees it with ended.
func (q *readyQueue) started(g *readyGroup) {
	g.running++
	q.running++
	q.update(g)
}

// ended frees a slot of the group and reports whether the group's keys have run out while the table may have more.
func (q *readyQueue) ended(name string) (ranOut bool) {
	g := q.group(name)
	g.running--
	q.running--
	ranOut = g.more && len(g.keys) == 0
	if ranOut {
		g.more = false
	}
	q.update(g)
	return ranOut
}

// full reports whether a job of the group would find no free slot, or others that wait for it.
func (q *readyQueue) full(name string) bool {
	if q.running+q.waiting >= q.most {
		return true
	}
	g := q.groups[name]
	return g != nil && g.running+len(g.keys) >= q.slots
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

// soonJob is a key to look at when its time has come, by the local clock.
type soonJob struct {
	at  time.Time
	key jobKey
}

// soonQueue holds keys that are to be looked at later, the next one first. Entries are hints: the table says when a
// job is due.
type soonQueue []soonJob

func (q soonQueue) Len() int           { return len(q) }
func (q soonQueue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q soonQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *soonQueue) Push(x any)        { *q = append(*q, x.(soonJob)) }

func (q *soonQueue) Pop() any {
	last := len(*q) - 1
	j := (*q)[last]
	(*q)[last] = soonJob{}
	*q = (*q)[:last]
	return j
}

// add keeps a key until its time.
func (q *soonQueue) add(j soonJob) { heap.Push(q, j) }

// next takes a key whose time has come.
func (q *soonQueue) next(now time.Time) (k jobKey, ok bool) {
	if len(*q) == 0 || (*q)[0].at.After(now) {
		return jobKey{}, false
	}
	return heap.Pop(q).(soonJob).key, true
}
