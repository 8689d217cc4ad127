package bot

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGoldenCardsHaveSlacksTypes lets the TypeScript compiler judge every golden file by Slack's own type definitions.
// It needs `npm ci` in testdata/types.
func TestGoldenCardsHaveSlacksTypes(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Abs("testdata/types/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "typescript")); err != nil {
		const hint = "the golden cards are not type-checked: run `npm ci` in bot/testdata/types"
		if strings.Contains(os.Getenv("COUNTERSIGN_TEST_REQUIRE"), "node") {
			t.Fatal(hint)
		}
		t.Skip(hint)
	}
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	source := "import type { AnyBlock } from '@slack/types';\n"
	shown := surfaces()
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		raw, err := json.Marshal(shown[name].Blocks)
		if err != nil {
			t.Fatal(err)
		}
		source += fmt.Sprintf("export const %s: AnyBlock[] = %s;\n", name, raw)
	}
	if out, err := compile(t, dir, modules, source); err != nil {
		t.Errorf("Slack's types refuse a golden card: %v\n%s", err, out)
	}

	bad := strings.Replace(source, `"style":"primary"`, `"style":"primry"`, 1)
	if bad == source {
		t.Fatal("no card has a primary button: the control proves nothing")
	}
	if out, err := compile(t, dir, modules, bad); err == nil || !strings.Contains(out, "primry") {
		t.Errorf("the control was not refused: %v\n%s", err, out)
	}
}

func compile(t *testing.T, dir, modules, source string) (string, error) {
	t.Helper()
	path := filepath.Join(dir, "cards.mts")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	tsc := exec.CommandContext(t.Context(), filepath.Join(modules, ".bin", "tsc"),
		"--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--moduleResolution", "nodenext", path)
	tsc.Dir = dir
	out, err := tsc.CombinedOutput()
	return string(out), err
}
