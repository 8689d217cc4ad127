package pgstore

import "time"

// leftFor is for how long a job that needs a newer version of the program is left to other replicas.
const leftFor = time.Minute

// leaveToOthers has this replica keep away from a job for a while.
func (d *scheduler) leaveToOthers(now time.Time, k jobKey) {
	d.log.Error("a job needs a newer version of the program, and is left to other replicas: upgrade this one",
		"kind", k.kind, "id", k.id)
	d.others[k] = now.Add(leftFor)
	d.soon.add(soonJob{at: now.Add(leftFor), key: k})
	d.wake = true
}

// leftToOthers reports whether the job is still left to others.
func (d *scheduler) leftToOthers(now time.Time, k jobKey) bool {
	until, left := d.others[k]
	if left && !now.Before(until) {
		delete(d.others, k)
		return false
	}
	return left
}
