//go:build unix

package patchtool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/patchtool"
	"countersign/agent/scripted"
)

// TestNobodyIsAskedAboutTheImpossible has patches that can be worked out and never be applied.
func TestNobodyIsAskedAboutTheImpossible(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lay(t, dir, map[string]string{"helper": "x\n", "old": "x\n"})
	if err := os.Chmod(filepath.Join(dir, "helper"), 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	tool := newTool(t, patchtool.Config{Root: dir})
	const move = "*** Update File: old\n*** Move to: new\n"
	for text, want := range map[string]string{
		add("a") + add("a/b"):                           `"a" and "a/b" cannot both be files`,
		add("a/b/c") + add("a"):                         `"a/b/c" and "a" cannot both be files`,
		update("helper"):                                `"helper" runs with other rights`,
		move + "-x\n+y\n" + add("new/b"):                `"new" and "new/b" cannot both be files`,
		"*** Update File: helper\n*** Move to: moved\n": `"helper" runs with other rights`,
	} {
		c := patch(t, "*** Begin Patch\n"+text+"*** End Patch")
		if facts, err := tool.Preconditions(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nis asked about: %q, %v", text, facts, err)
		}
	}
	for _, text := range []string{add("a") + add("ab"), add("d/a") + add("d/b"), "*** Delete File: helper\n"} {
		if _, err := tool.Preconditions(t.Context(), patch(t, "*** Begin Patch\n"+text+"*** End Patch")); err != nil {
			t.Errorf("control: %s\n%v", text, err)
		}
	}
}

// TestModeIsBound makes a file executable after a patch of it was approved: people are asked again.
func TestModeIsBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lay(t, dir, map[string]string{"run": "x\n"})
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{newTool(t, patchtool.Config{Root: dir})}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "apply_patch", string(patch(t,
			"*** Begin Patch\n"+update("run")+"*** End Patch").Arguments))), scripted.Say("Done."))}
	r := &agent.Runner{}
	res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("go")}, agent.RunOptions{})
	if err == nil {
		err = res.State.Approve(res.Interruptions[0], agent.ApproveOptions{})
	}
	if err == nil {
		err = os.Chmod(filepath.Join(dir, "run"), 0o755)
	}
	if err == nil {
		res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "run")); len(res.Interruptions) != 1 || string(data) != "x\n" {
		t.Errorf("asked %d times again, the file is %q", len(res.Interruptions), data)
	}
}
