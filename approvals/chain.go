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

// auditPage is how many entries are read in one transaction.
const auditPage = 1000

// AuditReport says what VerifyAudit found in order.
type AuditReport struct {
	Workspaces []WorkspaceAudit `json:"workspaces"`
}

// WorkspaceAudit is the verified chain of one workspace. Who keeps Entries and Head outside the store can later tell
// whether the end of the chain was cut off.
type WorkspaceAudit struct {
	Workspace WorkspaceID  `json:"workspace"`
	Entries   uint64       `json:"entries"`
	Head      agent.Digest `json:"head"`
}

// AuditError names the first link of a chain that does not hold.
type AuditError struct {
	Workspace WorkspaceID
	Seq       uint64
	Reason    string
}

func (e *AuditError) Error() string {
	return fmt.Sprintf("audit of %s: entry %d: %s", e.Workspace, e.Seq, e.Reason)
}

// VerifyAudit walks the chain of every workspace and recomputes every hash. It returns an *AuditError for the first
// entry that is missing, altered or out of order, and for a chain that ends before the head the store knows.
func VerifyAudit(ctx context.Context, st Store) (AuditReport, error) {
	all, err := auditWorkspaces(ctx, st)
	if err != nil {
		return AuditReport{}, err
	}
	var report AuditReport
	for _, ws := range all {
		last := &AuditEntry{Workspace: ws}
		err := walkAudit(ctx, st, ws, func(e *AuditEntry) error {
			if err := last.follow(e); err != nil {
				return err
			}
			last = e
			return nil
		})
		if err != nil {
			return report, err
		}
		report.Workspaces = append(report.Workspaces, WorkspaceAudit{Workspace: ws, Entries: last.Seq, Head: last.Hash})
	}
	return report, nil
}

// follow checks that next is the link behind e.
func (e *AuditEntry) follow(next *AuditEntry) error {
	bad := func(reason string) error { return &AuditError{Workspace: e.Workspace, Seq: e.Seq + 1, Reason: reason} }
	switch {
	case next.Workspace != e.Workspace:
		return bad("belongs to another workspace")
	case next.Seq != e.Seq+1:
		return bad(fmt.Sprintf("missing or out of order; found entry %d in its place", next.Seq))
	case next.Prev != e.Hash:
		return bad("does not continue the entry before it")
	case next.At.Before(e.At):
		return bad("is older than the entry before it")
	}
	plain, err := next.normal()
	if err != nil {
		return bad("its data is not one JSON object with each name once")
	}
	if plain.sum() != next.Hash {
		return bad("was altered")
	}
	return nil
}

// normal returns e with Data in the form that was hashed.
func (e *AuditEntry) normal() (*AuditEntry, error) {
	if len(e.Data) == 0 {
		return e, nil
	}
	facts, err := readFacts(e.Data)
	if err != nil {
		return nil, err
	}
	plain := *e
	plain.Data, err = json.Marshal(facts)
	return &plain, err
}

var errFacts = errors.New("facts are one object that names each of them once")

// readFacts reads data that is one JSON object, in which no name is there twice, and nothing behind it: of what it left
// out the hash would not tell.
func readFacts(data json.RawMessage) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errFacts
	}
	facts := make(map[string]any)
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string) // what stands before a value in an object is a string
		if _, twice := facts[name]; twice {
			return nil, errFacts
		}
		var fact any
		if err := dec.Decode(&fact); err != nil {
			return nil, err
		}
		facts[name] = fact
	}
	if _, err := dec.Token(); err != nil { // the end of the object
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errFacts
	}
	return facts, nil
}

// ExportAudit calls fn with every entry of the workspace, oldest first; of every workspace when ws is empty. It reads
// in pages, so that a long trail holds up nobody. An error of fn ends it and is returned.
func ExportAudit(ctx context.Context, st Store, ws WorkspaceID, fn func(*AuditEntry) error) error {
	all := []WorkspaceID{ws}
	if ws == "" {
		var err error
		if all, err = auditWorkspaces(ctx, st); err != nil {
			return err
		}
	}
	for _, ws := range all {
		if err := walkAudit(ctx, st, ws, fn); err != nil {
			return err
		}
	}
	return nil
}

func auditWorkspaces(ctx context.Context, st Store) (all []WorkspaceID, err error) {
	err = st.View(ctx, func(tx Tx) (err error) {
		all, err = tx.AuditWorkspaces()
		return err
	})
	return all, err
}

// walkAudit calls fn with the entries of the workspace and checks at the end that none is missing behind the last.
func walkAudit(ctx context.Context, st Store, ws WorkspaceID, fn func(*AuditEntry) error) error {
	var last uint64
	for {
		page, err := auditPageAfter(ctx, st, ws, last)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			if err := fn(e); err != nil {
				return err
			}
			last = e.Seq
		}
	}
}

// auditPageAfter reads the entries behind last. A chain that ends before its head is an *AuditError.
func auditPageAfter(ctx context.Context, st Store, ws WorkspaceID, last uint64) (page []*AuditEntry, err error) {
	err = st.View(ctx, func(tx Tx) error {
		if page, err = tx.AuditEntries(ws, last+1, auditPage); err != nil || len(page) > 0 {
			return err
		}
		head, err := tx.AuditHead(ws)
		if errors.Is(err, ErrNotFound) && last == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if head.Seq != last {
			return &AuditError{Workspace: ws, Seq: last + 1, Reason: fmt.Sprintf("missing; the chain's head is entry %d", head.Seq)}
		}
		return nil
	})
	return page, err
}
