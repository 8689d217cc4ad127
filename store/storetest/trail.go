package storetest

import (
	"errors"
	"fmt"
	"slices"

	"countersign/agent"
	"countersign/approvals"
)

func trail() []promise {
	return []promise{
		{"Audit", "a gap or a second entry in one place would be an entry that somebody could have removed", testAudit},
		{"AuditEntries", "the trail is exported and verified page by page", testAuditEntries},
		{"AuditUnsealed", "who decides waits for nobody else's entry, and the sealer finds each entry once",
			testAuditUnsealed},
		{"AuditRepeated", "a transaction that is repeated because nobody knew of its commit tells its story once",
			testAuditRepeated},
		{"AuditSeal", "sealing puts each entry in one place of the chain, and forgets none", testAuditSeal},
		{"AuditForms", "a trail that was begun by one process alone goes on when there are several", testAuditForms},
		{"AuditWorkspaces", "the sealer and the verifier find every tenant", testAuditWorkspaces},
		{"RecordedWorkspaces", "the verifier finds what a trail told of that was removed altogether",
			testRecordedWorkspaces},
	}
}

// append appends entries in a transaction of their own.
func (s *suite) append(entries ...*approvals.AuditEntry) error {
	return s.store.Update(s.ctx, func(tx approvals.Tx) error { return tx.AppendAudit(entries...) })
}

// seal seals entries in a transaction of their own.
func (s *suite) seal(entries ...*approvals.AuditEntry) error {
	return s.store.Update(s.ctx, func(tx approvals.Tx) error { return tx.SealAudit(entries...) })
}

// invalid checks that err is ErrInvalid.
func (s *suite) invalid(what string, err error) {
	s.Helper()
	if !errors.Is(err, approvals.ErrInvalid) {
		s.Errorf("%s: %v, want ErrInvalid", what, err)
	}
}

// expectTrail checks the sealed entries, by number and ID, and the unsealed ones.
func (s *suite) expectTrail(sealed []string, unsealed ...approvals.AuditID) {
	s.Helper()
	s.view(func(tx approvals.Tx) error {
		entries, err1 := tx.AuditEntries(ws, 0, 1000)
		waiting, err2 := tx.UnsealedAudit(ws, 1000)
		name := func(e *approvals.AuditEntry) string { return fmt.Sprint(e.Seq, e.ID) }
		same(s, "sealed entries", sealed, idsOf(entries, name))
		same(s, "unsealed entries", unsealed, idsOf(waiting, auditID))
		head, err3 := tx.AuditHead(ws)
		if len(sealed) == 0 && errors.Is(err3, approvals.ErrNotFound) {
			return errors.Join(err1, err2)
		}
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		same(s, "head", sealed[len(sealed)-1:], []string{name(head)})
		return nil
	})
}

func testAudit(s *suite) {
	for _, step := range []struct {
		seq uint64
		ok  bool
	}{{2, false}, {1, true}, {1, false}, {3, false}, {2, true}} {
		err := s.append(entry(step.seq))
		if (err == nil) != step.ok || err != nil && !errors.Is(err, approvals.ErrInvalid) {
			s.Errorf("entry %d: %v, want accepted %v, or ErrInvalid", step.seq, err, step.ok)
		}
	}
	s.must(s.append(entry(3), entry(4)))
	s.invalid("two entries with a gap between", s.append(entry(5), entry(7)))
	s.invalid("two entries in one place", s.append(entry(5), entry(5)))
	s.reopen()
	s.must(s.append())
	s.expectTrail([]string{"1", "2", "3", "4"})
	s.must(s.append(entry(5)))
}

func (s *suite) appendMany(n int) {
	s.Helper()
	s.update(func(tx approvals.Tx) error {
		for seq := range uint64(n) {
			if err := tx.AppendAudit(entry(seq + 1)); err != nil {
				return err
			}
		}
		return nil
	})
}

func testAuditEntries(s *suite) {
	const n = 300 // more than fits a byte
	s.appendMany(n)
	s.view(func(tx approvals.Tx) error {
		for _, c := range []struct {
			from  uint64
			limit int
			first uint64
			count int
		}{{0, 10, 1, 10}, {1, 1000, 1, n}, {255, 3, 255, 3}, {n, 5, n, 1}, {n + 1, 5, 0, 0}} {
			list, err := tx.AuditEntries(ws, c.from, c.limit)
			if err != nil {
				return err
			}
			if len(list) != c.count {
				s.Errorf("from %d, at most %d: %d entries, want %d", c.from, c.limit, len(list), c.count)
			}
			for i, e := range list {
				if e.Seq != c.first+uint64(i) {
					s.Errorf("from %d: entry %d has number %d", c.from, i, e.Seq)
				}
			}
		}
		return nil
	})
}

func testAuditUnsealed(s *suite) {
	s.must(s.append(unsealed("aud_3"), unsealed("aud_1")))
	s.must(s.append(unsealed("aud_2")))
	elsewhere := unsealed("aud_0")
	elsewhere.Workspace = other
	s.must(s.append(elsewhere))
	s.expectTrail(nil, "aud_1", "aud_2", "aud_3")
	s.view(func(tx approvals.Tx) error {
		list, err := tx.UnsealedAudit(ws, 2)
		same(s, "the first two", []approvals.AuditID{"aud_1", "aud_2"}, idsOf(list, auditID))
		return err
	})
	foreign := unsealed("aud_5")
	foreign.Workspace = other
	s.invalid("entries of two workspaces", s.append(unsealed("aud_4"), foreign))
	err := s.store.Update(s.ctx, func(tx approvals.Tx) error {
		return errors.Join(tx.AppendAudit(unsealed("aud_6")), approvals.ErrConflict)
	})
	if !errors.Is(err, approvals.ErrConflict) {
		s.Errorf("update: %v", err)
	}
	s.reopen()
	s.expectTrail(nil, "aud_1", "aud_2", "aud_3")
}

