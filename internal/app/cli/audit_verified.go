package cli

import (
	"fmt"
	"io"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/visible"
)

// What a verification means, in words.
const (
	meansConsistent = "consistent, not proven: a chain without a key shows accidents and careless edits, " +
		"but whoever can write the store can write another chain that holds; checkpoints or a head that were kept " +
		"elsewhere show more (--checkpoints, --head)"
	meansHead = "an entry has the head that was kept: nothing before it in its trail was removed or written anew; " +
		"all else is consistent, not proven"
	meansProven   = "proven by signed checkpoints up to the newest entry"
	meansPartly   = "proven as far as said above; all else is consistent, not proven"
	meansNoneHere = "consistent, not proven: the checkpoints are of none of these trails"
	meansBroken   = "The store is not as this program left it: it was damaged, or somebody changed it."
	meansNoHead   = "The trail that had this head was cut off before it or written anew, " +
		"or the store is an older copy: " +
		"what is there now does not go on from what was verified then."
	meansNotKept = "The trail does not go on from what was signed then: it was cut off or written anew, " +
		"or the store is an older copy."
	meansForged = "The trail agrees with all other checkpoints. Somebody has changed or made this one, " +
		"or it was signed with a key that was not given (--key)."
)

// verified is the result of a verification, as it is printed as JSON.
type verified struct {
	OK          bool                 `json:"ok"`
	Means       string               `json:"means"`
	Head        string               `json:"head,omitempty"` // that was looked for
	HeadFound   bool                 `json:"head_found"`
	Checkpoints *verifiedCheckpoints `json:"checkpoints,omitempty"`
	Workspaces  []verifiedWorkspace  `json:"workspaces"`
	Error       *auditFault          `json:"error,omitempty"`
}

// verifiedCheckpoints counts the checkpoints that the trails were held against.
type verifiedCheckpoints struct {
	Signed     int `json:"signed"`               // those whose signature holds
	Forged     int `json:"forged,omitempty"`     // those whose signature does not
	Missing    int `json:"missing,omitempty"`    // those of which only the next ones tell
	Unreadable int `json:"unreadable,omitempty"` // lines that were damaged
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
	Proven    *approvals.Proven     `json:"proven,omitempty"`
}

// gone counts what the trail tells of and the store has not any more, because it was deleted.
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

// newVerified makes the result of a report, of the head and the checkpoints that were kept, if any, and of what is
// wrong, if something is.
func newVerified(
	report approvals.AuditReport, head agent.Digest, kept *readCheckpoints, broken *approvals.AuditError,
) *verified {
	v := &verified{OK: broken == nil, HeadFound: report.HeadFound, Workspaces: []verifiedWorkspace{}}
	if head != (agent.Digest{}) {
		v.Head = head.String()
	}
	if all := len(kept.good) + len(kept.bad); all > 0 {
		v.Checkpoints = &verifiedCheckpoints{
			len(kept.good), len(kept.bad), approvals.MissingCheckpoints(kept.good), kept.unreadable,
		}
	}
	for _, ws := range report.Workspaces {
		v.Workspaces = append(v.Workspaces, verifiedWorkspace{
			ws.Workspace, ws.Entries, ws.Unsealed, ws.Requests, ws.Effects, newGone(&ws), ws.Head.String(), ws.Proven,
		})
	}
	if broken != nil {
		v.Error = newAuditFault(broken)
	}
	v.Means = v.means()
	return v
}

// means says what the result is worth.
func (v *verified) means() string {
	if v.Error != nil {
		return v.Error.means()
	}
	proven, whole := 0, 0
	for _, ws := range v.Workspaces {
		if ws.Proven != nil {
			proven++
			if ws.Proven.Seq == ws.Entries && ws.Unsealed == 0 {
				whole++
			}
		}
	}
	switch {
	case v.Checkpoints == nil && v.Head == "":
		return meansConsistent
	case v.Checkpoints == nil:
		return meansHead
	case proven == 0:
		return meansNoneHere
	case whole == len(v.Workspaces):
		return meansProven
	}
	return meansPartly
}

// print writes a line for each workspace, and at last one on what it means. All begin alike: scripts look for that.
func (v *verified) print(w io.Writer) error {
	if len(v.Workspaces) == 0 {
		_, err := fmt.Fprintln(w, "audit: ok, no entries")
		return err
	}
	for i := range v.Workspaces {
		if err := v.Workspaces[i].print(w); err != nil {
			return err
		}
	}
	if c := v.Checkpoints; c != nil && c.Missing+c.Unreadable > 0 {
		_, err := fmt.Fprintf(w, "audit: ok, but of the checkpoints %d between others are missing, "+
			"and %d lines cannot be read\n", c.Missing, c.Unreadable)
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "audit: ok,", v.Means)
	return err
}

func (ws *verifiedWorkspace) print(w io.Writer) error {
	name := visible.Line(string(ws.Workspace))
	_, err := fmt.Fprintf(w, "audit: ok, workspace %s, %d entries, %d unsealed, %d requests and %d effects agree, "+
		"head %s\n", name, ws.Entries, ws.Unsealed, ws.Requests, ws.Effects, ws.Head)
	if err == nil && ws.Proven != nil {
		what := "the checkpoint of"
		if ws.Proven.By == approvals.ProvenByHead {
			what = "the head that was kept, whose entry is of"
		}
		_, err = fmt.Fprintf(w, "audit: ok, workspace %s is proven up to entry %d by %s %s; %d entries are behind it\n",
			name, ws.Proven.Seq, what, instantText(ws.Proven.At), ws.Entries-ws.Proven.Seq+ws.Unsealed)
	}
	if err == nil && ws.Gone != nil {
		_, err = fmt.Fprintf(w, "audit: ok, of %d requests and %d effects in the trail of workspace %s "+
			"the store has no record any more, as they were deleted\n", ws.Gone.Requests, ws.Gone.Effects, name)
	}
	return err
}

// instantText is an instant as people read it here.
func instantText(t time.Time) string { return t.UTC().Format(time.RFC3339) }
