package storetest

import (
	"errors"

	"countersign/approvals"
)

func trail() []promise {
	return []promise{
		{"Audit", "a gap or a second entry in one place would be an entry that somebody could have removed", testAudit},
		{"AuditEntries", "the trail is exported and verified page by page", testAuditEntries},
	}
}

func testAudit(s *suite) {
	put := func(seq uint64) error {
		return s.store.Update(s.ctx, func(tx approvals.Tx) error { return tx.PutAudit(entry(seq)) })
	}
	for _, step := range []struct {
		seq uint64
		ok  bool
	}{{0, false}, {2, false}, {1, true}, {1, false}, {3, false}, {0, false}, {2, true}} {
		if err := put(step.seq); (err == nil) != step.ok || err != nil && !errors.Is(err, approvals.ErrInvalid) {
			s.Errorf("entry %d: %v, want accepted %v, or ErrInvalid", step.seq, err, step.ok)
		}
	}
	s.update(func(tx approvals.Tx) error { return errors.Join(tx.PutAudit(entry(3)), tx.PutAudit(entry(4))) })
	s.reopen()
	s.view(func(tx approvals.Tx) error {
		head, err := tx.AuditHead(ws)
		if err == nil && head.Seq != 4 {
			s.Errorf("head %d, want 4", head.Seq)
		}
		return err
	})
}

func testAuditEntries(s *suite) {
	const n = 300 // more than fits a byte
	s.update(func(tx approvals.Tx) error {
		for seq := range uint64(n) {
			if err := tx.PutAudit(entry(seq + 1)); err != nil {
				return err
			}
		}
		return nil
	})
	s.view(func(tx approvals.Tx) error {
		for _, c := range []struct {
			from  uint64
			limit int
			first uint64
			count int
		}{{0, 10, 1, 10}, {1, 1000, 1, n}, {255, 3, 255, 3}, {n, 5, n, 1}, {n + 1, 5, 0, 0}, {1, 0, 0, 0}, {1, -1, 0, 0}} {
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