func testAuditRepeated(s *suite) {
	s.must(s.append(unsealed("aud_1")))
	s.invalid("an ID that waits", s.append(unsealed("aud_1")))
	s.invalid("an ID twice at once", s.append(unsealed("aud_2"), unsealed("aud_2")))
	s.must(s.seal(sealed("aud_1", 1)))
	s.invalid("an ID that was sealed", s.append(unsealed("aud_1")))
	s.reopen()
	s.invalid("an ID that was sealed before the restart", s.append(unsealed("aud_1")))
	s.expectTrail([]string{"1aud_1"})
	elsewhere := unsealed("aud_1")
	elsewhere.Workspace = other
	s.must(s.append(elsewhere))
}

func testAuditSeal(s *suite) {
	notFound := func(what string, err error) {
		s.Helper()
		if !errors.Is(err, approvals.ErrNotFound) {
			s.Errorf("%s: %v, want ErrNotFound", what, err)
		}
	}
	s.must(s.append(unsealed("aud_1"), unsealed("aud_2"), unsealed("aud_3"), unsealed("aud_4")))
	s.invalid("sealing with a gap", s.seal(sealed("aud_1", 2)))
	s.invalid("sealing without a place", s.seal(sealed("aud_1", 0)))
	s.invalid("sealing two in one place", s.seal(sealed("aud_1", 1), sealed("aud_2", 1)))
	notFound("sealing what nobody wrote", s.seal(sealed("aud_0", 1)))
	s.expectTrail(nil, "aud_1", "aud_2", "aud_3", "aud_4")

	first := sealed("aud_2", 1) // the order of the chain is the sealer's affair
	first.Hash, first.Content = agent.Digest{1}, agent.Digest{2}
	s.must(s.seal(first, sealed("aud_1", 2)))
	s.expectTrail([]string{"1aud_2", "2aud_1"}, "aud_3", "aud_4")
	notFound("sealing again", s.seal(sealed("aud_1", 3)))
	s.update(func(tx approvals.Tx) error {
		err := tx.SealAudit(sealed("aud_3", 3))
		waiting, err2 := tx.UnsealedAudit(ws, 10)
		same(s, "unsealed, in the same transaction", []approvals.AuditID{"aud_4"}, idsOf(waiting, auditID))
		return errors.Join(err, err2)
	})
	s.reopen()
	s.must(s.seal())
	s.expectTrail([]string{"1aud_2", "2aud_1", "3aud_3"}, "aud_4")
	s.view(func(tx approvals.Tx) error {
		list, err := tx.AuditEntries(ws, 1, 1)
		first.At = list[0].At
		same(s, "the sealed form", []*approvals.AuditEntry{first}, list)
		return err
	})
}

func testAuditForms(s *suite) {
	s.must(s.append(entry(1), unsealed("aud_1")))
	s.must(s.append(entry(2)))
	s.must(s.seal(sealed("aud_1", 3)))
	s.must(s.append(sealed("aud_2", 4), unsealed("aud_3"), entry(5)))
	s.expectTrail([]string{"1", "2", "3aud_1", "4aud_2", "5"}, "aud_3")
	s.reopen()
	s.must(s.seal(sealed("aud_3", 6)))
	s.expectTrail([]string{"1", "2", "3aud_1", "4aud_2", "5", "6aud_3"})
}

func testAuditWorkspaces(s *suite) {
	of := func(w approvals.WorkspaceID, e *approvals.AuditEntry) error {
		e.Workspace = w
		return s.append(e)
	}
	s.must(errors.Join(of("T2", entry(1)), of("T1", unsealed("aud_1")), of("T3", entry(1)), of("T3", unsealed("aud_1")),
		of("T11", unsealed("aud_1"))))
	want := []approvals.WorkspaceID{"T1", "T11", "T2", "T3"}
	for range 2 {
		s.view(func(tx approvals.Tx) error {
			list, err := tx.AuditWorkspaces()
			same(s, "workspaces", want, slices.Clone(list))
			return err
		})
		e := sealed("aud_1", 1)
		e.Workspace = "T11"
		if list := s.unsealedOf("T11"); len(list) == 1 {
			s.must(s.seal(e))
		}
		s.reopen()
	}
}

func testRecordedWorkspaces(s *suite) {
	q1, q2 := request("req_1", approvals.RequestPending), request("req_1", approvals.RequestPending)
	g := grant("grant_1")
	q1.Workspace, q2.Workspace, g.Workspace = "T2", "T11", "T1"
	s.update(func(tx approvals.Tx) error {
		return errors.Join(tx.PutRequest(q1), tx.PutRequest(q2), tx.PutGrant(g))
	})
	e := entry(1)
	e.Workspace = "T3"
	s.must(s.append(e))
	for range 2 {
		s.view(func(tx approvals.Tx) error {
			list, err := tx.RecordedWorkspaces()
			same(s, "workspaces", []approvals.WorkspaceID{"T1", "T11", "T2"}, slices.Clone(list))
			return err
		})
		s.reopen()
	}
}

func (s *suite) unsealedOf(w approvals.WorkspaceID) (list []*approvals.AuditEntry) {
	s.Helper()
	s.view(func(tx approvals.Tx) (err error) {
		list, err = tx.UnsealedAudit(w, 10)
		return err
	})
	return list
}
