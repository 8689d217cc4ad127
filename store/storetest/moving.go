package storetest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/rapidtest"
	"countersign/store/transfer"
)

// Moving is a store of the kind under test for [Transfer].
type Moving struct {
	Target func() transfer.Target // opens it to move into it; it is empty at first
	Source func() transfer.Source // opens it, once it was moved into, to move out of it
}

// Transfer fills a [Memory] at random, moves it into the store and from there into another Memory, each move
// interrupted now and then, and compares the two: what every read says, and what the jobs are. That is done n times,
// unless -rapid.checks says otherwise.
func Transfer(t *testing.T, n int, open func(t testing.TB) Moving) {
	rapidtest.CheckFew(t, n, func(r *rapid.T) {
		data := fillAtRandom(t, r)
		back := thereAndBack(t, r, data, open(t), nil)
		m := &machine{report: r, t: t, real: back.Open(), model: data.Open(), data: data}
		m.compareForms(r, data, back)
		m.compare()
		m.compareJobs()
	})
}

// thereAndBack moves data into the store and from there into data that it returns. What leave returns, if it is given,
// is moved in the place of the data.
func thereAndBack(
	t testing.TB, r *rapid.T, data *Memory, store Moving, leave func(transfer.Source) transfer.Source,
) *Memory {
	t.Helper()
	if leave == nil {
		leave = func(s transfer.Source) transfer.Source { return s }
	}
	moveTo(t, r, leave(data.Transfer()), store.Target)
	back := NewMemory()
	from := store.Source()
	moveTo(t, r, from, back.Transfer)
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
	return back
}

var errInterrupted = errors.New("interrupted")

// moveTo moves, and begins again as often as it is interrupted.
func moveTo(t testing.TB, r *rapid.T, from transfer.Source, open func() transfer.Target) {
	t.Helper()
	for left := rapid.IntRange(0, 3).Draw(r, "interruptions"); ; left-- {
		to := open()
		cut := &cutTarget{Target: to, left: -1}
		if left > 0 {
			cut.left = rapid.IntRange(0, 12).Draw(r, "imports before it")
			cut.done = rapid.Bool().Draw(r, "after the commit")
		}
		_, err := transfer.Move(t.Context(), from, cut, transfer.Options{From: "a test"})
		if cerr := to.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		switch {
		case err == nil:
			return
		case !errors.Is(err, errInterrupted):
			t.Fatal(err)
		}
	}
}

// fillAtRandom returns data on which random transactions were done, with audit chains that hold.
func fillAtRandom(t testing.TB, r *rapid.T) *Memory {
	t.Helper()
	data := NewMemory()
	s := data.Open()
	for range rapid.IntRange(1, 12).Draw(r, "transactions") {
		ops := rapid.SliceOfN(rapid.Custom(drawOperation), 1, 12).Draw(r, "operations")
		s.Update(t.Context(), func(tx approvals.Tx) error {
			for _, op := range ops {
				if _, err := op(tx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data.apply(mendTrails)
	return data
}

// mendTrails gives all audit entries the digests that they would have, if those who append them were the domain.
func mendTrails(t *memoryTx) {
	last := &approvals.AuditEntry{}
	for k, v := range t.rows(everywhere("unsealed"), "") {
		e := *look[approvals.AuditEntry](v)
		e.Content = contentOf(&e)
		t.setEntry(k, &e)
	}
	for k, v := range t.rows(everywhere("audit"), "") {
		e := *look[approvals.AuditEntry](v)
		if last.Workspace != e.Workspace {
			last = &approvals.AuditEntry{}
		}
		if e.ID == "" {
			e.ID = approvals.AuditID("sealed-" + number(e.Seq)[7:])
		}
		e.Prev, e.Content = last.Hash, contentOf(&e)
		e.Hash = linkOf(&e)
		t.setEntry(k, &e)
		t.setEntry(key("audit head", e.Workspace), &e)
		last = &e
	}
}

func (t *memoryTx) setEntry(k string, e *approvals.AuditEntry) {
	data, err := marshal(e)
	if err != nil {
		panic(err)
	}
	t.set(k, data)
}

// contentOf and linkOf are written after docs/audit.md, not after the code that they are to be compared with.
func contentOf(e *approvals.AuditEntry) agent.Digest {
	b := hashed(nil, "countersign.audit/2", string(e.Workspace), string(e.ID))
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixNano()))
	plain := ""
	if len(e.Data) > 0 {
		var said map[string]any
		if err := json.Unmarshal(e.Data, &said); err != nil {
			panic(err)
		}
		sorted, err := json.Marshal(said)
		if err != nil {
			panic(err)
		}
		plain = string(sorted)
	}
	return sha256.Sum256(hashed(b, string(e.Action), e.Actor, string(e.Run), string(e.Request), plain))
}

func linkOf(e *approvals.AuditEntry) agent.Digest {
	b := binary.BigEndian.AppendUint64(hashed(nil, "countersign.audit.link/2"), e.Seq)
	return sha256.Sum256(append(append(b, e.Prev[:]...), e.Content[:]...))
}

func hashed(b []byte, list ...string) []byte {
	for _, s := range list {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
	}
	return b
}

// compareForms compares all records, those too that no method of a transaction reads.
func (m *machine) compareForms(r reporter, want, got *Memory) {
	for _, kind := range transfer.Kinds() {
		if d := diff(formsOf(m.t, want, kind), formsOf(m.t, got, kind)); d != "" {
			r.Fatalf("%s (-before +after):\n%s", kind, d)
		}
	}
}

func formsOf(t testing.TB, data *Memory, kind transfer.Kind) (forms []string) {
	t.Helper()
	s := data.Transfer()
	defer s.Close()
	for r, err := range s.Records(t.Context(), kind, nil) {
		if err != nil {
			t.Fatal(err)
		}
		forms = append(forms, string(transfer.Form(r)))
	}
	return forms
}
