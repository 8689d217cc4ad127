package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/approvals"
)

// intent is what an entry of the trail says of a call that begins.
type intent struct {
	Attempt    int                  `json:"attempt"`
	BreakGlass approvals.DecisionID `json:"break_glass"`
	Grant      approvals.GrantID    `json:"grant"`
	Standing   approvals.RequestID  `json:"standing"`
	Review     bool                 `json:"review"`
}

// AddEntry counts an entry of an audit trail. The order does not matter. An entry whose data cannot be read is an
// error: the trail is damaged.
func (b *Builder) AddEntry(e *approvals.AuditEntry) error {
	b.tie(e)
	b.follow(e)
	if !b.report.Window.Contains(e.At) {
		return nil
	}
	switch e.Action {
	case approvals.AuditRequestCreated:
		b.report.Asked.Trail++
	case approvals.AuditGrantCreated:
		b.report.Grants.Created++
	case approvals.AuditGrantRevoked:
		b.report.Grants.Revoked++
	case approvals.AuditGrantUsed:
		b.report.Grants.Used++
	case approvals.AuditGrantDenied:
		b.report.Grants.Denied++
	case approvals.AuditEffectIntent:
		return b.began(e)
	}
	return nil
}

// requestSum stands for a request's workspace and id.
type requestSum [16]byte

// follow remembers which requests have a part in the figures, by what the trail tells of them, and which were deleted.
func (b *Builder) follow(e *approvals.AuditEntry) {
	sum := sha256.Sum256([]byte(string(e.Workspace) + "\x00" + string(e.Request)))
	key := requestSum(sum[:])
	switch e.Action {
	case approvals.AuditRequestDeleted:
		if !e.At.Before(b.report.Window.From) {
			b.deleted[key] = true
		}
	case approvals.AuditRequestCreated, approvals.AuditDecision, approvals.AuditRequestReviewed,
		approvals.AuditRequestApproved, approvals.AuditRequestRejected, approvals.AuditRequestExpired,
		approvals.AuditRequestCancelled, approvals.AuditRequestStale, approvals.AuditRequestSuperseded:
		if b.report.Window.Contains(e.At) {
			b.told[key] = true
		}
	}
}

// missing counts the requests that would have a part in the figures and were deleted.
func (b *Builder) missing() (n int) {
	for key := range b.deleted {
		n += one(b.told[key])
	}
	return n
}

// tie remembers the end of the trail.
func (b *Builder) tie(e *approvals.AuditEntry) {
	t := b.trails[e.Workspace]
	if t == nil {
		t = &Trail{Workspace: approvals.WorkspaceID(strings.Clone(string(e.Workspace)))}
		b.trails[t.Workspace] = t
	}
	switch {
	case e.Seq == 0:
		t.Unsealed++
	case e.Seq > t.Entries:
		if t.Entries, t.Head = e.Seq, ""; e.Hash != (agent.Digest{}) {
			t.Head = e.Hash.String()
		}
	}
}

// began counts a call that begins.
func (b *Builder) began(e *approvals.AuditEntry) error {
	var in intent
	if len(e.Data) > 0 {
		if err := json.Unmarshal(e.Data, &in); err != nil {
			return fmt.Errorf("audit entry %d of %s: %w", e.Seq, e.Workspace, err)
		}
	}
	c := &b.report.Calls
	if in.Attempt > 1 {
		return nil
	}
	c.Began++
	switch {
	case in.BreakGlass != "":
		c.Emergency++
	case in.Grant != "":
		c.Grant++
	case in.Standing != "":
		c.Standing++
	case e.Request != "":
		c.Request++
	default:
		c.Gate++
		c.Recorded += one(in.Review)
	}
	return nil
}

func (b *Builder) fillTrails(r *Report) {
	r.Workspaces, r.Trails = []approvals.WorkspaceID{}, []Trail{}
	for _, ws := range sortedKeys(b.trails) {
		r.Workspaces = append(r.Workspaces, ws)
		r.Trails = append(r.Trails, *b.trails[ws])
	}
}

// maxEmergencies is how many emergency decisions are listed.
const maxEmergencies = 100

// reviewed counts what was decided past the policy, and what others said of that.
func (b *Builder) reviewed(r *approvals.RequestHead) {
	all := &b.report.Emergencies
	if v := r.Review; v != nil && b.report.Window.Contains(v.At) {
		all.Accepted += one(v.Verdict == approvals.ReviewAccept)
		all.Objected += one(v.Verdict == approvals.ReviewObject)
	}
	d := emergency(r)
	if d == nil || !b.report.Window.Contains(d.At) {
		return
	}
	e := Emergency{
		Request: approvals.RequestID(strings.Clone(string(r.ID))), Tool: strings.Clone(r.Tool.Name),
		Person: approvals.UserID(strings.Clone(string(d.By))), At: d.At.UTC(),
	}
	if all.Count++; r.Review == nil {
		all.Unreviewed++
	} else {
		e.Review = approvals.ReviewVerdict(strings.Clone(string(r.Review.Verdict)))
		e.Reviewer = approvals.UserID(strings.Clone(string(r.Review.By)))
	}
	if all.Requests = append(all.Requests, e); len(all.Requests) > 10*maxEmergencies {
		all.Requests = firstEmergencies(all.Requests)
	}
}

// firstEmergencies returns those that come first, as a list of its own.
func firstEmergencies(all []Emergency) []Emergency {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Emergency) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Request, b.Request))
	})
	return append([]Emergency{}, all[:min(len(all), maxEmergencies)]...)
}
