package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"countersign/agent/guardrail"
)

// documented are the tables of docs/runstate.md and the types they describe. Item has no type of its own: it is written
// and read by hand.
var documented = map[string]reflect.Type{
	"Head":               reflect.TypeFor[stateHead](),
	"Usage":              reflect.TypeFor[Usage](),
	"Session":            reflect.TypeFor[sessionMark](),
	"Conversation":       reflect.TypeFor[serverMark](),
	"Span":               reflect.TypeFor[span](),
	"Left out":           reflect.TypeFor[omission](),
	"Call":               reflect.TypeFor[call](),
	"Decision":           reflect.TypeFor[decision](),
	"Output":             reflect.TypeFor[ToolOutput](),
	"Always":             reflect.TypeFor[standing](),
	"Answer":             reflect.TypeFor[savedAnswer](),
	"Guardrail":          reflect.TypeFor[guardrail.Result](),
	"Verdict":            reflect.TypeFor[guardrail.Verdict](),
	"Inner conversation": reflect.TypeFor[frameHead](),
}

var memberRow = regexp.MustCompile("^\\| `(\\w+)` \\| (\\d+) \\| (.*) \\|$")

type member struct {
	since string
	text  string
}

// readTables returns the members that the page documents, by heading.
func readTables(t *testing.T, page string) map[string]map[string]member {
	t.Helper()
	tables := make(map[string]map[string]member)
	heading := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if h, ok := strings.CutPrefix(line, "## "); ok {
			heading = h
		}
		if m := memberRow.FindStringSubmatch(line); m != nil {
			if tables[heading] == nil {
				tables[heading] = make(map[string]member)
			}
			tables[heading][m[1]] = member{m[2], m[3]}
		}
	}
	return tables
}

// TestRunStateDocs compares docs/runstate.md with the code: the members of each part, and which of them may be left
// out.
func TestRunStateDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/runstate.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := readTables(t, string(page))
	for heading, typ := range documented {
		for _, problem := range compareMembers(tables[heading], typ) {
			t.Errorf("%s: %s", heading, problem)
		}
	}
	for v := stateVersion1; v <= stateVersion; v++ {
		if strings.Count(string(page), fmt.Sprintf("\n| %d | ", v)) != 1 {
			t.Errorf("version %d has not one line", v)
		}
	}
	for _, limit := range []string{
		fmt.Sprintf("at most %d MiB", maxStateBytes>>20), fmt.Sprintf("%d levels deep", maxStateDepth),
		fmt.Sprintf("at most %d deep", maxDepth),
	} {
		if !strings.Contains(strings.ReplaceAll(string(page), "\n   ", " "), limit) {
			t.Errorf("the limit %q is not documented", limit)
		}
	}
	// Control: a member too few, one too many, and one that is said to be always there.
	broken := maps.Clone(tables["Decision"])
	delete(broken, "message")
	broken["canary"] = member{"1", "always"}
	broken["output"] = member{"1", "always"}
	if problems := compareMembers(broken, documented["Decision"]); len(problems) != 3 {
		t.Errorf("control: want 3 problems, got %q", problems)
	}
}

func compareMembers(rows map[string]member, typ reflect.Type) []string {
	var problems []string
	left := maps.Clone(rows)
	for i := range typ.NumField() {
		name, options, ok := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		row, known := rows[name]
		delete(left, name)
		always := row.text == "always" || strings.HasSuffix(row.text, "; always")
		switch {
		case !known:
			problems = append(problems, name+" is not documented")
		case always == (ok && options == "omitempty"):
			problems = append(problems, name+": whether it is always written is not what the code says")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		problems = append(problems, name+" is documented and does not exist")
	}
	return problems
}

// TestRunStateDocsAndCorpus compares the page with the frozen states: a state of a version has no member that is
// documented as younger, and every member is in one of them, so that none can change unnoticed.
func TestRunStateDocsAndCorpus(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/runstate.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := readTables(t, string(page))
	files, err := filepath.Glob("testdata/runstate/v*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no frozen states", err)
	}
	seen := make(map[string]bool)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		version := fmt.Sprint(doc["version"])
		items, _ := doc["items"].([]any)
		delete(doc, "items")
		visit(doc, "Head", func(heading, name string) {
			seen[heading+"/"+name] = true
			if since := tables[heading][name].since; since == "" || since > version {
				t.Errorf("%s, version %s: %s %q is documented since %q", file, version, heading, name, since)
			}
		})
		for _, it := range items {
			visit(it, "Items", func(heading, name string) {
				seen[heading+"/"+name] = true
				if since := tables[heading][name].since; since == "" || since > version {
					t.Errorf("%s, version %s: %s %q is documented since %q", file, version, heading, name, since)
				}
			})
		}
	}
	for heading, rows := range tables {
		for name := range rows {
			if !seen[heading+"/"+name] {
				t.Errorf("%s: no frozen state has %q", heading, name)
			}
		}
	}
}

// inside says which table describes the value of a member.
var inside = map[string]string{
	"Head/usage": "Usage", "Head/session": "Session", "Head/conversation": "Conversation", "Head/copies": "Span",
	"Head/left_out": "Left out", "Left out/spans": "Span", "Inner conversation/left_out": "Left out",
	"Head/calls": "Call", "Head/always": "Always", "Head/pending_input": "Items", "Items/answer": "Answer",
	"Head/guardrails": "Guardrail", "Guardrail/verdict": "Verdict",
	"Call/decision": "Decision", "Call/output": "Output", "Call/nested": "Inner conversation",
	"Decision/output": "Output", "Inner conversation/copies": "Span", "Inner conversation/usage": "Usage",
	"Inner conversation/calls": "Call",
}

// visit calls fn for every member of the value and of what is documented inside it.
func visit(v any, heading string, fn func(heading, name string)) {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			visit(element, heading, fn)
		}
	case map[string]any:
		for name, value := range v {
			fn(heading, name)
			if next := inside[heading+"/"+name]; next != "" {
				visit(value, next, fn)
			}
		}
	}
}
