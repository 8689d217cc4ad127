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
	"countersign/agent/shelltool"
)

const (
	oldScript = "#!/bin/sh\nprintf old >>ran\n"
	newScript = "#!/bin/sh\nprintf new >>ran\n"
	exchange  = "*** Begin Patch\n*** Update File: deploy.sh\n-printf old >>ran\n+printf new >>ran\n*** End Patch"
)

// TestPatchAndRunInOneTurn has people approve a program as it is, and in the same turn a patch of it. Whichever comes
// first: what runs is what was approved, or people are asked again.
func TestPatchAndRunInOneTurn(t *testing.T) {
	t.Parallel()
	for range 40 {
		dir := t.TempDir()
		lay(t, dir, map[string]string{"deploy.sh": oldScript})
		if err := os.Chmod(filepath.Join(dir, "deploy.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
		shell, err := shelltool.New(shelltool.Config{Workdir: dir})
		if err != nil {
			t.Fatal(err)
		}
		a := &agent.Agent{Name: "ops", Tools: []agent.Tool{newTool(t, patchtool.Config{Root: dir}), shell},
			Model: scripted.New(
				scripted.Calls(
					scripted.Call("c1", "apply_patch", string(patch(t, exchange).Arguments)),
					scripted.Call("c2", "shell", `{"argv":["./deploy.sh"]}`),
				), scripted.Say("Done."))}
		r := &agent.Runner{}
		res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("deploy")}, agent.RunOptions{})
		for _, in := range res.Interruptions {
			if err := res.State.Approve(in, agent.ApproveOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil || len(res.Interruptions) != 2 {
			t.Fatalf("asked %d times, %v", len(res.Interruptions), err)
		}
		if res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{}); err != nil {
			t.Fatal(err)
		}
		ran, _ := os.ReadFile(filepath.Join(dir, "ran"))
		asked := len(res.Interruptions) == 1 && res.Interruptions[0].Call.Tool == "shell"
		if string(ran) != "old" && !(len(ran) == 0 && asked) {
			t.Fatalf("ran %q, asked again: %v", ran, asked)
		}
		if patched, err := os.ReadFile(filepath.Join(dir, "deploy.sh")); err != nil ||
			!strings.Contains(string(patched), "new") {
			t.Fatalf("the patch is lost: %q, %v", patched, err)
		}
	}
}
