package boltstore

import "container/heap"

// soonQueue holds the jobs of the bucket queue that are not due yet, the next one first. Like every announcement an
// entry is a hint: the file says when the job is due by now.
type soonQueue []readyJob

func (q soonQueue) Len() int           { return len(q) }
func (q soonQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q soonQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *soonQueue) Push(x any)        { *q = append(*q, x.(readyJob)) }

func (q *soonQueue) Pop() any {
	last := len(*q) - 1
	j := (*q)[last]
	(*q)[last] = readyJob{}
	*q = (*q)[:last]
	return j
}

// add keeps a job until it is due.
func (q *soonQueue) add(j readyJob) { heap.Push(q, j) }

// next takes a job that is due at the instant.
func (q *soonQueue) next(now uint64) (j readyJob, ok bool) {
	if len(*q) == 0 || instant((*q)[0].due) > now {
		return readyJob{}, false
	}
	return heap.Pop(q).(readyJob), true
}
