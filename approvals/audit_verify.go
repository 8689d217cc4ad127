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

// auditPage is how many entries are read at once.
const auditPage = 1000

// VerifyOptions say what to hold a trail against besides the store itself.
type VerifyOptions struct {
	// Head is the hash of an entry that was kept elsewhere, such as AuditReport gave it earlier: some chain must have
	// it. Zero: none was kept.
	Head agent.Digest
}

// AuditReport says what VerifyAudit found in order.
type AuditReport struct {
	Workspaces []WorkspaceAudit `json:"workspaces"`
	// HeadFound says that the hash of VerifyOptions.Head is that of an entry.
	HeadFound bool `json:"head_found,omitempty"`
}

// WorkspaceAudit is the verified trail of one workspace. Who keeps Head outside the store can later tell whether the
// chain was cut off or written anew.
type WorkspaceAudit struct {
	Workspace WorkspaceID  `json:"workspace"`
	Entries   uint64       `json:"entries"` // in the chain
	Unsealed  uint64       `json:"unsealed,omitempty"`
	Head      agent.Digest `json:"head"`
	Requests  int          `json:"requests"` // that agree with the trail
	Effects   int          `json:"effects"`
	// What the trail tells of and the store has not any more.
	GoneRequests int `json:"gone_requests,omitempty"`
	GoneEffects  int `json:"gone_effects,omitempty"`
}

// AuditError names what does not hold: the first bad entry of a chain (Seq), or a record that the trail contradicts.
type AuditError struct {
	Workspace WorkspaceID
	Seq       uint64 // zero when it is not about one entry of the chain
	Request   RequestID
	Effect    string
	Reason    string
	Grant     GrantID
}

func (e *AuditError) Error() string {
	where := fmt.Sprintf("entry %d", e.Seq)
	switch {
	case e.Grant != "":
		where = "grant " + string(e.Grant)
	case e.Effect != "":
		where = "effect " + e.Effect
	case e.Request != "":
		where = "request " + string(e.Request)
	case e.Seq == 0:
		where = "chain"
	}
	return fmt.Sprintf("audit of %s: %s: %s", e.Workspace, where, e.Reason)
}

// VerifyAudit walks the trail of every workspace, recomputes every hash, and compares every request, effect and grant
// with what the trail says of it: the call, who decided what, how it was settled, how often it was begun, the digest of
// its output; what a grant is for, how often it was used and whether it was revoked. It returns an *AuditError for the
// first entry that is missing, altered or out of order, for a chain that ends before the head the store knows, for a
// record that differs, and when no entry has the hash of VerifyOptions.Head. Each workspace is read in one snapshot.
//
// A chain without a key shows accidents and careless edits. Whoever can write the store can write a new chain that
// holds; against them a head that was kept elsewhere helps.
func VerifyAudit(ctx context.Context, st Store, opts VerifyOptions) (AuditReport, error) {
	all, err := auditWorkspaces(ctx, st)
	if err != nil {
		return AuditReport{}, err
	}
	var report AuditReport
	for _, ws := range all {
		v := &verification{ws: ws, wanted: opts.Head, trail: newTrail()}
		err := st.View(ctx, func(tx Tx) error {
			*v = verification{ws: ws, wanted: opts.Head, trail: newTrail()}
			return v.run(ctx, tx)
		})
		if err != nil {
			return report, err
		}
		report.Workspaces = append(report.Workspaces, v.report)
		report.HeadFound = report.HeadFound || v.found
	}
	if opts.Head != (agent.Digest{}) && !report.HeadFound {
		return report, &AuditError{Reason: fmt.Sprintf(
			"no entry has the hash %s that was kept: entries were removed or written anew", opts.Head)}
	}
	return report, nil
}

// verification is the reading of one workspace's trail.
type verification struct {
	ws     WorkspaceID
	wanted agent.Digest
	found  bool
	trail  *trail
	report WorkspaceAudit
}

