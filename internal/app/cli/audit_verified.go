package cli

import (
	"fmt"
	"io"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/visible"
)

// What a verification means, in words.
const (
	meansConsistent = "consistent, not proven: a chain without a key shows accidents and careless edits, " +
		"but whoever can write the store can write another chain that holds; a head kept elsewhere shows more (--head)"
	meansHead = "an entry has the head that was kept: nothing before it in its trail was removed or written anew; " +
		"all else is consistent, not proven"
	meansBroken = "The store is not as this program left it: it was damaged, or somebody changed it."
	meansNoHead = "The trail that had this head was cut off before it or written anew, " +
		"or the store is an older copy: " +
		"what is there now does not go on from what was verified then."
)

// verified is the result of a verification, as it is printed as JSON.
type verified struct {
	OK         bool                `json:"ok"`
	Means      string              `json:"means"`
	Head       string              `json:"head,omitempty"` // that was looked for
	HeadFound  bool                `json:"head_found"`
	Workspaces []verifiedWorkspace `json:"workspaces"`
	Error      *auditFault         `json:"error,omitempty"`
}

// verifiedWorkspace is a trail that is in order.
type verifiedWorkspace struct {
	Workspace approvals.WorkspaceID `json:"workspace"`
	Entries   uint64                `json:"entries"`
	Unsealed  uint64                `json:"unsealed"`
	Requests  int                   `json:"requests"`
	Effects   int                   `json:"effects"`
	Gone      *gone                 `json:"gone,omitempty"`
	Head      string                `json:"head"`
}

// gone counts what the trail tells of and the store has not any more.
type gone struct {
	Requests int `json:"requests"`
	Effects  int `json:"effects"`
}

func newGone(ws *approvals.WorkspaceAudit) *gone {
	if ws.GoneRequests == 0 && ws.GoneEffects == 0 {
		return nil
	}
	return &gone{ws.GoneRequests, ws.GoneEffects}
}

// auditFault is what is wrong, and where.
type auditFault struct {
	Workspace approvals.WorkspaceID `json:"workspace,omitempty"`
	Entry     uint64                `json:"entry,omitempty"`
	Request   approvals.RequestID   `json:"request,omitempty"`
	Effect    string                `json:"effect,omitempty"`
	Reason    string                `json:"reason"`
}

// newVerified makes the result of a report, of the head that was looked for, if any, and of what is wrong, if something
// is.
func newVerified(report approvals.AuditReport, head agent.Digest, broken *approvals.AuditError) *verified {
	v := &verified{OK: broken == nil, Means: meansConsistent, HeadFound: report.HeadFound,
		Workspaces: []verifiedWorkspace{}}
	if head != (agent.Digest{}) {
		v.Head, v.Means = head.String(), meansHead
	}
	for _, ws := range report.Workspaces {
		v.Workspaces = append(v.Workspaces, verifiedWorkspace{
			ws.Workspace, ws.Entries, ws.Unsealed, ws.Requests, ws.Effects, newGone(&ws), ws.Head.String(),
		})
	}
	if broken == nil {
		return v
	}
	v.Error = &auditFault{broken.Workspace, broken.Seq, broken.Request, broken.Effect, broken.Reason}
	if v.Means = meansBroken; v.Error.ofHead() {
		v.Means = meansNoHead
	}
	return v
}

// ofHead reports whether all trails are in order by themselves, and none has the head that was looked for.
func (f *auditFault) ofHead() bool { return f.Workspace == "" }

// where says what is wrong, for the end of a sentence.
func (f *auditFault) where() string {
	if f.ofHead() {
		return ""
	}
	what := fmt.Sprintf("entry %d", f.Entry)
	switch {
	case f.Effect != "" && f.Request != "":
		what = fmt.Sprintf("effect %s of request %s", f.Effect, f.Request)
	case f.Effect != "":
		what = "effect " + f.Effect
	case f.Request != "":
		what = "request " + string(f.Request)
	case f.Entry == 0:
		what = "the chain"
	}
	return fmt.Sprintf(" in workspace %s at %s", visible.Line(string(f.Workspace)), visible.Line(what))
}

// print writes a line on what it means, and one for each workspace. All begin alike: scripts look for that.
func (v *verified) print(w io.Writer) error {
	if len(v.Workspaces) == 0 {
		_, err := fmt.Fprintln(w, "audit: ok, no entries")
		return err
	}
	_, err := fmt.Fprintln(w, "audit: ok,", v.Means)
	for _, ws := range v.Workspaces {
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "audit: ok, workspace %s, %d entries, %d unsealed, %d requests and %d effects agree, "+
			"head %s\n", visible.Line(string(ws.Workspace)), ws.Entries, ws.Unsealed, ws.Requests, ws.Effects, ws.Head)
		if err == nil && ws.Gone != nil {
			_, err = fmt.Fprintf(w, "audit: ok, but of %d requests and %d effects in the trail of workspace %s "+
				"the store has no record any more\n", ws.Gone.Requests, ws.Gone.Effects,
				visible.Line(string(ws.Workspace)))
		}
	}
	return err
}
