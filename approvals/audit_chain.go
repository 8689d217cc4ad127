package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"countersign/agent"
)

// follow checks that next is the link behind e. Its time need not be later: clocks can be set back.
func (e *AuditEntry) follow(next *AuditEntry) error {
	at := e.Seq + 1
	bad := func(kind AuditFault, reason string) error {
		return &AuditError{Workspace: e.Workspace, Seq: at, Kind: kind, Reason: reason}
	}
	switch {
	case next.Workspace != e.Workspace:
		return bad(FaultChanged, "belongs to another workspace")
	case next.Seq != at:
		return bad(FaultMissing, fmt.Sprintf("is missing or out of order; entry %d is in its place", next.Seq))
	case next.Prev != e.Hash:
		return e.torn(next)
	case next.ID == "" && e.ID != "":
		return bad(FaultChanged, "has the first form, behind one that has the second")
	}
	if reason := next.misread(); reason != "" {
		return bad(FaultChanged, reason)
	}
	if next.hashAt(next.Seq) != next.Hash {
		return bad(FaultChanged, "was altered")
	}
	return nil
}

// maxShift is by how many places an entry is looked for that others were put before, or taken away from.
const maxShift = 16

// torn says which of two neighbours is wrong when next does not continue e. An entry whose hash holds at its place, or
// would at another, is as it was written.
func (e *AuditEntry) torn(next *AuditEntry) error {
	bad := &AuditError{Workspace: e.Workspace, Seq: next.Seq, Kind: FaultChanged,
		Reason: "does not continue the entry before it"}
	if next.misread() != "" {
		return bad
	}
	if next.hashAt(next.Seq) == next.Hash && e.Seq > 0 {
		bad.Seq, bad.Reason = e.Seq, "was altered, and hashed anew: the entry behind it continues another one"
		return bad
	}
	for n := uint64(1); n <= maxShift; n++ {
		if n < next.Seq && next.hashAt(next.Seq-n) == next.Hash {
			bad.Seq, bad.Kind = next.Seq-n, FaultInserted
			bad.Reason = fmt.Sprintf("was inserted: entry %d stood in its place", next.Seq)
			return bad
		}
		if next.hashAt(next.Seq+n) == next.Hash {
			bad.Kind = FaultMissing
			bad.Reason = fmt.Sprintf("is missing or out of order; the one in its place was entry %d", next.Seq+n)
			return bad
		}
	}
	return bad
}

// hashAt computes the hash that e would have at a place of the chain. misread has found nothing wrong with it.
func (e *AuditEntry) hashAt(seq uint64) agent.Digest {
	there := *e
	there.Seq = seq
	if e.ID != "" {
		return there.link()
	}
	plain, _ := there.normal()
	return plain.firstSum()
}

// misread says what is wrong with an entry by itself; empty for nothing.
func (e *AuditEntry) misread() string {
	plain, err := e.normal()
	switch {
	case err != nil:
		return "its data is not one JSON object with each name once"
	case e.ID != "" && plain.content() != e.Content:
		return "was altered"
	}
	return ""
}

// normal returns e with Data in the form that was hashed.
func (e *AuditEntry) normal() (*AuditEntry, error) {
	if len(e.Data) == 0 {
		return e, nil
	}
	said, err := readData(e.Data)
	if err != nil {
		return nil, err
	}
	plain := *e
	plain.Data, err = json.Marshal(said)
	return &plain, err
}

var errData = errors.New("the data is one object that has each name once")

// readData reads data that is one JSON object, in which no name is there twice, and nothing behind it: of what it left
// out the hash would not tell.
func readData(data json.RawMessage) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errData
	}
	said := make(map[string]any)
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string) // what stands before a value in an object is a string
		if _, twice := said[name]; twice {
			return nil, errData
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		said[name] = value
	}
	if _, err := dec.Token(); err != nil { // the end of the object
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errData
	}
	return said, nil
}

// walkAudit calls fn with the linked entries of the workspace and checks at the end that none is missing behind the
// last.
func walkAudit(ctx context.Context, tx Tx, ws WorkspaceID, fn func(*AuditEntry) error) error {
	var last uint64
	for {
		page, err := auditPageAfter(tx, ws, last)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			if err := fn(e); err != nil {
				return err
			}
			last = e.Seq
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// auditPageAfter reads the entries behind last. A chain that ends before its head is an *AuditError.
func auditPageAfter(tx Tx, ws WorkspaceID, last uint64) ([]*AuditEntry, error) {
	page, err := tx.AuditEntries(ws, last+1, auditPage)
	if err != nil || len(page) > 0 {
		return page, err
	}
	head, err := tx.AuditHead(ws)
	if errors.Is(err, ErrNotFound) && last == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if head.Seq != last {
		return nil, &AuditError{Workspace: ws, Seq: last + 1, Kind: FaultCut,
			Reason: fmt.Sprintf("missing; the chain's head is entry %d", head.Seq)}
	}
	return nil, nil
}
