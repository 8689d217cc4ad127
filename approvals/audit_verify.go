package approvals

import (
	"context"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
)

// auditPage is how many entries are read at once.
const auditPage = 1000

// VerifyOptions say what to hold a trail against besides the store itself.
type VerifyOptions struct {
	// Head is the hash of an entry that was kept elsewhere, such as AuditReport gave it earlier: some chain must have
	// it. Zero: none was kept.
	Head agent.Digest `json:"head,omitzero"`
	// Checkpoints were kept elsewhere, and their signatures hold (Checkpoint.Check): the chain of each one's workspace
	// must have its head at its place.
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"`
	// Progress is called now and then with how many entries have been read; nil: nobody asks.
	Progress func(read int) `json:"-"`
}

// AuditReport says what VerifyAudit found in order.
type AuditReport struct {
	Workspaces []WorkspaceAudit `json:"workspaces"`
	// HeadFound says that the hash of VerifyOptions.Head is that of an entry.
	HeadFound bool `json:"head_found,omitempty"`
	// Checkpoints is how many of VerifyOptions.Checkpoints agree.
	Checkpoints int `json:"checkpoints,omitempty"`
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
	// What the trail tells of and the store has not any more, because it was deleted, as the trail says.
	GoneRequests int `json:"gone_requests,omitempty"`
	GoneEffects  int `json:"gone_effects,omitempty"`
	// Proven is how far checkpoints or a head that was kept reach; nil: neither was given for this workspace.
	Proven *Proven `json:"proven,omitempty"`
}

// Proven says that nothing up to an entry was changed, removed or inserted since an instant.
type Proven struct {
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"` // of the checkpoint; by a head, of the entry
	By  string    `json:"by"` // ProvenByCheckpoint or ProvenByHead
}

// What an entry can be proven by.
const (
	ProvenByCheckpoint = "checkpoint"
	ProvenByHead       = "head"
)

// AuditFault says in a word what kind of tampering or damage was found.
type AuditFault string

// The faults.
const (
	FaultChanged   AuditFault = "changed"   // an entry is not as it was written
	FaultMissing   AuditFault = "missing"   // an entry was removed, or has changed places
	FaultInserted  AuditFault = "inserted"  // an entry was put between others
	FaultCut       AuditFault = "cut off"   // the end is missing, or the whole store is an older copy
	FaultRewritten AuditFault = "rewritten" // the chain holds and is another than a checkpoint or a kept head says
	FaultRecord    AuditFault = "record"    // a request, effect or grant is not what the trail says, or is gone
)

// AuditError names what does not hold: the first bad entry of a chain (Seq), or a record that the trail contradicts.
type AuditError struct {
	Workspace WorkspaceID
	Seq       uint64 // zero when it is not about one entry of the chain
	Request   RequestID
	Effect    string
	Reason    string
	Grant     GrantID

	// Until is set where the first bad entry cannot be told: it is one of those from Seq to Until.
	Until uint64
	Kind  AuditFault
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
	case e.Until > e.Seq:
		where = fmt.Sprintf("entries %d to %d", e.Seq, e.Until)
	}
	return fmt.Sprintf("audit of %s: %s: %s", e.Workspace, where, e.Reason)
}

// VerifyAudit walks the trail of every workspace, recomputes every hash, and compares every request, effect and grant
// with what the trail says of it: the call, who decided what, how it was settled, how often it was begun, the digest of
// its output; what a grant is for, how often it was used and whether it was revoked. It returns an *AuditError for the
// first entry that is missing, altered or out of order, for a chain that ends before the head the store knows, for one
// that has not what a checkpoint says, for a record that differs or is gone though no entry says that it was
// deleted, and when no entry has the hash of VerifyOptions.Head. Each workspace is read in one snapshot.
//
// A chain without a key shows accidents and careless edits. Whoever can write the store can write a new chain that
// holds; against them checkpoints, or a head that was kept elsewhere, help as far as they reach
// (WorkspaceAudit.Proven).
func VerifyAudit(ctx context.Context, st Store, opts VerifyOptions) (AuditReport, error) {
	points := newCheckpoints(opts.Checkpoints)
	all, err := auditWorkspaces(ctx, st)
	if err != nil {
		return AuditReport{}, err
	}
	report := AuditReport{Checkpoints: len(opts.Checkpoints)}
	read := &counter{tell: opts.Progress}
	for _, ws := range all {
		var v *verification
		err := st.View(ctx, func(tx Tx) error {
			v = &verification{ws: ws, wanted: opts.Head, trail: newTrail(), points: points[ws], read: read}
			return v.run(ctx, tx)
		})
		if err != nil {
			return report, err
		}
		report.Workspaces = append(report.Workspaces, v.report)
		report.HeadFound = report.HeadFound || v.found
	}
	if err := points.elsewhere(all); err != nil {
		return report, err
	}
	if err := untold(ctx, st); err != nil {
		return report, err
	}
	if opts.Head != (agent.Digest{}) && !report.HeadFound {
		return report, &AuditError{Kind: FaultRewritten, Reason: fmt.Sprintf(
			"no entry has the hash %s that was kept: entries were removed or written anew", opts.Head)}
	}
	return report, nil
}

// untold returns an *AuditError when the store has records of a workspace, and no trail: it was removed altogether.
// Both are read at one moment: meanwhile there may be a new workspace.
func untold(ctx context.Context, st Store) error {
	var recorded, told []WorkspaceID
	err := st.View(ctx, func(tx Tx) (err error) {
		if recorded, err = tx.RecordedWorkspaces(); err != nil {
			return err
		}
		told, err = tx.AuditWorkspaces()
		return err
	})
	if err != nil {
		return err
	}
	for _, ws := range recorded {
		if !slices.Contains(told, ws) {
			return &AuditError{Workspace: ws, Seq: 1, Kind: FaultMissing,
				Reason: "missing, as are all others: the store has records of this workspace, and no trail"}
		}
	}
	return nil
}

// verification is the reading of one workspace's trail.
type verification struct {
	ws     WorkspaceID
	wanted agent.Digest
	found  bool
	points []Checkpoint // that the chain has not come to yet
	proven *Proven
	trail  *trail
	report WorkspaceAudit
	read   *counter
}

// counter tells how many entries have been read, each time when it is a page more.
type counter struct {
	n    int
	tell func(read int) // nil: nobody asks
}

func (c *counter) add(n int) {
	before := c.n
	if c.n += n; c.tell != nil && c.n/auditPage > before/auditPage {
		c.tell(c.n)
	}
}

func (v *verification) run(ctx context.Context, tx Tx) error {
	last := &AuditEntry{Workspace: v.ws}
	err := walkAudit(ctx, tx, v.ws, func(e *AuditEntry) error {
		if err := last.follow(e); err != nil {
			return err
		}
		if err := v.prove(e); err != nil {
			return err
		}
		last = e
		v.read.add(1)
		return v.trail.add(e)
	})
	if err == nil {
		err = v.cutOff(last)
	}
	if err != nil {
		return err
	}
	v.report = WorkspaceAudit{Workspace: v.ws, Entries: last.Seq, Head: last.Hash, Proven: v.proven}
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
			return &AuditError{Workspace: v.ws, Request: e.Request, Kind: FaultChanged,
				Reason: "an entry that is not linked yet " + reason}
		}
		if err := v.trail.add(e); err != nil {
			return err
		}
	}
	v.report.Unsealed = uint64(len(entries))
	return nil
}
