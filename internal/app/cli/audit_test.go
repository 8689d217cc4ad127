package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
	"countersign/store/storetest"
)

// auditDesk is a desk whose trail is as a test says.
type auditDesk struct {
	control.Desk
	report approvals.AuditReport
	err    error
	asked  approvals.VerifyOptions
}

func (d *auditDesk) VerifyAudit(_ context.Context, opts approvals.VerifyOptions) (approvals.AuditReport, error) {
	d.asked = opts
	return d.report, d.err
}

// TestVerifySays per workspace what is there and what agrees, and what that means.
func TestVerifySays(t *testing.T) {
	t.Parallel()
	head := agent.Digest{0xab}
	one := approvals.AuditReport{Workspaces: []approvals.WorkspaceAudit{
		{Workspace: "T1", Entries: 12, Unsealed: 3, Requests: 4, Effects: 2, Head: head},
		{Workspace: "T2", Entries: 1, Head: agent.Digest{0xcd}},
	}}
	found := one
	found.HeadFound = true
	line := "audit: ok, workspace T1, 12 entries, 3 unsealed, 4 requests and 2 effects agree, head " + head.String() +
		"\naudit: ok, workspace T2, 1 entries, 0 unsealed, 0 requests and 0 effects agree, head " +
		(agent.Digest{0xcd}).String() + "\n"
	broken := func(e approvals.AuditError) error { return &e }
	for name, c := range map[string]struct {
		head agent.Digest
		desk auditDesk
		want string
	}{
		"ok":      {agent.Digest{}, auditDesk{report: one}, line + "audit: ok, " + meansConsistent + "\n"},
		"head":    {head, auditDesk{report: found}, line + "audit: ok, " + meansHead + "\n"},
		"nothing": {agent.Digest{}, auditDesk{}, "audit: ok, no entries\n"},
		"entry": {agent.Digest{}, auditDesk{report: one, err: broken(approvals.AuditError{Workspace: "T3", Seq: 7,
			Reason: "was altered"})}, "audit: BROKEN in workspace T3 at entry 7: was altered\n" + meansBroken + "\n"},
		"request": {agent.Digest{}, auditDesk{err: broken(approvals.AuditError{Workspace: "T1", Request: "req_1",
			Reason: "its decisions are not those of the trail"})},
			"audit: BROKEN in workspace T1 at request req_1: its decisions are not those of the trail\n" +
				meansBroken + "\n"},
		"effect": {agent.Digest{}, auditDesk{err: broken(approvals.AuditError{Workspace: "T1", Request: "req_1",
			Effect: "eff_1", Reason: "its output is not the one of the trail"})}, "audit: BROKEN in workspace T1 " +
			"at effect eff_1 of request req_1: its output is not the one of the trail\n" + meansBroken + "\n"},
		"effect of no request": {agent.Digest{}, auditDesk{err: broken(approvals.AuditError{Workspace: "T1",
			Effect: "eff_1", Reason: "r"})}, "audit: BROKEN in workspace T1 at effect eff_1: r\n" + meansBroken + "\n"},
		"no head": {head, auditDesk{report: one, err: broken(approvals.AuditError{Reason: "no entry has the hash"})},
			"audit: BROKEN: no entry has the hash\n" + meansNoHead + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, out, _ := capture()
			err := (&verifyCommand{head: c.head}).verify(t.Context(), &p, &c.desk)
			if (err == nil) != (c.desk.err == nil) || errors.Is(err, errSilent) != (c.desk.err != nil) {
				t.Errorf("%v", err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("(-want +have):\n%s", diff)
			}
			if c.desk.asked.Head != c.head {
				t.Errorf("asked for the head %s", c.desk.asked.Head)
			}
			p, out, _ = capture()
			err = (&verifyCommand{head: c.head, JSON: true}).verify(t.Context(), &p, &c.desk)
			var got verified
			if json.Unmarshal([]byte(out.String()), &got) != nil || got.OK != (err == nil) ||
				(err == nil) != (c.desk.err == nil) || len(got.Workspaces) != len(c.desk.report.Workspaces) ||
				(got.Error != nil) == got.OK || got.HeadFound != c.desk.report.HeadFound {
				t.Errorf("%v, as JSON: %s", err, out)
			}
		})
	}
	other := errors.New("disk on fire")
	p, out, _ := capture()
	if err := (&verifyCommand{}).verify(t.Context(), &p, &auditDesk{err: other}); !errors.Is(err, other) ||
		out.Len() > 0 {
		t.Errorf("what is no finding is told as one: %v, %s", err, out)
	}
}

// TestHeadIsSixtyFourDigits and nothing else.
func TestHeadIsSixtyFourDigits(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		strings.Repeat("aB", 32): true, strings.Repeat("ab", 31): false, strings.Repeat("ab", 33): false, "": false,
		strings.Repeat("0", 64): false, strings.Repeat("x", 64): false,
	} {
		if err := (&verifyCommand{}).setHead(value); (err == nil) != want {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// TestExportHasUnsealedEntries behind the linked ones, in the form that others read.
func TestExportHasUnsealedEntries(t *testing.T) {
	t.Parallel()
	st := storetest.NewMemory().Open()
	t.Cleanup(func() { st.Close() })
	digest := strings.Repeat("5a", 32)
	entries := []*approvals.AuditEntry{
		{Workspace: "T1", ID: "aud_1", Seq: 1, At: asked, Action: approvals.AuditRequestCreated, Actor: "system",
			Run: "run_1", Request: "req_1", Data: json.RawMessage(`{"digest":"` + digest + `"}`)},
		{Workspace: "T1", ID: "aud_2", At: settled, Action: approvals.AuditDecision, Actor: "T1/U1", Run: "run_1",
			Request: "req_1", Data: json.RawMessage(`{"digest":"` + digest + `","verdict":"approve","via":"cli"}`)},
	}
	err := st.Update(t.Context(), func(tx approvals.Tx) error { return tx.AppendAudit(entries...) })
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := (&exportCommand{}).export(t.Context(), &control.Local{Store: st}, &out, terminal()); err != nil {
		t.Fatal(err)
	}
	type entry struct {
		At, Action, Actor, Run, Request string
		Data                            struct{ Digest, Via string }
	}
	var got []entry
	for line := range strings.Lines(out.String()) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	want := []entry{
		{"2026-11-02T15:00:00Z", "request.created", "system", "run_1", "req_1",
			struct{ Digest, Via string }{digest, ""}},
		{"2026-11-02T15:01:00Z", "decision.recorded", "T1/U1", "run_1", "req_1",
			struct{ Digest, Via string }{digest, "cli"}},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
