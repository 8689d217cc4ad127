package approvals

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"countersign/agent"
	"countersign/internal/fault"
)

// entry is what a transaction says about itself.
type entry struct {
	Action  AuditAction
	Actor   string
	Run     RunID
	Request RequestID
	Data    auditData
}

// audit appends e to the trail when the transaction ends.
func (c *txn) audit(e entry) error {
	data, err := e.Data.encode()
	if err != nil {
		return fmt.Errorf("audit %s: %w", e.Action, err)
	}
	next := &AuditEntry{
		Workspace: c.ws, ID: AuditID(c.newID("aud_")), At: c.Now(),
		Action: e.Action, Actor: e.Actor, Run: e.Run, Request: e.Request, Data: data,
	}
	next.Content = next.content()
	c.dirty.entries = append(c.dirty.entries, next)
	return nil
}

// appendAudit writes the entries of the transaction, linked into the chain where this process alone writes it.
func (c *txn) appendAudit() error {
	if len(c.dirty.entries) == 0 {
		return nil
	}
	if err := fault.Error("audit.head"); err != nil {
		return err
	}
	if c.linked {
		head, err := auditHead(c.Tx, c.ws)
		if err != nil {
			return err
		}
		link(head, c.dirty.entries)
	}
	if err := c.AppendAudit(c.dirty.entries...); err != nil {
		return fmt.Errorf("append audit entries of %s: %w", c.ws, err)
	}
	return nil
}

// auditHead returns the end of the chain; before the first entry, one that it can continue.
func auditHead(tx Tx, ws WorkspaceID) (*AuditEntry, error) {
	head, err := tx.AuditHead(ws)
	if errors.Is(err, ErrNotFound) {
		return &AuditEntry{Workspace: ws}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read audit head of %s: %w", ws, err)
	}
	return head, nil
}

// link gives the entries their places behind head.
func link(head *AuditEntry, entries []*AuditEntry) {
	for _, e := range entries {
		e.Seq, e.Prev = head.Seq+1, head.Hash
		e.Hash = e.link()
		head = e
	}
}

// The names of the encodings that are hashed.
const (
	firstForm   = "countersign.audit/1"
	contentForm = "countersign.audit/2"
	linkForm    = "countersign.audit.link/2"
)

// content computes the digest of what e says: SHA-256 over the name of this encoding and every field but Seq, Prev,
// Hash and Content. Texts are preceded by their length; lengths and At (nanoseconds since 1970) are eight bytes, big
// endian. Data counts in Go's JSON form with sorted keys, so that a store may keep it as JSON rather than as bytes.
func (e *AuditEntry) content() agent.Digest {
	b := make([]byte, 0, 512)
	for _, text := range []string{contentForm, string(e.Workspace), string(e.ID)} {
		b = appendText(b, text)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixNano()))
	for _, text := range []string{string(e.Action), e.Actor, string(e.Run), string(e.Request), string(e.Data)} {
		b = appendText(b, text)
	}
	return sha256.Sum256(b)
}

// link computes the hash of e at its place: SHA-256 over the name of this encoding, Seq, Prev and Content.
func (e *AuditEntry) link() agent.Digest {
	b := appendText(make([]byte, 0, 128), linkForm)
	b = binary.BigEndian.AppendUint64(b, e.Seq)
	b = append(b, e.Prev[:]...)
	b = append(b, e.Content[:]...)
	return sha256.Sum256(b)
}

// firstSum computes the hash of an entry of the trail's first form, which has no ID and no digest of its content.
func (e *AuditEntry) firstSum() agent.Digest {
	b := appendText(make([]byte, 0, 512), firstForm)
	b = appendText(b, string(e.Workspace))
	b = binary.BigEndian.AppendUint64(b, e.Seq)
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixNano()))
	for _, text := range []string{string(e.Action), e.Actor, string(e.Run), string(e.Request), string(e.Data)} {
		b = appendText(b, text)
	}
	b = append(b, e.Prev[:]...)
	return sha256.Sum256(b)
}

// appendText appends the length of s and s.
func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
	return append(b, s...)
}

// textDigest is the digest of a person's words, as the trail holds it; zero for none. The words themselves can be
// deleted without a gap in the trail.
func textDigest(text string) agent.Digest {
	if text == "" {
		return agent.Digest{}
	}
	return sha256.Sum256([]byte(text))
}

// outputDigest is the digest of a tool's output, as the trail holds it: SHA-256 over its JSON form.
func outputDigest(out *agent.ToolOutput) (agent.Digest, error) {
	data, err := json.Marshal(out)
	if err != nil {
		return agent.Digest{}, fmt.Errorf("digest of an output: %w", err)
	}
	return sha256.Sum256(data), nil
}
