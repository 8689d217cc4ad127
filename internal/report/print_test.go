package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden prints a month of a team, and one in which nothing happened.
func TestGolden(t *testing.T) {
	t.Parallel()
	nothing := New(october).Report()
	nothing.Generated, nothing.Version = time.Date(2026, 10, 2, 8, 30, 0, 0, time.UTC), "v1.2.0"
	for name, r := range map[string]*Report{"month": sample(), "nothing": nothing} {
		for format, print := range map[string]func(io.Writer) error{
			"txt": r.Text, "html": r.HTML, "json": func(w io.Writer) error {
				e := json.NewEncoder(w)
				e.SetIndent("", "  ")
				return e.Encode(r)
			},
		} {
			t.Run(name+"."+format, func(t *testing.T) {
				t.Parallel()
				var out bytes.Buffer
				if err := print(&out); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", name+"."+format), out.Bytes())
			})
		}
	}
}

func golden(t *testing.T, path string, have []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, have, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(have)); diff != "" {
		t.Errorf("%s (-want +have):\n%s", path, diff)
	}
}
