package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"countersign/agent"
	"countersign/agent/openaimodel"
	"countersign/approvals"
	"countersign/store/boltstore"
)

// transferInput are the arguments of the tool that a cycle asks about.
type transferInput struct {
	Amount float64 `json:"amount"`
	To     string  `json:"to"`
}

// cycleRig is the library without any service: agent, openaimodel, boltstore.
type cycleRig struct {
	agent   *agent.Agent
	store   *boltstore.Store
	effects atomic.Int64
}

const benchWorkspace approvals.WorkspaceID = "TBENCH"

func newCycleRig(url, path string) (*cycleRig, error) {
	model, err := openaimodel.New(openaimodel.Config{Model: "bench-model", BaseURL: url, APIKey: "bench"})
	if err != nil {
		return nil, err
	}
	st, err := boltstore.Open(path, boltstore.Config{})
	if err != nil {
		return nil, err
	}
	rig := &cycleRig{store: st}
	transfer := agent.NewTool("transfer", "Move money between two accounts.", func(context.Context, transferInput) (string, error) {
		rig.effects.Add(1)
		return "transferred", nil
	})
	transfer.NeedsApproval = agent.AlwaysAsk
	rig.agent = &agent.Agent{Name: "bench", Instructions: "You move money.", Model: model, Tools: []agent.Tool{transfer}}
	return rig, nil
}

// cycle runs, pauses, saves durably, loads, approves, resumes.
func (c *cycleRig) cycle(ctx context.Context, i int) error {
	var r agent.Runner
	paused, err := r.Run(ctx, c.agent, agent.UserMessage("transfer 250 to acme"))
	if err != nil {
		return err
	}
	id := approvals.RunID("run_" + strconv.Itoa(i))
	d, err := paused.State.Delta(0)
	if err != nil {
		return err
	}
	if err := c.store.Update(ctx, func(tx approvals.Tx) error { return tx.PutState(benchWorkspace, id, d) }); err != nil {
		return err
	}
	var s *agent.RunState
	err = c.store.View(ctx, func(tx approvals.Tx) error {
		head, chunks, err := tx.State(benchWorkspace, id)
		if err == nil {
			s, err = agent.AssembleRunState(head, chunks, c.agent)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, in := range s.Interruptions() {
		if err := s.Approve(in, agent.ApproveOptions{}); err != nil {
			return err
		}
	}
	done, err := r.Resume(ctx, c.agent, s)
	if err != nil {
		return err
	}
	if done.FinalOutput == "" {
		return fmt.Errorf("cycle %d has no answer", i)
	}
	return nil
}

func benchCycle(ctx context.Context, o options) error {
	url, stop, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer stop()
	total, repetitions := o.scale(4000, 100), o.scale(3, 1)
	for _, width := range []int{1, 64} {
		var ours, peers []Figures
		for n := range repetitions { // paired: one of each in turn
			rig, err := newCycleRig(url, filepath.Join(o.dir, fmt.Sprintf("cycle-%d-%d.db", width, n)))
			if err != nil {
				return err
			}
			f, err := measure(ctx, "countersign", total/(1+3/width), width, rig.cycle)
			rig.store.Close()
			if err != nil {
				return err
			}
			ours = append(ours, f)
			if o.peers == "" {
				continue
			}
			p, err := peerCycle(ctx, o, url, o.scale(1000, 100), width)
			if err != nil {
				return err
			}
			peers = append(peers, p)
		}
		printFigures(fmt.Sprintf("%d at once", width), ours, peers)
	}
	return nil
}

func peerCycle(ctx context.Context, o options, url string, total, width int) (Figures, error) {
	dir, err := os.MkdirTemp(o.dir, "peer-")
	if err != nil {
		return Figures{}, err
	}
	out, err := node(ctx, filepath.Join(o.peers, "cycle.mjs"), url, dir, strconv.Itoa(total), strconv.Itoa(width))
	if err != nil {
		return Figures{}, err
	}
	var f Figures
	return f, json.Unmarshal(bytes.TrimSpace(out), &f)
}

// printFigures prints the median of each group and, when there are several, the ratios of the first to the others.
func printFigures(title string, groups ...[]Figures) {
	fmt.Printf("| %s | per second | per CPU second | p50 ms | p99 ms | peak RSS MB | ratio per CPU second |\n|---|--:|--:|--:|--:|--:|--:|\n", title)
	var first Figures
	for i, g := range groups {
		if len(g) == 0 {
			continue
		}
		f := median(g)
		if i == 0 {
			first = f
		}
		fmt.Printf("| %s | %.0f | %.0f | %.2f | %.2f | %.0f | %.2f |\n", f.Name, f.PerSecond, f.PerCPUSecond, f.P50, f.P99, f.RSS,
			first.PerCPUSecond/cmp.Or(f.PerCPUSecond, 1))
	}
	fmt.Println()
}
