package approvals

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"countersign/agent"
	"countersign/internal/fault"
)

// entry is what a change says about itself. Facts are digests, verdicts, statuses and ids: never arguments, reasons
// or secrets.
type entry struct {
	Action  AuditAction
	Actor   string
	Run     RunID
	Request RequestID
	Facts   map[string]any
}

// readHead finds the end of the chain. The chain is also the workspace's memory of time: a clock that was set back
// does not make expired requests pending again, and what one change writes is later than what the change before wrote.
func (c *change) readHead() error {
	head, err := c.AuditHead(c.ws)
	if errors.Is(err, ErrNotFound) {
		c.head = &AuditEntry{Workspace: c.ws}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read audit head of %s: %w", c.ws, err)
	}
	c.head = head
	if !c.now.After(head.At) {
		c.now = head.At.Add(time.Microsecond).UTC()
	}
	return nil
}

// audit appends e to the chain.
func (c *change) audit(e entry) error {
	fault.Point("audit.head")
	next := &AuditEntry{
		Workspace: c.ws,
		Seq:       c.head.Seq + 1,
		At:        c.now,
		Action:    e.Action,
		Actor:     e.Actor,
		Run:       e.Run,
		Request:   e.Request,
		Prev:      c.head.Hash,
	}
	if len(e.Facts) > 0 {
		data, err := marshalFacts(e.Facts)
		if err != nil {
			return fmt.Errorf("audit %s: %w", e.Action, err)
		}
		next.Data = data
	}
	next.Hash = next.sum()
	if err := c.PutAudit(next); err != nil {
		return fmt.Errorf("append audit entry %d of %s: %w", next.Seq, c.ws, err)
	}
	c.head = next
	return nil
}

// sum computes the hash of e: SHA-256 over a name for this encoding and every field but Hash, in the order of their
// declaration. Texts are preceded by their length; lengths, Seq and At (nanoseconds since 1970) are eight bytes, big
// endian; Prev is its 32 bytes. Data counts in Go's JSON form with sorted keys, so that a store may keep it as JSON rather
// than as bytes.
func (e *AuditEntry) sum() agent.Digest {
	b := make([]byte, 0, 512)
	text := func(s string) {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	text("countersign.audit/1")
	text(string(e.Workspace))
	b = binary.BigEndian.AppendUint64(b, e.Seq)
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixNano()))
	text(string(e.Action))
	text(e.Actor)
	text(string(e.Run))
	text(string(e.Request))
	text(string(e.Data))
	b = append(b, e.Prev[:]...)
	return sha256.Sum256(b)
}
