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

	"github.com/slack-go/slack"

	"countersign/approvals"
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
	source := "import type { AnyBlock, AnyChunk, HomeView, ModalView } from '@slack/types';\n"
	shown := surfaces()
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		typed, value := shown[name].typed()
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		source += fmt.Sprintf("export const %s: %s = %s;\n", name, typed, raw)
	}
	chunks, err := json.Marshal(streamChunks())
	if err != nil {
		t.Fatal(err)
	}
	source += fmt.Sprintf("export const chunks: AnyChunk[] = %s;\n", chunks)
	if out, err := compile(t, dir, modules, source); err != nil {
		t.Errorf("Slack's types refuse a golden card: %v\n%s", err, out)
	}

	for good, spoilt := range map[string]string{
		`"style":"primary"`: `"style":"primry"`, `"status":"in_progress"`: `"status":"in_progess"`,
		`"type":"modal"`: `"type":"modl"`, `"type":"plain_text_input"`: `"type":"plain_text_inpt"`,
	} {
		bad := strings.Replace(source, good, spoilt, 1)
		if bad == source {
			t.Fatalf("nothing has %s: the control proves nothing", good)
		}
		word := strings.Trim(spoilt[strings.Index(spoilt, ":"):], `:"`)
		if out, err := compile(t, dir, modules, bad); err == nil || !strings.Contains(out, word) {
			t.Errorf("the control was not refused: %v\n%s", err, out)
		}
	}
}

// typed is what Slack is sent of the surface, and the name of its type there.
func (s surface) typed() (name string, value any) {
	switch s.Type {
	case slack.VTHomeTab:
		return "HomeView", slack.HomeTabViewRequest{Type: s.Type, Blocks: slack.Blocks{BlockSet: s.Blocks}}
	case slack.VTModal:
		v := slack.ModalViewRequest{Type: s.Type, Title: plain(s.Title), Close: plain(s.Close)}
		if s.Submit != "" {
			v.Submit = plain(s.Submit)
		}
		v.Blocks.BlockSet = s.Blocks
		return "ModalView", v
	}
	return "AnyBlock[]", s.Blocks
}

// streamChunks are what a stream is made of: its head, words, and a task card in each state.
func streamChunks() []any {
	s := &stream{run: approvals.FollowedRun{Run: "run_1"}, number: 1, tasks: newTasks(), text: "One.\nTwo.\n"}
	for i, state := range []approvals.CallState{
		approvals.CallPending, approvals.CallRunning, approvals.CallWaiting, approvals.CallRan, approvals.CallFailed,
		approvals.CallNotRun,
	} {
		s.tasks.hear(approvals.RunUpdate{
			Kind: approvals.UpdateCall, Call: fmt.Sprint(i), Tool: "transfer_funds", Path: []string{"ops", "inner"},
			State: state,
		})
	}
	return append([]any{s.chunk(smallPrint(wordsStreamLead))}, s.take(true)...)
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
