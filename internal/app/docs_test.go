package app

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"countersign/approvals"
	"countersign/store"
	"countersign/store/pgstore"
	"countersign/store/storetest"
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var quoted = regexp.MustCompile("`([^`]+)`")

// rows are the cells of a document's tables with so many columns whose first cell is a word in quotes of code, without
// the quotes.
func rows(text string, columns int) (all [][]string) {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != columns+2 {
			continue
		}
		cells = cells[1 : columns+1]
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if m := quoted.FindStringSubmatch(cells[0]); m != nil && m[0] == cells[0] {
			cells[0] = m[1]
			all = append(all, cells)
		}
	}
	return all
}

// words are what stands in quotes of code, sorted.
func words(cell string) (all []string) {
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	slices.Sort(all)
	return all
}

// described are the metrics of a collector: name, type and labels.
func described(t *testing.T, c prometheus.Collector) (all []string) {
	t.Helper()
	kind := "gauge"
	switch c.(type) {
	case *prometheus.CounterVec, prometheus.Counter:
		kind = "counter"
	case *prometheus.HistogramVec:
		kind = "histogram"
	}
	ch := make(chan *prometheus.Desc, 100)
	c.Describe(ch)
	close(ch)
	form := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	for d := range ch {
		m := form.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("what is %s?", d)
		}
		labels := strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(labels)
		kind := kind
		if _, ok := c.(databaseMetrics); ok && strings.HasSuffix(m[1], "_total") {
			kind = "counter"
		}
		all = append(all, fmt.Sprint(m[1], " ", kind, " ", labels))
	}
	return all
}

// gauges are what waiting describes.
type gauges struct{ *waiting }

func (g gauges) Describe(ch chan<- *prometheus.Desc) { g.describe(ch) }
func (g gauges) Collect(ch chan<- prometheus.Metric) { g.collect(ch) }

// TestMetricsAreDocumented: docs/metrics.md has every metric with its type and labels, and no other; and what its rules
// speak of is there.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	st := storetest.NewMemory().Open()
	t.Cleanup(func() { st.Close() })
	tr, err := newTrail(t.Context(), st, slog.New(slog.DiscardHandler), false)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range append(newMetrics().own(), tr.tally.all()...) {
		want = append(want, described(t, c)...)
	}
	want = append(want, described(t, gauges{&tr.waiting})...)
	want = append(want, described(t, hears(func() <-chan struct{} { return nil }))...)
	points := newCheckpointMetrics(prometheus.NewRegistry())
	want = append(append(want, described(t, points.tries)...), described(t, points.newest)...)
	want = append(want, described(t, databaseMetrics{func() store.Stats {
		return store.Stats{Pools: map[string]pgstore.PoolStats{"work": {}}, Retries: map[string]uint64{"key": 1}}
	}})...)
	n := 0
	described(t, tr) // fails the test for what it cannot read
	ch := make(chan *prometheus.Desc, 100)
	tr.Describe(ch)
	close(ch)
	for range ch {
		n++
	}
	if parts := len(tr.tally.all()) + len(described(t, gauges{&tr.waiting})); n != parts {
		t.Errorf("the trail describes %d metrics, its parts %d", n, parts)
	}
	text := readDoc(t, "metrics.md")
	var have, names []string
	for _, row := range rows(text, 4) {
		have = append(have, fmt.Sprint(row[0], " ", row[1], " ", words(row[2])))
		names = append(names, row[0])
	}
	slices.Sort(want)
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("metrics (-registered +documented):\n%s", diff)
	}
	for _, name := range regexp.MustCompile(`countersign_[a-z_]+`).FindAllString(text, -1) {
		if !slices.Contains(names, strings.TrimSuffix(name, "_bucket")) {
			t.Errorf("docs/metrics.md speaks of %s, which there is not", name)
		}
	}
}

// auditActions are the actions of the trail, by the source of package approvals.
func auditActions(t *testing.T) (all []string) {
	t.Helper()
	folder := filepath.Join("..", "..", "approvals")
	files, err := filepath.Glob(filepath.Join(folder, "audit*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			typ, _ := spec.Type.(*ast.Ident)
			value, _ := spec.Values[0].(*ast.BasicLit)
			if typ != nil && typ.Name == "AuditAction" && value != nil {
				action, err := strconv.Unquote(value.Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, action)
			}
			return true
		})
	}
	if len(all) < 35 {
		t.Fatalf("only %d actions", len(all))
	}
	slices.Sort(all)
	return all
}

