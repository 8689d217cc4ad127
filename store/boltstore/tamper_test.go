package boltstore

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// forger is somebody who can write a store's file, knows its form, and has no key.
type forger struct {
	*testing.T
	path  string
	chain []*approvals.AuditEntry // of T1, as the bot wrote it
}

// edit changes the file as its owner's program would, checksums and all.
func (f *forger) edit(fn func(t *tx) error) {
	f.Helper()
	s := open(f, f.path)
	defer s.Close()
	if err := s.change(fn); err != nil {
		f.Fatal(err)
	}
}

// write puts the entries in the place of the chain, each at its Seq.
func (f *forger) write(all []*approvals.AuditEntry) {
	f.Helper()
	written := readChain(f.T, f.path)
	f.edit(func(t *tx) error {
		for _, e := range written {
			if err := t.drop(bucketAudit, appendNumber(key("T1"), e.Seq)); err != nil {
				return err
			}
		}
		for _, e := range all {
			if err := t.put(bucketAudit, appendNumber(key("T1"), e.Seq), e); err != nil {
				return err
			}
		}
		return nil
	})
}

// at returns the entry with the number.
func (f *forger) at(seq uint64) *approvals.AuditEntry { return f.chain[seq-1] }

// renumber gives the entries the places in which they stand.
func renumber(all []*approvals.AuditEntry) []*approvals.AuditEntry {
	for i, e := range all {
		e.Seq = uint64(i + 1)
	}
	return all
}

// rehash links the entries anew from a place on, as docs/audit.md describes the chain.
func rehash(all []*approvals.AuditEntry, from uint64) []*approvals.AuditEntry {
	for i := from - 1; i < uint64(len(all)); i++ {
		if i > 0 {
			all[i].Prev = all[i-1].Hash
		}
		hashEntry(all[i])
	}
	return all
}

func hashEntry(e *approvals.AuditEntry) {
	text := func(b []byte, all ...string) []byte {
		for _, s := range all {
			b = append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
		}
		return b
	}
	said := []string{string(e.Action), e.Actor, string(e.Run), string(e.Request), string(e.Data)}
	at := binary.BigEndian.AppendUint64(nil, uint64(e.At.UnixNano()))
	seq := binary.BigEndian.AppendUint64(nil, e.Seq)
	if e.ID == "" {
		b := slices.Concat(text(nil, "countersign.audit/1", string(e.Workspace)), seq, at)
		e.Hash = sha256.Sum256(append(text(b, said...), e.Prev[:]...))
		return
	}
	b := append(text(nil, "countersign.audit/2", string(e.Workspace), string(e.ID)), at...)
	e.Content = sha256.Sum256(text(b, said...))
	e.Hash = sha256.Sum256(slices.Concat(text(nil, "countersign.audit.link/2"), seq, e.Prev[:], e.Content[:]))
}

// find returns the number of the newest entry of an action.
func (f *forger) find(action approvals.AuditAction) uint64 {
	f.Helper()
	for _, e := range slices.Backward(f.chain) {
		if e.Action == action {
			return e.Seq
		}
	}
	f.Fatalf("the chain has no %s", action)
	return 0
}

// claim returns an entry of a claim between the two checkpoints.
func (f *forger) claim() *approvals.AuditEntry {
	f.Helper()
	for seq := uint64(pointBefore + 1); seq <= pointBehind; seq++ {
		if f.at(seq).Action == approvals.AuditRunClaimed {
			return f.at(seq)
		}
	}
	f.Fatal("nothing was claimed between the checkpoints")
	return nil
}

// finding is what verify names; the zero finding: nothing.
type finding struct {
	kind       approvals.AuditFault
	seq, until uint64
}

// The place at which most attacks happen, and the newest entry of which there is a checkpoint before and behind it.
const attacked, pointBefore, pointBehind = 40, 30, 50

