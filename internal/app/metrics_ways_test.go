package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
	"countersign/internal/agentsfile"
	"countersign/internal/catalog"
	"countersign/internal/control"
	"countersign/store"
	"countersign/store/pgstore"
	"countersign/store/storetest"
)

// TestBatchIsMeasured: each answer of a batch counts among the decisions, by how it ended.
func TestBatchIsMeasured(t *testing.T) {
	t.Parallel()
	st := storetest.NewMemory().Open()
	t.Cleanup(func() { st.Close() })
	l := &live{}
	l.current.Store(&inForce{Catalog: &catalog.Catalog{}})
	one, err := approvals.NewService(approvals.ServiceConfig{
		Store: st, Policy: l, Agents: l, Directory: struct{ approvals.Directory }{},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := newMetrics()
	s := &service{Service: one, live: l, metrics: m, newer: &newer{}}
	b := approvals.Batch{
		Workspace: "T0DEV", By: "T0DEV/U0BEN", Verdict: approvals.Approve, Via: "modal",
		Requests: []approvals.BatchItem{{Request: "req_1"}, {Request: "req_2"}},
	}
	answers, err := s.DecideAll(t.Context(), b)
	if err != nil || len(answers) != 2 {
		t.Fatalf("%v, %v", answers, err)
	}
	b.Requests = nil
	if _, err := s.DecideAll(t.Context(), b); err == nil {
		t.Fatal("a batch of nothing is decided")
	}
	for outcome, want := range map[string]uint64{"not_found": 2, "invalid": 1, "ok": 0} {
		if got := observed(t, m, "modal", outcome); got != want {
			t.Errorf("%s: %d decisions, want %d", outcome, got, want)
		}
	}
}

// observed is how many decisions were measured.
func observed(t *testing.T, m *metrics, via, outcome string) (n uint64) {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, s := range f.Metric {
			var labels []string
			for _, l := range s.Label {
				labels = append(labels, l.GetValue())
			}
			if f.GetName() == "countersign_decide_seconds" && slices.Equal(labels, []string{outcome, via}) {
				n += s.Histogram.GetSampleCount()
			}
		}
	}
	return n
}

// TestAlertsHaveSeries: what the alerts speak of is there from the start, as docs/metrics.md promises: the first of a
// series that begins with it is no increase. Those of policies are there for all of the agents file.
func TestAlertsHaveSeries(t *testing.T) {
	t.Parallel()
	st := storetest.NewMemory().Open()
	t.Cleanup(func() { st.Close() })
	tr, err := newTrail(t.Context(), st, slog.New(slog.DiscardHandler), false)
	if err != nil {
		t.Fatal(err)
	}
	m := newMetrics()
	m.registry.MustRegister(tr, databaseMetrics{func() store.Stats {
		return store.Stats{
			Pools:   map[string]pgstore.PoolStats{"work": {}},
			Retries: map[string]uint64{"server": 0},
		}
	}})
	newCheckpointMetrics(m.registry)
	m.registry.MustRegister(hears(func() <-chan struct{} { return nil }))
	tr.expect(&catalog.Catalog{File: &agentsfile.File{
		Policies: []*agentsfile.Policy{{Name: "payments"}}, DefaultPolicy: &agentsfile.Policy{},
	}})
	rules, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var have, policies []string
	for _, f := range families {
		have = append(have, f.GetName())
		for _, s := range f.Metric {
			for _, l := range s.Label {
				if l.GetName() == "policy" {
					policies = append(policies, f.GetName()+" "+l.GetValue())
				}
			}
		}
	}
	want := []string{
		"countersign_requests_settled_total default_policy", "countersign_requests_settled_total payments",
		"countersign_requests_unmet_total default_policy", "countersign_requests_unmet_total payments",
	}
	if diff := cmp.Diff(want, policies); diff != "" {
		t.Errorf("series of policies (-want +have):\n%s", diff)
	}
	for _, expr := range regexp.MustCompile(`expr: .*`).FindAllString(string(rules), -1) {
		for _, name := range regexp.MustCompile(`countersign_[a-z_]+`).FindAllString(expr, -1) {
			name = strings.TrimSuffix(name, "_bucket")
			if !slices.Contains(have, name) {
				t.Errorf("there is no series of %s at the start: %s", name, expr)
			}
		}
	}
}

// TestWaysAreDocumented: docs/metrics.md names the ways of decisions, and every way of a desk is measured as itself but
// that of a command that works without the bot.
func TestWaysAreDocumented(t *testing.T) {
	t.Parallel()
	if !slices.Contains(ways, control.Via) || !slices.Contains(ways, control.ViaSocket) {
		t.Errorf("ways: %q", ways)
	}
	text := readDoc(t, "metrics.md")
	_, row, _ := strings.Cut(text, "| `countersign_decide_seconds`")
	row, _, _ = strings.Cut(row, "\n")
	for _, way := range ways {
		if !strings.Contains(row, "`"+way+"`") {
			t.Errorf("docs/metrics.md does not name the way %s of countersign_decide_seconds", way)
		}
	}
}
