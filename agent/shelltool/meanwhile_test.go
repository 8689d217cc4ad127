//go:build unix

package shelltool_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/agent/shelltool"
)

// meddler is a journal that lets everything through, and changes a file first.
type meddler struct{ meddle func() }

func (m meddler) Intent(context.Context, agent.Effect) (agent.Prior, error) {
	m.meddle()
	return agent.Prior{}, nil
}

func (m meddler) Done(context.Context, agent.Effect, agent.ToolOutput) error { return nil }

// TestProgramExchangedMeanwhile has somebody put another program in the place of an approved one when it was compared
// with it for the last time by the runner, and nothing has been started yet.
func TestProgramExchangedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, asks := range []bool{true, false} {
		dir := t.TempDir()
		file := filepath.Join(dir, "deploy.sh")
		write := func(text string) {
			if err := os.WriteFile(file, []byte("#!/bin/sh\necho "+text+"\n"), 0o755); err != nil {
				t.Error(err)
			}
		}
		write("old")
		tool := newTool(t, shelltool.Config{Workdir: dir})
		if !asks {
			tool.NeedsApproval = nil
		}
		a := &agent.Agent{Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(
			scripted.Calls(scripted.Call("c1", "shell", `{"argv":["./deploy.sh"]}`)), scripted.Say("Done."))}
		r := &agent.Runner{Journal: meddler{func() { write("new") }}}
		res, err := r.Run(t.Context(), a, []agent.Item{agent.UserMessage("deploy")}, agent.RunOptions{})
		if err == nil && asks {
			if err = res.State.Approve(res.Interruptions[0], agent.ApproveOptions{}); err == nil {
				res, err = r.Resume(t.Context(), a, res.State, agent.RunOptions{})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		told := res.State.Items()[2].Output
		if strings.Contains(told, "new") == asks ||
			strings.Contains(told, "Nothing was started: a program is no longer") != asks {
			t.Errorf("asks %v: the model is told %q", asks, told)
		}
	}
}