// TestEventsAreDocumented: docs/operations.md has every event that is logged, with its level and keys of lines, and no
// other.
func TestEventsAreDocumented(t *testing.T) {
	t.Parallel()
	text := readDoc(t, "operations.md")
	_, text, found := strings.Cut(text, "### What happens\n")
	text, _, _ = strings.Cut(text, "\n## ")
	if !found {
		t.Fatal("no section")
	}
	var have []string
	keys := map[string]bool{"agent": true, "tool": true, "policy": true}
	lines := &eventLog{slog.DiscardHandler}
	for _, row := range rows(text, 4) {
		action := approvals.AuditAction(row[0])
		have = append(have, row[0])
		if want := lines.level(action).String(); row[1] != want {
			t.Errorf("%s has the level %s, documented as %s", action, want, row[1])
		}
		named := words(row[3])
		for _, key := range named {
			keys[key] = true
			if key != "status" && !slices.Contains(eventKeys[:], key) {
				t.Errorf("%s: no line has the key %s", action, key)
			}
		}
		if status := statuses[action] != ""; status != slices.Contains(named, "status") {
			t.Errorf("%s has a status: %v", action, status)
		}
	}
	slices.Sort(have)
	if diff := cmp.Diff(auditActions(t), have); diff != "" {
		t.Errorf("events; a new one belongs into the table What happens of docs/operations.md "+
			"(-logged +documented):\n%s", diff)
	}
	for _, key := range eventKeys {
		if !keys[key] {
			t.Errorf("no event is documented with the key %s", key)
		}
	}
}

// TestEnvironmentsOfTheDeployments: the environments to copy for a deployment set what the agents file to copy beside
// them uses, and what the program knows.
func TestEnvironmentsOfTheDeployments(t *testing.T) {
	t.Parallel()
	read := func(name string) (all []string) {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") {
				all = append(all, line)
			}
		}
		return all
	}
	used := make(map[string]bool)
	for _, line := range read("examples/countersign.yaml") {
		for _, m := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(line, -1) {
			used[m[1]] = true
		}
	}
	if !used["PAYMENTS_TOKEN"] {
		t.Fatalf("this is no test: the agents file uses %v", used)
	}
	for _, name := range []string{
		"deploy/compose/countersign.env.example", "deploy/kubernetes/trial/countersign.env.example",
	} {
		set := make(map[string]bool)
		for _, line := range read(name) {
			variable, _, _ := strings.Cut(line, "=")
			set[variable] = true
			known := slices.ContainsFunc([]string{"SLACK_", "OPENAI_", "COUNTERSIGN_"}, func(prefix string) bool {
				return strings.HasPrefix(variable, prefix)
			})
			if !known && !used[variable] {
				t.Errorf("%s sets %s, which nothing uses", name, variable)
			}
		}
		for variable := range used {
			if !set[variable] {
				t.Errorf("%s does not set %s, without which the bot does not start", name, variable)
			}
		}
	}
}

// TestUnitLetsToolsEnd: the unit of docs/operations.md tells the bot alone to stop, so that what its tools have started
// goes on for as long as the bot gives it, and leaves it the time that it takes.
func TestUnitLetsToolsEnd(t *testing.T) {
	t.Parallel()
	_, unit, _ := strings.Cut(readDoc(t, "operations.md"), "```ini\n")
	unit, _, _ = strings.Cut(unit, "```")
	set := make(map[string]string)
	for line := range strings.Lines(unit) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		set[name] = value
	}
	const servers = 4 * time.Second // that end neither with their input nor at SIGTERM
	least := drainTimeout + servers
	if stop, err := time.ParseDuration(set["TimeoutStopSec"] + "s"); err != nil || stop <= least {
		t.Errorf("TimeoutStopSec=%s, the end may take %s", set["TimeoutStopSec"], least)
	}
	if set["KillMode"] != "mixed" || set["RestartPreventExitStatus"] != "2" {
		t.Errorf("KillMode=%s RestartPreventExitStatus=%s", set["KillMode"], set["RestartPreventExitStatus"])
	}
}
