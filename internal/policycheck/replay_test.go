package policycheck

import (
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/catalog"
)

// add puts a request to the agents file of the catalog, and counts it.
func (p *Replay) add(t *testing.T, c *catalog.Catalog, r *approvals.Request) Replayed {
	t.Helper()
	v, err := Judge(t.Context(), c, r)
	if err != nil {
		t.Fatal(err)
	}
	return p.Add(&r.RequestHead, v)
}

// replay puts the requests to the agents file of the tests with these policies.
func replay(t *testing.T, gate, policies string, all ...*approvals.Request) ([]Replayed, Report) {
	t.Helper()
	p, c := NewReplay(), catalogWith(t, gate, policies)
	var out []Replayed
	for _, r := range all {
		if p.Skip(&r.RequestHead) {
			continue
		}
		out = append(out, p.add(t, c, r))
	}
	return out, p.Report()
}

// TestReplay says of each request what would become of it.
func TestReplay(t *testing.T) {
	t.Parallel()
	named := func(tool string, kind agent.ToolKind) func(*approvals.Request) {
		return func(r *approvals.Request) { r.Tool.Name, r.Tool.Kind = tool, kind }
	}
	self := `{"amount":500,"to":"self"}`
	for _, c := range []struct {
		why  string
		r    *approvals.Request
		fate Fate
		want string // among the changes; empty: none
	}{
		{"as it was", recorded(1, `{"amount":500,"to":"x"}`), Asked, ""},
		{"below the gate", recorded(1, `{"amount":5,"to":"x"}`), Allowed, "people were asked → runs without asking"},
		{"another policy", recorded(1, `{"amount":5000,"to":"x"}`), Asked, "policy default_policy → large"},
		{"more people", recorded(1, `{"amount":5000,"to":"x"}`), Asked, "quorum 1 person → 2 people"},
		{"other people", recorded(1, `{"amount":5000,"to":"x"}`), Asked,
			"approvers the members of the channel → group S1"},
		{"nobody is left", recorded(1, self), Impossible, "nobody can"},
		{"somebody is left", recorded(1, self, func(r *approvals.Request) {
			r.Requester = approvals.NewUserID(team, "U0CLEO")
		}), Asked, "approvers the members of the channel → U0ANN"},
		{"arguments of another day", recorded(1, `{"sum":5}`), Unusable, "do not fit the tool's schema"},
		{"an agent that is gone", recorded(1, self, func(r *approvals.Request) { r.Agent = "old" }), Gone,
			"there is no such tool"},
		{"recorded for review", recorded(1, `{}`, named("noted", agent.KindHTTP)), Recorded, "recorded for review"},
		{"a tool of a server", recorded(1, `{}`, named("search", agent.KindMCP)), Unknown, ""},
		{"a gate that cannot say", recorded(1, `{"amount":500,"to":"x"}`), Asked, ""},
	} {
		gate := "args.amount > 100"
		if c.why == "a gate that cannot say" {
			gate = `"args.memo.startsWith('x')"`
		}
		out, _ := replay(t, gate, policies, c.r)
		got := strings.Join(out[0].Changes, "; ")
		if out[0].Fate != c.fate || !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %s: %s (%s)", c.why, out[0].Fate, got, out[0].Why)
		}
		if c.why == "a gate that cannot say" && !strings.Contains(out[0].Why, "so people are asked") {
			t.Errorf("%s: %q", c.why, out[0].Why)
		}
	}
}

// TestReplaySeesWhatAPolicySays: a request is as it was only where all is that a policy can say.
func TestReplaySeesWhatAPolicySays(t *testing.T) {
	t.Parallel()
	const as = "approvers: { channel_members: true }, self_approval: true"
	for _, c := range []struct{ policy, want string }{
		{as, ""},
		{as + ", notify: { named: auto }", ""},
		{as + ", escalate: { after: 1m, to: { channel_members: true, groups: [S9] } }",
			"escalate nobody → after 1m group S9, the members of the channel"},
		{as + ", remind_every: 15m", "remind_every never → 15m"},
		{as + ", notify: { named: none, channel: C0NOTICE }", "notify auto → none and channel C0NOTICE"},
		{"approvers: { channel_members: true }", "self_approval yes → no"},
	} {
		out, _ := replay(t, "true", "default_policy: { "+c.policy+" }\n", recorded(1, `{"amount":5,"to":"x"}`))
		if got := strings.Join(out[0].Changes, "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.policy, got, c.want)
		}
	}
	two := func(sets ...string) approvals.Requirement {
		q := recorded(1, `{}`).Requirement
		q.Seats = nil
		for _, s := range sets {
			q.Seats = append(q.Seats, approvals.Seat{Approvers: approvals.Approvers{Groups: []string{s}}})
		}
		return q
	}
	was := two("S1", "S1", "S2")
	got := changesOf(&was, &Verdict{Fate: Asked, Requirement: two("S1", "S2", "S2")})
	if want := "approvers group S1; group S1; group S2 → group S1; group S2; group S2"; strings.Join(got, "") != want {
		t.Errorf("other seats: %q", got)
	}
}

// TestReplayReport counts, names the first requests of each change, and who has more to do.
func TestReplayReport(t *testing.T) {
	t.Parallel()
	var all []*approvals.Request
	for n := range 12 {
		all = append(all, recorded(n, `{"amount":5000,"to":"x"}`))
	}
	all = append(all, recorded(20, `{"amount":500,"to":"x"}`), recorded(21, `{"amount":5,"to":"x"}`),
		recorded(22, `{}`, func(r *approvals.Request) { r.Kind = agent.OutcomeUnknown }),
		recorded(23, `{}`, func(r *approvals.Request) { r.Status = approvals.RequestStale }))
	_, report := replay(t, "args.amount > 100", policies, all...)
	if report.Requests != 14 || report.Same != 1 || report.Fates[Asked] != 13 || report.Fates[Allowed] != 1 ||
		len(report.LeftOut) != 2 {
		t.Errorf("%+v", report)
	}
	if c := report.Changes[0]; c.Count != 12 || len(c.Requests) != maxIDs || c.Requests[0] != "req_000" {
		t.Errorf("%+v", c)
	}
	want := []Load{{"group S1", 0, 12}, {"the members of channel C1", 14, 1}}
	if !slices.Equal(report.Load, want) {
		t.Errorf("load %+v", report.Load)
	}
}

// TestReplayIsBounded keeps no more kinds of changes than a report has room for, and counts the others.
func TestReplayIsBounded(t *testing.T) {
	t.Parallel()
	p, c := NewReplay(), catalogWith(t, "true", policies)
	for n := range maxChanges + 5 {
		r := recorded(n, `{}`, func(r *approvals.Request) { r.Tool.Name, r.Agent = "t"+string(r.ID), "old" })
		p.add(t, c, r)
	}
	if report := p.Report(); len(report.Changes) != maxChanges || report.Other != 5 {
		t.Errorf("%d changes, %d others", len(report.Changes), report.Other)
	}
}
