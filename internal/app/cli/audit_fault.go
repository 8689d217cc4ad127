package cli

import (
	"fmt"
	"io"

	"countersign/approvals"
	"countersign/internal/visible"
)

// auditFault is what is wrong, and where.
type auditFault struct {
	Workspace approvals.WorkspaceID `json:"workspace,omitempty"`
	Entry     uint64                `json:"entry,omitempty"`
	// Until is set where the first bad entry is one of those from Entry to Until.
	Until   uint64               `json:"until,omitempty"`
	Request approvals.RequestID  `json:"request,omitempty"`
	Effect  string               `json:"effect,omitempty"`
	Grant   approvals.GrantID    `json:"grant,omitempty"`
	Kind    approvals.AuditFault `json:"kind,omitempty"`
	Reason  string               `json:"reason"`
}

func newAuditFault(e *approvals.AuditError) *auditFault {
	return &auditFault{
		Workspace: e.Workspace, Entry: e.Seq, Until: e.Until, Request: e.Request, Effect: e.Effect, Grant: e.Grant,
		Kind: e.Kind, Reason: e.Reason,
	}
}

// ofHead reports whether all trails are in order by themselves, and none has the head that was looked for.
func (f *auditFault) ofHead() bool { return f.Workspace == "" }

// means says what follows from it.
func (f *auditFault) means() string {
	switch {
	case f.ofHead():
		return meansNoHead
	case f.Kind == faultCheckpoint:
		return meansForged
	case f.Until > 0:
		return meansNotKept
	}
	return meansBroken
}

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
	case f.Grant != "":
		what = "grant " + string(f.Grant)
	case f.Entry == 0:
		what = "the chain"
	case f.Until > f.Entry:
		what = fmt.Sprintf("one of the entries %d to %d", f.Entry, f.Until)
	}
	return fmt.Sprintf(" in workspace %s at %s", visible.Line(string(f.Workspace)), visible.Line(what))
}

// printBroken writes what is wrong and what that means.
func (v *verified) printBroken(w io.Writer) {
	fmt.Fprintln(w, "audit: BROKEN"+v.Error.where()+": "+visible.Line(v.Error.Reason))
	fmt.Fprintln(w, v.Means)
}
