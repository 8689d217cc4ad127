package storetest

import (
	"context"
	"iter"

	"countersign/store/transfer"
)

// cutTarget is a target whose use ends with an error after so many imports, as a process that is killed ends it: before
// the import, or after its commit.
type cutTarget struct {
	transfer.Target
	left int // negative: it never ends
	done bool
}

func (c *cutTarget) cut() bool {
	c.left--
	return c.left == -1
}

func (c *cutTarget) Import(ctx context.Context, records []transfer.Record, m transfer.Mark) error {
	now := c.left >= 0 && c.cut()
	if now && !c.done {
		return errInterrupted
	}
	err := c.Target.Import(ctx, records, m)
	if now && err == nil {
		err = errInterrupted
	}
	return err
}

func (c *cutTarget) Finish(ctx context.Context) error {
	if c.left >= 0 && c.cut() {
		return errInterrupted
	}
	return c.Target.Finish(ctx)
}

// lossy is a source that does not tell of a kind.
type lossy struct {
	transfer.Source
	kind transfer.Kind
}

func (l lossy) Records(ctx context.Context, kind transfer.Kind, after transfer.Key) iter.Seq2[transfer.Record, error] {
	if kind == l.kind {
		return func(func(transfer.Record, error) bool) {}
	}
	return l.Source.Records(ctx, kind, after)
}
