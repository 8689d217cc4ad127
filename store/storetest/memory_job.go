package storetest

import (
	"encoding/binary"
	"time"

	"countersign/approvals"
)

// queuedJob is a job that is planned.
type queuedJob struct {
	approvals.Job
	// Given is the generation that a handler is at work on, 0 when none is.
	Given uint64 `json:"given,omitempty"`
	// Again is when to run again after that, because it was enqueued meanwhile.
	Again *time.Time `json:"again,omitempty"`
	// NotBefore was asked for by a handler.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Paused is when it was.
	Paused time.Time `json:"paused,omitzero"`

	// Decided says that Chaos was asked what to do with it: it is Lost, held back until Hold, or neither.
	Decided bool      `json:"decided,omitempty"`
	Lost    bool      `json:"lost,omitempty"`
	Hold    time.Time `json:"hold,omitzero"`
}

// handlerMark says that a handler is at work on a key. It stays when the job is deleted.
type handlerMark struct {
	Store      int       `json:"store"`
	Generation uint64    `json:"generation"`
	Job        queueName `json:"job"`
}

// queueName is the key of a job.
type queueName struct {
	Workspace approvals.WorkspaceID `json:"workspace"`
	Kind      approvals.JobKind     `json:"kind"`
	ID        string                `json:"id"`
}

func nameOf(j *approvals.Job) queueName { return queueName{j.Workspace, j.Kind, j.ID} }

func (n queueName) job() string  { return key("job", n.Workspace, string(n.Kind), n.ID) }
func (n queueName) mark() string { return key("handler", n.Workspace, string(n.Kind), n.ID) }

func (t *memoryTx) Enqueue(jobs ...approvals.Job) error {
	for _, j := range jobs {
		if err := identified(j.Workspace, string(j.Kind), j.ID); err != nil {
			return err
		}
		j = own(j)
		if err := t.change(func() error { return t.enqueue(j) }); err != nil {
			return err
		}
	}
	return t.usable(true)
}

func (t *memoryTx) enqueue(j approvals.Job) error {
	at := nameOf(&j).job()
	m := &queuedJob{Job: j}
	m.Attempts = 0
	if v := t.root.get(at); v != nil {
		old, err := decode[queuedJob](v)
		if err != nil {
			return err
		}
		old.enqueued(j)
		if old.Paused.After(t.now) || old.NotBefore.After(t.now.Add(approvals.MaxPause)) {
			old.NotBefore, old.Paused = time.Time{}, time.Time{}
		}
		m = old
	}
	m.Generation = t.nextGeneration()
	m.Decided, m.Lost, m.Hold = false, false, time.Time{}
	return t.setJob(m)
}

// enqueued takes over what is newer. A field that the newer job leaves empty stays as it is.
func (m *queuedJob) enqueued(j approvals.Job) {
	switch {
	case m.Given == 0:
		m.Due = earliest(m.Due, j.Due)
	case m.Again == nil || j.Due.Before(*m.Again):
		m.Again = &j.Due
	}
	if j.Place != nil {
		m.Place = j.Place
	}
	if j.Copy != "" {
		m.Copy = j.Copy
	}
	if j.Group != "" {
		m.Group = j.Group
	}
}

func (t *memoryTx) DeleteJob(ws approvals.WorkspaceID, kind approvals.JobKind, id string) error {
	return t.change(func() error {
		t.remove(queueName{ws, kind, id}.job())
		t.jobs = true
		return nil
	})
}

func (t *memoryTx) setJob(m *queuedJob) error {
	data, err := marshal(m)
	t.set(nameOf(&m.Job).job(), data)
	t.jobs = true
	return err
}

// nextGeneration counts what is ever enqueued, so that a key's generation grows even when the job was gone in between.
func (t *memoryTx) nextGeneration() uint64 {
	k := everywhere("generation")
	n := uint64(1)
	if v := t.root.get(k); v != nil {
		n += binary.BigEndian.Uint64(v.data)
	}
	t.set(k, []byte(number(n)))
	return n
}

func latest(times ...time.Time) time.Time {
	var newest time.Time
	for _, t := range times {
		if t.After(newest) {
			newest = t
		}
	}
	return newest
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