// attacks are what can be done to a trail. bare is what verify says with the store alone, kept what it says with the
// checkpoints. last is the number of the newest entry.
func attacks(f *forger) map[string]func() (bare, kept finding) {
	last := uint64(len(f.chain))
	same := func(x finding) (finding, finding) { return x, x }
	changed := finding{kind: approvals.FaultChanged, seq: attacked}
	missing := finding{kind: approvals.FaultMissing, seq: attacked}
	record := finding{kind: approvals.FaultRecord}
	rewritten := finding{approvals.FaultRewritten, pointBefore + 1, pointBehind}
	return map[string]func() (finding, finding){
		"nothing": func() (finding, finding) { return same(finding{}) },
		"an actor": func() (finding, finding) {
			f.at(attacked).Actor = "T1/UEVE"
			f.write(f.chain)
			return same(changed)
		},
		"an entry and its own hash": func() (finding, finding) {
			f.at(attacked).Actor = "T1/UEVE"
			hashEntry(f.at(attacked))
			f.write(f.chain)
			return same(changed)
		},
		"an entry and its link": func() (finding, finding) {
			f.at(attacked).Prev[3]++
			f.write(f.chain)
			return same(changed)
		},
		"the first is removed": func() (finding, finding) {
			f.write(f.chain[1:])
			return same(finding{kind: approvals.FaultMissing, seq: 1})
		},
		"one is removed": func() (finding, finding) {
			f.write(slices.Delete(f.chain, attacked-1, attacked))
			return same(missing)
		},
		"one is removed, the others moved up": func() (finding, finding) {
			f.write(renumber(slices.Delete(f.chain, attacked-1, attacked)))
			return same(missing)
		},
		"all are removed": func() (finding, finding) {
			f.write(nil)
			return finding{kind: approvals.FaultMissing, seq: 1}, finding{approvals.FaultCut, 1, last}
		},
		"the last is removed": func() (finding, finding) {
			f.write(f.chain[:last-1])
			return finding{}, finding{approvals.FaultCut, last, last}
		},
		"the end is cut off": func() (finding, finding) {
			f.write(f.chain[:last-12]) // behind it decisions were made
			return record, finding{approvals.FaultCut, last - 11, last}
		},
		"one is inserted": func() (finding, finding) {
			more := *f.at(attacked)
			more.Actor = "T1/UEVE"
			all := renumber(slices.Insert(f.chain, attacked-1, &more))
			more.Prev = all[attacked-2].Hash
			hashEntry(&more)
			f.write(all)
			return same(finding{kind: approvals.FaultInserted, seq: attacked})
		},
		"two have changed places": func() (finding, finding) {
			a, b := f.at(attacked), f.at(attacked+1)
			f.chain[attacked-1], f.chain[attacked] = b, a
			f.write(renumber(f.chain))
			return same(missing)
		},
		"a forged decision in the record": func() (finding, finding) {
			f.forgeRecord()
			return same(record)
		},
		"forged arguments": func() (finding, finding) {
			f.edit(func(t *tx) error {
				r, err := t.Request("T1", f.at(f.find(approvals.AuditDecision)).Request)
				if err != nil {
					return err
				}
				r.Arguments = []byte(`{"amount":1000000}`)
				return t.PutRequest(r)
			})
			return same(record)
		},
		"a request is removed": func() (finding, finding) {
			f.edit(func(t *tx) error {
				r, err := t.RequestHead("T1", f.at(f.find(approvals.AuditDecision)).Request)
				if err != nil {
					return err
				}
				return t.dropRequest(r)
			})
			return same(record)
		},
		"a forged effect": func() (finding, finding) {
			f.edit(func(t *tx) error {
				e := f.at(f.find(approvals.AuditRunSubmitted))
				return t.PutEffect(&approvals.EffectRecord{Workspace: "T1", Run: e.Run, ID: "eff_forged", Attempt: 1})
			})
			return same(record)
		},
		"an effect is removed": func() (finding, finding) { f.dropEffect(); return same(record) },
		"a forged decision, hashed anew": func() (finding, finding) {
			e := f.at(f.find(approvals.AuditDecision))
			e.Data = bytes.Replace(e.Data, []byte(`"approve"`), []byte(`"reject"`), 1)
			f.write(rehash(f.chain, e.Seq))
			return record, rewrittenFrom(e.Seq, last)
		},
		"a forged decision, hashed anew, with its record": func() (finding, finding) {
			seq := f.forgeRecord()
			e := f.at(seq)
			e.Data = bytes.Replace(e.Data, []byte(`"approve"`), []byte(`"always_approve"`), 1)
			f.write(rehash(f.chain, seq))
			return finding{}, rewrittenFrom(seq, last)
		},
		"a forged claim, hashed anew": func() (finding, finding) {
			e := f.claim() // no record has the time of one
			e.At = e.At.Add(time.Second)
			f.write(rehash(f.chain, e.Seq))
			return finding{}, rewritten
		},
		"the time of a decision, hashed anew": func() (finding, finding) {
			e := f.at(f.find(approvals.AuditDecision))
			e.At = e.At.Add(time.Second)
			f.write(rehash(f.chain, e.Seq))
			return record, rewrittenFrom(e.Seq, last)
		},
		"the last forged, hashed anew": func() (finding, finding) {
			f.at(last).At = f.at(last).At.Add(time.Second)
			f.write(rehash(f.chain, last))
			return finding{}, rewrittenFrom(last, last)
		},
		"an older copy of the file": func() (finding, finding) {
			old := gunzipped(f.T, "testdata/format2.db.gz")
			if err := os.WriteFile(f.path, old, 0o600); err != nil {
				f.Fatal(err)
			}
			n := uint64(len(readChain(f.T, f.path)))
			return finding{}, finding{approvals.FaultCut, n + 1, last}
		},
	}
}

