package transfer

import (
	"fmt"
	"slices"

	"countersign/approvals"
	"countersign/internal/fault"
)

// point is where tests stop the program.
func point(name string) { fault.Point(name) }

// copy moves what is not there yet, batch by batch.
func (m *move) copy() error {
	if m.mark.Complete {
		return nil
	}
	kinds, after := Kinds(), m.mark.After
	if m.mark.Kind != "" {
		at := slices.Index(kinds, m.mark.Kind)
		if at < 0 {
			return fmt.Errorf("%w: it has %q, which this version does not know", ErrOther, m.mark.Kind)
		}
		kinds = kinds[at:]
	}
	for i, kind := range kinds {
		if i > 0 {
			after = nil
		}
		if err := m.copyKind(kind, after); err != nil {
			return fmt.Errorf("move %s: %w", kind, err)
		}
	}
	m.mark.Complete = true
	return m.to.Import(m.ctx, nil, m.mark)
}

func (m *move) copyKind(kind Kind, after Key) error {
	var batch []Record
	var chain chain
	size := 0
	for r, err := range m.from.Records(m.ctx, kind, after) {
		if err == nil && kind == KindAudit {
			err = chain.add(r.(Audit).AuditEntry, after != nil && chain.last == nil)
		}
		if err != nil {
			return err
		}
		batch, size = append(batch, r), size+len(Form(r))
		if len(batch) < PageRecords && size < PageBytes {
			continue
		}
		if err := m.flush(kind, batch); err != nil {
			return err
		}
		batch, size = nil, 0
	}
	return m.flush(kind, batch)
}

// flush gives the target a batch.
func (m *move) flush(kind Kind, batch []Record) error {
	if len(batch) == 0 {
		return nil
	}
	next := m.mark
	next.Kind, next.After = kind, batch[len(batch)-1].Key()
	next.Copied = make(map[Kind]uint64, len(m.mark.Copied)+1)
	for k, n := range m.mark.Copied {
		next.Copied[k] = n
	}
	next.Copied[kind] += uint64(len(batch))
	point("transfer.before_import")
	if err := m.to.Import(m.ctx, batch, next); err != nil {
		return err
	}
	point("transfer.after_import")
	m.mark = next
	m.Progress(Progress{Kind: kind, Records: m.mark.Total()})
	return m.ctx.Err()
}

// chain recomputes the audit chains of all workspaces, one after the other, as their entries pass by.
type chain struct {
	last   *approvals.AuditEntry
	trails []Trail
}

// add checks that the entry continues the one before it. In the middle of a chain, whose beginning was checked
// earlier, the first one is taken as it is.
func (c *chain) add(e *approvals.AuditEntry, middle bool) error {
	before := c.last
	c.last = e
	if before == nil || before.Workspace != e.Workspace {
		before = &approvals.AuditEntry{Workspace: e.Workspace}
		c.trails = append(c.trails, Trail{Workspace: e.Workspace})
	}
	if middle {
		return nil
	}
	if err := before.CheckNext(e); err != nil {
		return err
	}
	trail := &c.trails[len(c.trails)-1]
	trail.Entries, trail.Head = e.Seq, e.Hash
	return nil
}
