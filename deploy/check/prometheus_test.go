package check

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// measured returns the names of the metrics that docs/metrics.md describes, and the series of their histograms.
func measured(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"up": true}
	rows := regexp.MustCompile("(?m)^\\| `(countersign_[a-z_]+)` \\| ([a-z]+) ")
	for _, m := range rows.FindAllStringSubmatch(string(page), -1) {
		names[m[1]] = true
		if m[2] == "histogram" {
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				names[m[1]+suffix] = true
			}
		}
	}
	if len(names) < 20 {
		t.Fatalf("found %d metrics on the page", len(names))
	}
	return names
}

// known checks that an expression asks for metrics that there are. Those of Go and the process are left out.
func known(t *testing.T, names map[string]bool, where, expression string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok && !names[v.Name] &&
			!strings.HasPrefix(v.Name, "go_") && !strings.HasPrefix(v.Name, "process_") {
			t.Errorf("%s asks for %q, which docs/metrics.md does not know", where, v.Name)
		}
		return nil
	})
}

// counted finds what gives less than there is where replicas share a store: each entry of the trail is counted by one
// of them, so the largest of their counts is not all, and a threshold above 0 is for what all of them have counted
// together.
func counted(t *testing.T, where, expression string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	for _, fault := range partsOfCounts(parsed) {
		t.Errorf("%s: %s", where, fault)
	}
}

// partsOfCounts says where an expression takes a part of a count for all of it.
func partsOfCounts(parsed parser.Expr) (faults []string) {
	parser.Inspect(parsed, func(node parser.Node, path []parser.Node) error {
		v, ok := node.(*parser.VectorSelector)
		// Of the store's connections and transactions each replica counts its own, and has a threshold of its own.
		if !ok || !grows.MatchString(v.Name) || strings.HasPrefix(v.Name, "countersign_store_") {
			return nil
		}
		summed, most := false, 0.0
		for _, above := range path {
			switch above := above.(type) {
			case *parser.AggregateExpr:
				if summed = summed || above.Op == parser.SUM; above.Op != parser.SUM {
					faults = append(faults, above.Op.String()+" of "+v.Name+" is what one replica has counted")
				}
			case *parser.BinaryExpr:
				if n, ok := above.RHS.(*parser.NumberLiteral); ok && above.Op.IsComparisonOperator() {
					most = n.Val
				}
			}
		}
		if most > 0 && !summed {
			faults = append(faults, "the threshold for "+v.Name+" is that of each replica")
		}
		return nil
	})
	return faults
}

// grows are the names of counters and histograms.
var grows = regexp.MustCompile("^countersign_.*(_total|_bucket|_count|_sum)$")

// TestPartOfACountIsFound is the control of counted.
func TestPartOfACountIsFound(t *testing.T) {
	for expression, want := range map[string]int{
		`max(increase(countersign_audit_entries_total[1d]))`:                                       1,
		`max by (le) (sum by (instance, le) (rate(countersign_request_seconds_bucket[1h])))`:       1,
		`increase(countersign_audit_entries_total{action="run.failed"}[15m]) > 5`:                  1,
		`sum(increase(countersign_audit_entries_total{action="run.failed"}[15m])) > 5`:             0,
		`increase(countersign_reloads_total{outcome="refused"}[1h]) > 0`:                           0,
		`max(countersign_requests_pending)`:                                                        0,
		`histogram_quantile(0.95, sum by (le) (rate(countersign_decide_seconds_bucket[10m]))) > 2`: 0,
		`sum by (instance) (rate(countersign_store_retries_total{why="server"}[2m])) > 1`:          0,
	} {
		parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
		if err != nil {
			t.Fatal(err)
		}
		if faults := partsOfCounts(parsed); len(faults) != want {
			t.Errorf("%s: %q, want %d faults", expression, faults, want)
		}
	}
}

// TestRules reads the alerts as Prometheus does, and compares them with the page that shows them.
func TestRules(t *testing.T) {
	text, err := os.ReadFile("../prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	groups, problems := rulefmt.Parse(text, false, model.UTF8Validation,
		parser.NewParser(parser.Options{}), slog.Default())
	for _, err := range problems {
		t.Error(err)
	}
	names := measured(t)
	rules := 0
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			known(t, names, rule.Alert, rule.Expr)
			counted(t, rule.Alert, rule.Expr)
			rules++
		}
	}
	if rules < 10 {
		t.Errorf("read %d rules", rules)
	}
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(text), "\n")
	if !strings.Contains(string(page), "```yaml\n"+shown+"```") {
		t.Error("docs/metrics.md shows other rules than deploy/prometheus/rules.yaml")
	}
}

// TestDashboard reads every panel: its expressions ask for what there is, and its name and unit are given.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../grafana/countersign.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title, UID string
		Panels     []struct {
			ID, Title, Type, Description string
			Targets                      []struct{ Expr, LegendFormat string }
			GridPos                      struct{ H, W, X, Y int }
		}
	}
	// The id of a panel is a number, others are words.
	text = regexp.MustCompile(`"id": (\d+)`).ReplaceAll(text, []byte(`"id": "$1"`))
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	names, ids, place := measured(t), map[string]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		if p.Title == "" || ids[p.ID] {
			t.Errorf("panel %s %q has no name, or the number of another", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if place[at] != "" || at[0] >= 24 {
					t.Fatalf("panel %q lies over %q, or outside", p.Title, place[at])
				}
				place[at] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			expression := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1d").Replace(target.Expr)
			known(t, names, p.Title, expression)
			counted(t, p.Title, expression)
		}
	}
	if len(board.Panels) < 12 || board.UID == "" {
		t.Errorf("read %d panels", len(board.Panels))
	}
}

// TestUnknownMetricIsFound is the control of the two above.
func TestUnknownMetricIsFound(t *testing.T) {
	if measured(t)["countersign_request_pending"] {
		t.Error("a metric that there is not is found")
	}
}
