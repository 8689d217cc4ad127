package storetest

import (
	"context"
	"errors"
	"testing"

	"countersign/approvals"
	"countersign/store/transfer"

	"pgregory.net/rapid"
)

// memoryMoving is data in memory as a store to move into.
func memoryMoving(testing.TB) Moving {
	data := NewMemory()
	return Moving{Target: data.Transfer, Source: func() transfer.Source { return data.Transfer() }}
}

// TestTransferMemory moves data in memory into other data in memory, and back.
func TestTransferMemory(t *testing.T) {
	t.Parallel()
	Transfer(t, 100, memoryMoving)
}

// filledData has a record of each kind.
func filledData(t *testing.T) *Memory {
	t.Helper()
	data := NewMemory()
	s := data.Open()
	defer s.Close()
	err := s.Update(t.Context(), everything)
	if err != nil {
		t.Fatal(err)
	}
	data.apply(func(t *memoryTx) {
		for k, v := range t.rows(everywhere("job"), "") { // due at a time that is the same at each look
			j := *look[queuedJob](v)
			j.Due = machineTime(0)
			t.set(k, must(marshal(&j)))
		}
		mendTrails(t)
	})
	return data
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// TestTransferControl leaves out one kind of record: the comparison of Transfer must notice each, and Move must where
// it is left out on one side alone.
func TestTransferControl(t *testing.T) {
	t.Parallel()
	for _, kind := range transfer.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			data := filledData(t)
			if len(formsOf(t, data, kind)) == 0 {
				t.Fatal("there is none to be left out")
			}
			to := NewMemory().Transfer()
			_, err := transfer.Move(t.Context(), data.Transfer(), &deaf{to, kind}, transfer.Options{})
			if !errors.Is(err, transfer.ErrDiffers) {
				t.Errorf("a target that loses them: %v", err)
			}
			if kind == transfer.KindCounter {
				return // every store has one: a source cannot fail to tell of it
			}
			whole := rapidly(t, func(r *rapid.T) *Memory { return thereAndBack(t, r, data, memoryMoving(t), nil) })
			lossyOne := rapidly(t, func(r *rapid.T) *Memory {
				leave := func(s transfer.Source) transfer.Source { return lossy{s, kind} }
				return thereAndBack(t, r, data, memoryMoving(t), leave)
			})
			m := &machine{t: t}
			if fails(func(r *recorder) { m.compareForms(r, data, whole) }) {
				t.Error("what was moved whole is found to differ")
			}
			if !fails(func(r *recorder) { m.compareForms(r, data, lossyOne) }) {
				t.Error("that they are lost is not noticed")
			}
		})
	}
}

// rapidly runs fn once with something to draw from.
func rapidly(t *testing.T, fn func(*rapid.T) *Memory) (data *Memory) {
	t.Helper()
	data = rapid.Custom(fn).Example(1)
	return data
}

// deaf is a target that loses the records of a kind.
type deaf struct {
	transfer.Target
	kind transfer.Kind
}

func (d *deaf) Import(ctx context.Context, records []transfer.Record, m transfer.Mark) error {
	if len(records) > 0 && records[0].Kind() == d.kind {
		records = nil
	}
	return d.Target.Import(ctx, records, m)
}

// TestMoveRefuses shows what Move does not move into, or not out of.
func TestMoveRefuses(t *testing.T) {
	t.Parallel()
	begun := func(t *testing.T, data *Memory) *Memory { // half of a move of the data
		to := NewMemory()
		cut := &cutTarget{Target: to.Transfer(), left: 4}
		_, err := transfer.Move(t.Context(), data.Transfer(), cut, transfer.Options{})
		if !errors.Is(err, errInterrupted) {
			t.Fatal(err)
		}
		return to
	}
	for _, c := range []struct {
		name string
		to   func(t *testing.T, from *Memory) *Memory
		want error
	}{
		{"an empty store", func(*testing.T, *Memory) *Memory { return NewMemory() }, nil},
		{"its own half", begun, nil},
		{"a full store", func(t *testing.T, _ *Memory) *Memory { return filledData(t) }, transfer.ErrNotEmpty},
		{"half of another", func(t *testing.T, _ *Memory) *Memory {
			data := filledData(t)
			data.apply(func(tx *memoryTx) { tx.Enqueue(job("run_3")) })
			return begun(t, data)
		}, transfer.ErrOther},
		{"half of what it was", func(t *testing.T, from *Memory) *Memory {
			to := begun(t, from)
			s := from.Open()
			defer s.Close()
			err := s.Update(t.Context(), func(tx approvals.Tx) error { return tx.Enqueue(job("run_2")) })
			if err != nil {
				t.Fatal(err)
			}
			return to
		}, transfer.ErrOther},
		{"half of another version", func(t *testing.T, from *Memory) *Memory {
			to := begun(t, from)
			s := to.Transfer()
			m, err := s.Mark(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m.Version++
			if err := s.Import(t.Context(), nil, *m); err != nil {
				t.Fatal(err)
			}
			return to
		}, transfer.ErrOther},
		{"what somebody has worked on since", func(t *testing.T, from *Memory) *Memory {
			to := begun(t, from)
			to.apply(func(tx *memoryTx) { tx.PutGrant(grant("grant_0")) })
			return to
		}, transfer.ErrDiffers},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from := filledData(t)
			to := c.to(t, from).Transfer()
			if _, err := transfer.Move(t.Context(), from.Transfer(), to, transfer.Options{}); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			mark, err := to.Mark(t.Context())
			if err != nil || (c.want == nil) != (mark == nil) && c.want != transfer.ErrNotEmpty {
				t.Errorf("afterwards it is marked %v, %v", mark, err)
			}
		})
	}
}

// changing is a target during whose last import somebody works on the source.
type changing struct {
	transfer.Target
	from *Memory
}

func (c *changing) Import(ctx context.Context, records []transfer.Record, m transfer.Mark) error {
	if m.Complete {
		c.from.apply(func(tx *memoryTx) { tx.Enqueue(job("run_9")) })
	}
	return c.Target.Import(ctx, records, m)
}

// TestMoveNoticesWork has somebody work on the source while it is moved.
func TestMoveNoticesWork(t *testing.T) {
	t.Parallel()
	from := filledData(t)
	to := &changing{NewMemory().Transfer(), from}
	_, err := transfer.Move(t.Context(), from.Transfer(), to, transfer.Options{})
	if !errors.Is(err, transfer.ErrChanged) && !errors.Is(err, transfer.ErrDiffers) {
		t.Errorf("%v", err)
	}
}

// TestMoveBrokenTrail shows that a trail that does not hold is not moved.
func TestMoveBrokenTrail(t *testing.T) {
	t.Parallel()
	from := filledData(t)
	from.apply(func(tx *memoryTx) {
		for k, v := range tx.rows(everywhere("audit"), "") {
			e := *look[approvals.AuditEntry](v)
			e.Actor = "somebody else"
			tx.setEntry(k, &e)
		}
	})
	_, err := transfer.Move(t.Context(), from.Transfer(), NewMemory().Transfer(), transfer.Options{})
	if _, ok := errors.AsType[*approvals.AuditError](err); !ok {
		t.Errorf("an altered entry: %v", err)
	}
}