// rewrittenFrom is the finding of a chain that was hashed anew from a place on.
func rewrittenFrom(seq, last uint64) finding {
	x := finding{approvals.FaultRewritten, 1, last}
	for _, point := range []uint64{pointBefore, pointBehind, last} {
		if point < seq {
			x.seq = point + 1
		} else if x.until = point; true {
			return x
		}
	}
	return x
}

// forgeRecord makes an approval of the newest decision one for later calls too, and returns its entry's number.
func (f *forger) forgeRecord() uint64 {
	f.Helper()
	for _, e := range slices.Backward(f.chain) {
		if e.Action != approvals.AuditDecision || !bytes.Contains(e.Data, []byte(`"approve"`)) || e.ID == "" {
			continue
		}
		f.edit(func(t *tx) error {
			r, err := t.RequestHead("T1", e.Request)
			if err != nil {
				return err
			}
			r.Decisions[len(r.Decisions)-1].Verdict = approvals.AlwaysApprove
			return t.PutRequestHead(r)
		})
		return e.Seq
	}
	f.Fatal("nobody has approved anything")
	return 0
}

func (f *forger) dropEffect() {
	f.Helper()
	run := f.at(f.find(approvals.AuditEffectDone)).Run
	f.edit(func(t *tx) error {
		all, err := t.EffectsOfRun("T1", run)
		if err != nil {
			return err
		}
		return t.drop(bucketEffects, key("T1", string(run), all[0].ID))
	})
}

func readChain(t *testing.T, path string) (all []*approvals.AuditEntry) {
	t.Helper()
	s := open(t, path)
	defer s.Close()
	err := s.View(t.Context(), func(tx approvals.Tx) (err error) {
		all, err = tx.AuditEntries("T1", 1, 1<<20)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTampering does to a store what can be done to it, and has verify name it: with the store alone where a chain
// without a key can show it, with checkpoints everything. SECURITY.md lists the rest.
func TestTampering(t *testing.T) {
	t.Parallel()
	whole := worked(t)
	path := newPath(t)
	write := func(path string) {
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path)
	chain := readChain(t, path)
	mine := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	points := signed(chain, mine)
	for name := range attacks(&forger{T: t, chain: chain}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			write(path)
			f := &forger{T: t, path: path, chain: readChain(t, path)}
			bare, kept := attacks(f)[name]()
			if got := named(t, path, nil); got != bare {
				t.Errorf("the store alone: %+v, want %+v", got, bare)
			}
			if got := named(t, path, points); got != kept {
				t.Errorf("with checkpoints: %+v, want %+v", got, kept)
			}
		})
	}
	t.Run("forged checkpoints", func(t *testing.T) {
		t.Parallel()
		rehash(chain, attacked) // whoever has another key signs what they have written
		theirs := ed25519.NewKeyFromSeed(append(make([]byte, 31), 1))
		for _, c := range signed(chain, theirs) {
			c.Key = approvals.KeyID(mine.Public().(ed25519.PublicKey))
			if err := c.Check(mine.Public().(ed25519.PublicKey)); !errors.Is(err, approvals.ErrCheckpoint) {
				t.Errorf("the checkpoint of entry %d: %v", c.Seq, err)
			}
		}
	})
}

// signed are checkpoints of some entries and of the last one.
func signed(chain []*approvals.AuditEntry, key ed25519.PrivateKey) (all []approvals.Checkpoint) {
	var prev *approvals.Checkpoint
	for _, seq := range []int{pointBefore, pointBehind, len(chain)} {
		e := chain[seq-1]
		prev = approvals.NewCheckpoint(e, e.At, prev, key)
		all = append(all, *prev)
	}
	return all
}

// named is what verify finds.
func named(t *testing.T, path string, points []approvals.Checkpoint) finding {
	t.Helper()
	s := open(t, path)
	defer s.Close()
	report, err := approvals.VerifyAudit(t.Context(), s, approvals.VerifyOptions{Checkpoints: points})
	bad, ok := errors.AsType[*approvals.AuditError](err)
	switch {
	case err == nil && points != nil && (report.Workspaces[0].Proven == nil ||
		report.Workspaces[0].Proven.Seq != report.Workspaces[0].Entries):
		t.Errorf("not proven: %+v", report)
	case err != nil && !ok:
		t.Errorf("%v", err)
	case err != nil:
		t.Log(err)
		return finding{bad.Kind, bad.Seq, bad.Until}
	}
	return finding{}
}

// worked is the file of the frozen store after everything in it was decided: a chain that has both forms.
func worked(t *testing.T) (file []byte) {
	t.Helper()
	path := frozenStore(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(48 * time.Hour)
		s := open(t, path)
		defer s.Close()
		svc, stop := newFrozenWorld(t).start(t, s)
		for answered := -1; answered != 0; {
			calm()
			answered = answerAll(t, svc)
		}
		stop()
	})
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
