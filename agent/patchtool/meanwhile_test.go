//go:build unix

package patchtool_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/patchtool"
	"countersign/agent/scripted"
)

// meddler is a journal that lets everything through, and changes a file first.
type meddler struct{ meddle func() }

func (m meddler) Intent(context.Context, agent.Effect) (agent.Prior, error) {
	m.meddle()
	return agent.Prior{}, nil
}

func (m meddler) Done(context.Context, agent.Effect, agent.ToolOutput) error { return nil }

// TestChangedMeanwhile has somebody change a file when the approval of a patch was compared with it for the last time
// and nothing has been written yet. The patch would still fit; but that is not the file that people saw.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, asks := range []bool{true, false} {
		dir := t.TempDir()
		file := filepath.Join(dir, "limits")
		lay(t, dir, map[string]string{"limits": "for: tests\ndaily: 1000\n"})
		tool := newTool(t, patchtool.Config{Root: dir})
		if !asks {
			tool.NeedsApproval = nil
		}
		c := patch(t, "*** Begin Patch\n*** Update File: limits\n-daily: 1000\n+daily: 2000\n*** End Patch")
		a := &agent.Agent{Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(
			scripted.Calls(scripted.Call("c1", "apply_patch", string(c.Arguments))), scripted.Say("Done."))}
		r := &agent.Runner{
			Journal: meddler{func() { lay(t, dir, map[string]string{"limits": "for: production\ndaily: 1000\n"}) }},
		}
		res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("raise it")}, agent.RunOptions{})
		if err == nil && asks {
			if err = res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}); err == nil {
				res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		items := res.State.Items()
		told := items[2].Output
		if strings.Contains(string(got), "2000") == asks ||
			strings.Contains(told, `Nothing was changed: "limits" is no longer`) != asks {
			t.Errorf("asks %v: the file says %q, the model is told %q", asks, got, told)
		}
	}
}
