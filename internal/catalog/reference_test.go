package catalog

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/internal/agentsfile"
)

// document returns the text of a file of the repository.
func document(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func reference(t *testing.T) string { return document(t, "docs", "agents-file.md") }

// TestDocumentedExamples makes the agents files that the first page and the reference show first.
func TestDocumentedExamples(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		tools int
	}{"getting started": {document(t, "docs", "getting-started.md"), 2}, "reference": {reference(t), 4}} {
		_, rest, found := strings.Cut(c.text, "```yaml\n")
		text, _, closed := strings.Cut(rest, "```")
		if !found || !closed {
			t.Fatalf("%s: no example", name)
		}
		text = strings.NewReplacer("/srv/repo", `"${DIR}"`, "${PAYMENTS_TOKEN}", "${TOKEN}", "${GITHUB_TOKEN}",
			"${TOKEN}").Replace(text)
		made, err := buildCatalog(t, text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(made.rows) != c.tools {
			t.Errorf("%s: tools: %+v", name, made.rows)
		}
	}
}

// TestReferenceHasEveryKey of the agents file, by its schema.
func TestReferenceHasEveryKey(t *testing.T) {
	t.Parallel()
	var schema any
	if err := json.Unmarshal(agentsfile.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	code := strings.Join(regexp.MustCompile("(?s)```.*?```|`[^`]+`").FindAllString(reference(t), -1), " ")
	keys := schemaKeys(schema)
	if len(keys) < 80 {
		t.Fatalf("the schema has only the keys %q", keys)
	}
	for _, key := range keys {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(key) + `\b`).MatchString(code) {
			t.Errorf("docs/agents-file.md does not speak of %s", key)
		}
	}
}

// schemaKeys are the names of all properties in a JSON Schema.
func schemaKeys(schema any) (keys []string) {
	switch s := schema.(type) {
	case []any:
		for _, v := range s {
			keys = append(keys, schemaKeys(v)...)
		}
	case map[string]any:
		for name, v := range s {
			if properties, ok := v.(map[string]any); ok && name == "properties" {
				keys = slices.AppendSeq(keys, maps.Keys(properties))
			}
			keys = append(keys, schemaKeys(v)...)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// TestReferenceTools compares the reference's table of tools with the schema of the agents file: every type, every key,
// and which of them are needed.
func TestReferenceTools(t *testing.T) {
	t.Parallel()
	var schema struct {
		Defs map[string]struct {
			Required   []string
			Properties map[string]struct{ Const string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(agentsfile.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	// The text below the table speaks of these, and of the types that have them.
	elsewhere := []string{"type", "needs_approval", "approval", "guardrails"}
	want := make(map[string][]string)
	for _, d := range schema.Defs {
		typ := d.Properties["type"].Const
		if typ == "" {
			continue
		}
		keys := []string{}
		for key := range d.Properties {
			switch {
			case slices.Contains(elsewhere, key):
			case slices.Contains(d.Required, key):
				keys = append(keys, "**`"+key+"`**")
			default:
				keys = append(keys, "`"+key+"`")
			}
		}
		slices.Sort(keys)
		want[typ] = keys
	}
	have := make(map[string][]string)
	key := regexp.MustCompile("(?:\\*\\*)?`[a-z_]+`(?:\\*\\*)?")
	for line := range strings.SplitSeq(reference(t), "\n") {
		cells := strings.Split(line, "|")
		typ := strings.Trim(strings.TrimSpace(cells[min(1, len(cells)-1)]), "`")
		if len(cells) == 7 && want[typ] != nil {
			have[typ] = key.FindAllString(cells[3], -1)
			slices.Sort(have[typ])
		}
	}
	if len(want) != 10 {
		t.Errorf("the schema has %d types of tools", len(want))
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("the table (-schema +docs/agents-file.md):\n%s", diff)
	}
}
