package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"countersign/approvals"
	"countersign/internal/rapidtest"
)

// Compare drives the store and a [Memory] with the same random transactions, and compares what every call says and
// what both hold in the end, jobs included. Transactions commit, fail or panic; in between the store is closed and
// opened again. That is done n times, unless -rapid.checks says otherwise.
func Compare(t *testing.T, n int, open func(t testing.TB) Harness) {
	rapidtest.CheckFew(t, n, func(r *rapid.T) {
		real, model := open(t), NewMemory()
		m := &machine{rapid: r, report: r, t: t, harness: real, real: real.Open(), model: model.Open(), data: model}
		defer func() { m.real.Close() }()
		r.Repeat(map[string]func(*rapid.T){
			"commit": func(*rapid.T) { m.transact(nil) },
			"fail":   func(*rapid.T) { m.transact(errors.New("refused")) },
			"panic":  func(*rapid.T) { m.transactAndPanic() },
			"reopen": func(*rapid.T) { m.reopen() },
		})
		m.compare()
		m.compareJobs()
	})
}

// machine holds a store and its model.
type machine struct {
	rapid   *rapid.T
	report  reporter
	t       testing.TB
	harness Harness
	real    approvals.Store
	model   approvals.Store
	data    *Memory
}

// reporter is told what differs.
type reporter interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// operation is one call, made on both stores, or a few that belong together; its result is compared. What it returns
// as an error ends the transaction: a store may find out only at the end that a put cannot be, and be spoiled by it.
type operation func(tx approvals.Tx) (string, error)

func (m *machine) transact(outcome error) {
	ops := rapid.SliceOfN(rapid.Custom(drawOperation), 1, 8).Draw(m.rapid, "operations")
	var results [2][]string
	var errs [2]error
	for i, s := range []approvals.Store{m.real, m.model} {
		errs[i] = s.Update(m.t.Context(), func(tx approvals.Tx) error {
			results[i] = nil
			for _, op := range ops {
				said, err := op(tx)
				if err != nil {
					return err
				}
				results[i] = append(results[i], said)
			}
			return outcome
		})
	}
	if (outcome != nil || len(ops) > 1) && errs[0] != nil && errs[1] != nil {
		return // for one of the reasons there are: a deferred put may fail after a later one
	}
	if d := diff(sentinel(errs[1]), sentinel(errs[0])); d != "" {
		m.report.Fatalf("how the transaction ended (-model +store):\n%s%v", d, errs[0])
	}
	if errs[0] != nil {
		return
	}
	if d := diff(results[1], results[0]); d != "" {
		m.report.Fatalf("what the calls said (-model +store):\n%s", d)
	}
}

func (m *machine) transactAndPanic() {
	defer func() {
		if r := recover(); r != nil && r != any("boom") {
			panic(r)
		}
	}()
	op := rapid.Custom(drawOperation).Draw(m.rapid, "operation")
	m.real.Update(m.t.Context(), func(tx approvals.Tx) error {
		if _, err := op(tx); err != nil {
			return err
		}
		panic("boom")
	})
}

func (m *machine) reopen() {
	if err := errors.Join(m.real.Close(), m.model.Close()); err != nil {
		m.report.Fatal(err)
	}
	m.real, m.model = m.harness.Open(), m.data.Open()
	m.compare()
}

// compare reads everything that the operations may have written.
func (m *machine) compare() {
	var contents [2][]string
	for i, s := range []approvals.Store{m.real, m.model} {
		err := s.View(m.t.Context(), func(tx approvals.Tx) error {
			contents[i] = nil
			for _, read := range allReads() {
				said, err := read(tx)
				if err != nil {
					return err
				}
				contents[i] = append(contents[i], said)
			}
			return nil
		})
		if err != nil {
			m.report.Fatal(err)
		}
	}
	if d := diff(contents[1], contents[0]); d != "" {
		m.report.Fatalf("what the stores hold (-model +store):\n%s", d)
	}
}

// compareJobs has the store handle its jobs, and compares them with those of the model. It does not wait for jobs that
// are not in the model: it sees them only when they come before the others.
func (m *machine) compareJobs() {
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	want := map[queueName]bool{}
	due, _ := m.data.begin(ctx, false).due()
	for _, d := range due {
		want[nameOf(&d.job.Job)] = true
	}
	if len(want) == 0 {
		return
	}
	jobs := make(chan queueName, 1000)
	done := make(chan error, 1)
	go func() {
		done <- m.real.Dispatch(ctx, func(_ context.Context, j approvals.Job) error {
			jobs <- nameOf(&j)
			return nil
		})
	}()
	for left := len(want); left > 0; left-- {
		select {
		case name := <-jobs:
			if !want[name] {
				m.report.Fatalf("job %v was handled, which is none, or once too often", name)
			}
			delete(want, name)
		case <-ctx.Done():
			m.report.Fatalf("jobs that were not handled: %v", want)
		}
	}
	cancel()
	if err := <-done; err != nil {
		m.report.Fatal(err)
	}
}

// sentinel puts an error into words. Only those are told apart that the contract does.
func sentinel(err error) string {
	for _, known := range []error{approvals.ErrNotFound, approvals.ErrInvalid} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		return "error"
	}
	return ""
}

// say puts what a getter returned into words. Not to be found is an answer.
func say(v any, err error) (string, error) {
	if errors.Is(err, approvals.ErrNotFound) {
		return approvals.ErrNotFound.Error(), nil
	}
	if err != nil {
		return "", err
	}
	data, err := marshal(v)
	return string(data), err
}

// done is what a write says.
func done(err error) (string, error) { return "done", err }

// together says two things.
func together(v any, n int, err error) (string, error) {
	said, err := say(v, err)
	return fmt.Sprintf("%s and %d", said, n), err
}