func (v *verification) run(ctx context.Context, tx Tx) error {
	last := &AuditEntry{Workspace: v.ws}
	err := walkAudit(ctx, tx, v.ws, func(e *AuditEntry) error {
		if err := last.follow(e); err != nil {
			return err
		}
		v.found = v.found || v.wanted != (agent.Digest{}) && e.Hash == v.wanted
		last = e
		return v.trail.add(e)
	})
	if err != nil {
		return err
	}
	v.report = WorkspaceAudit{Workspace: v.ws, Entries: last.Seq, Head: last.Hash}
	if err := v.unsealed(tx); err != nil {
		return err
	}
	n, err := v.trail.compare(ctx, tx, v.ws)
	v.report.Requests, v.report.Effects = n.requests, n.effects
	v.report.GoneRequests, v.report.GoneEffects = n.goneRequests, n.goneEffects
	return err
}

// maxUnsealed bounds how many entries may wait for the sealer; more are a sign that it does not run.
const maxUnsealed = 1_000_000

// unsealed reads the entries that are not linked yet.
func (v *verification) unsealed(tx Tx) error {
	entries, err := tx.UnsealedAudit(v.ws, maxUnsealed)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if reason := e.misread(); reason != "" {
			return &AuditError{Workspace: v.ws, Request: e.Request, Reason: "an entry that is not linked yet " + reason}
		}
		if err := v.trail.add(e); err != nil {
			return err
		}
	}
	v.report.Unsealed = uint64(len(entries))
	return nil
}

// follow checks that next is the link behind e. Its time need not be later: clocks can be set back.
func (e *AuditEntry) follow(next *AuditEntry) error {
	bad := func(reason string) error { return &AuditError{Workspace: e.Workspace, Seq: e.Seq + 1, Reason: reason} }
	switch {
	case next.Workspace != e.Workspace:
		return bad("belongs to another workspace")
	case next.Seq != e.Seq+1:
		return bad(fmt.Sprintf("missing or out of order; found entry %d in its place", next.Seq))
	case next.Prev != e.Hash:
		return bad("does not continue the entry before it")
	case next.ID == "" && e.ID != "":
		return bad("has the first form, behind one that has the second")
	}
	if reason := next.misread(); reason != "" {
		return bad(reason)
	}
	hash := next.link()
	if next.ID == "" {
		plain, _ := next.normal() // misread has read it
		hash = plain.firstSum()
	}
	if hash != next.Hash {
		return bad("was altered")
	}
	return nil
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

// ExportAudit calls fn with every entry of the workspace, oldest first, those that are not linked yet last; of every
// workspace when ws is empty. It reads in pages, so that a long trail holds up nobody. An error of fn ends it and is
// returned.
func ExportAudit(ctx context.Context, st Store, ws WorkspaceID, fn func(*AuditEntry) error) error {
	all := []WorkspaceID{ws}
	if ws == "" {
		var err error
		if all, err = auditWorkspaces(ctx, st); err != nil {
			return err
		}
	}
	for _, ws := range all {
		if err := exportWorkspace(ctx, st, ws, fn); err != nil {
			return err
		}
	}
	return nil
}

func exportWorkspace(ctx context.Context, st Store, ws WorkspaceID, fn func(*AuditEntry) error) error {
	var last uint64
	for {
		var page []*AuditEntry
		err := st.View(ctx, func(tx Tx) (err error) {
			if page, err = auditPageAfter(tx, ws, last); err != nil || len(page) > 0 {
				return err
			}
			page, err = tx.UnsealedAudit(ws, maxUnsealed) // of the same snapshot as the end of the chain
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := fn(e); err != nil {
				return err
			}
			if e.Seq > 0 {
				last = e.Seq
			}
		}
		if len(page) == 0 || page[0].Seq == 0 {
			return nil
		}
	}
}

func auditWorkspaces(ctx context.Context, st Store) (all []WorkspaceID, err error) {
	err = st.View(ctx, func(tx Tx) (err error) {
		all, err = tx.AuditWorkspaces()
		return err
	})
	return all, err
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
		return nil, &AuditError{Workspace: ws, Seq: last + 1,
			Reason: fmt.Sprintf("missing; the chain's head is entry %d", head.Seq)}
	}
	return nil, nil
}
