package storetest

import (
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// TestCompareControl puts one thing into one of two stores: the comparison must notice each.
func TestCompareControl(t *testing.T) {
	t.Parallel()
	d := drawn{ws: "T1", id: "1", place: machinePlace("1"), copy: "dm:U1", n: 1, at: machineTime(1), raw: []byte(`{}`),
		status: approvals.RequestApproved}
	later := d
	later.n = 3 // a dead letter, a chunk further on, an ended run
	puts := append(append(d.records(), d.pieces()...), append(later.records(), later.pieces()...)...)
	noticed := 0
	for i, put := range puts {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(machineTime(0)) + time.Hour) // when jobs are due; bubbles begin in the year 2000
			m, changed := halfDone(t, put)
			defer m.real.Close()
			if !changed {
				return
			}
			noticed++
			failed := fails(func(r *recorder) {
				m.report = r
				m.compare()
				m.compareJobs()
			})
			if !failed {
				t.Errorf("operation %d of %d on one store alone is not noticed", i, len(puts))
			}
		})
	}
	if noticed < len(puts)*2/3 {
		t.Errorf("control: only %d of %d operations changed anything", noticed, len(puts))
	}
}

// halfDone returns two stores on one of which an operation was done, and whether it changed something that can be read.
func halfDone(t *testing.T, put operation) (m *machine, changed bool) {
	data := NewMemory()
	model := data.Open()
	before := data.root.Load()
	err := model.Update(t.Context(), func(tx approvals.Tx) error {
		_, err := put(tx)
		return err
	})
	m = &machine{t: t, real: NewMemory().Open(), model: model, data: data}
	if err != nil {
		return m, false
	}
	for k := range data.root.Load().from("") {
		// Events can only be asked for by recording them.
		if before.get(k) == nil && len(k) > 4 && k[:4] != "once" {
			changed = true
		}
	}
	return m, changed
}

// fails reports whether fn fails the test it is given.
func fails(fn func(r *recorder)) bool {
	r := new(recorder)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fn(r)
	}()
	<-ended
	return r.failed.Load()
}

// TestAgreeControl has one of two stores hold something more, and another one refuse something: the comparison must
// notice both.
func TestAgreeControl(t *testing.T) {
	t.Parallel()
	d := drawn{ws: "T1", id: "1", place: machinePlace("1"), n: 1, at: machineTime(1), raw: []byte(`{}`)}
	put := named{"a put", func(tx approvals.Tx) (string, error) { return done(tx.PutRun(d.run())) }}
	get := named{"a get", func(tx approvals.Tx) (string, error) { return say(tx.Run(d.ws, "1")) }}
	for name, spoil := range map[string]func(p *pair){
		"more": func(p *pair) {
			more := *p
			more.stores[1] = NewMemory().Open()
			more.apply([]named{put})
		},
		"refuses": func(p *pair) {
			if err := p.stores[1].Close(); err != nil {
				t.Error(err)
			}
		},
		"nothing": func(p *pair) { p.apply([]named{put}) },
	} {
		failed := fails(func(r *recorder) {
			p := &pair{report: r, t: t, stores: [2]approvals.Store{NewMemory().Open(), NewMemory().Open()}}
			spoil(p)
			p.apply([]named{get})
		})
		if want := name != "nothing"; failed != want {
			t.Errorf("%s: noticed %v, want %v", name, failed, want)
		}
	}
}
