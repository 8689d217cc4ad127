package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/internal/agentsfile"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReadmeExample makes the agents file that the README shows.
func TestReadmeExample(t *testing.T) {
	t.Parallel()
	_, rest, found := strings.Cut(readme(t), "```yaml\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("no example")
	}
	text = strings.NewReplacer("/srv/repo", `"${DIR}"`, "${PAYMENTS_TOKEN}", "${TOKEN}", "${GITHUB_TOKEN}",
		"${TOKEN}").Replace(text)
	c, err := buildCatalog(t, text)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.rows) != 4 {
		t.Errorf("tools: %+v", c.rows)
	}
}

// TestReadmeTools compares the README's table of tools with the schema of the agents file: every type, every key, and
// which of them are needed.
func TestReadmeTools(t *testing.T) {
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
	for line := range strings.SplitSeq(readme(t), "\n") {
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
		t.Errorf("the README's table (-schema +README):\n%s", diff)
	}
}
