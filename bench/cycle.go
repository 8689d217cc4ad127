package main

import (
	"cmp"
	"context"
	"fmt"
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

// benchAgent is an agent with one tool, which counts its effects.
func benchAgent(url string, api openaimodel.API, effects *atomic.Int64) (*agent.Agent, error) {
	model, err := openaimodel.New(openaimodel.Config{Model: "bench-model", API: api, BaseURL: url, APIKey: "bench"})
	if err != nil {
		return nil, err
	}
	transfer := agent.NewTool("transfer", "Move money between two accounts.",
		func(context.Context, transferInput) (string, error) {
			effects.Add(1)
			return "transferred", nil
		})
	return &agent.Agent{
		Name: "bench", Instructions: "You move money.", Model: model, Tools: []agent.Tool{transfer},
	}, nil
}

func newCycleRig(url string, api openaimodel.API, path string) (*cycleRig, error) {
	rig := new(cycleRig)
	var err error
	if rig.agent, err = benchAgent(url, api, &rig.effects); err != nil {
		return nil, err
	}
	rig.agent.Tools[0].NeedsApproval = agent.AlwaysAsk
	rig.store, err = boltstore.Open(path, boltstore.Config{})
	return rig, err
}

func (c *cycleRig) effectCount() int { return int(c.effects.Load()) }
func (c *cycleRig) close() error     { return c.store.Close() }

// job runs, pauses, saves durably, loads, approves, resumes.
func (c *cycleRig) job(ctx context.Context, i int) error {
	var r agent.Runner
	paused, err := r.Run(ctx, c.agent, []agent.Item{agent.UserMessage("transfer 250 to acme")}, agent.RunOptions{})
	if err != nil {
		return err
	}
	id := approvals.RunID("run_" + strconv.Itoa(i))
	d, err := paused.State.Delta(0)
	if err != nil {
		return err
	}
	save := func(tx approvals.Tx) error { return tx.PutState(benchWorkspace, id, d) }
	if err := c.store.Update(ctx, save); err != nil {
		return err
	}
	var s *agent.RunState
	err = c.store.View(ctx, func(tx approvals.Tx) error {
		head, chunks, err := tx.State(benchWorkspace, id)
		if err == nil {
			s, err = (&agent.SavedState{Head: head, Chunks: chunks}).Decode(c.agent)
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
	done, err := r.Resume(ctx, c.agent, s, agent.RunOptions{})
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
	for _, width := range []int{1, 64} {
		all, err := cycleContenders(o, url, o.scale(4000, 100)/(1+3/width))
		if err != nil {
			return err
		}
		results, err := compete(ctx, o, width, all)
		if err != nil {
			return err
		}
		printFigures(fmt.Sprintf("%d at once", width), results...)
		var budgets map[string]string
		if width == 64 {
			budgets = map[string]string{
				"@openai/agents": "at least 10, the aim is 20",
				"eino, bbolt":    "at least 2.5",
				"floor, by hand": "the aim is 0.45",
			}
		}
		printShares(results, budgets)
	}
	return nil
}

// cycleContenders lists who does the cycle: ourselves first, then the least that it takes, then the peers that there
// are.
func cycleContenders(o options, url string, total int) ([]contender, error) {
	var all []contender
	for _, name := range []string{ourCycle, ourChatCycle, floorCycle} {
		c, err := builtIn(name, url, total, true)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if o.goPeers != "" {
		for _, store := range []string{"bbolt", "file"} {
			all = append(all, contender{command: []string{o.goPeers, "cycle", store, url}, dir: true, total: total})
		}
	}
	if o.peers != "" {
		all = append(all, contender{
			command: []string{"node", filepath.Join(o.peers, "cycle.mjs"), url}, dir: true, total: o.scale(1000, 100),
		})
	}
	return all, nil
}

// printFigures prints the median of each group and, when there are several, the ratios of the first to the others.
func printFigures(title string, groups ...[]Figures) {
	fmt.Printf("| %s | per second | per CPU second | p50 ms | p99 ms | peak RSS MB | ratio per CPU second |\n"+
		"|---|--:|--:|--:|--:|--:|--:|\n", title)
	var first Figures
	for i, g := range groups {
		if len(g) == 0 {
			continue
		}
		f := median(g)
		if i == 0 {
			first = f
		}
		fmt.Printf("| %s | %.0f | %.0f | %.2f | %.2f | %.0f | %.2f |\n", f.Name, f.PerSecond, f.PerCPUSecond,
			f.P50, f.P99, f.RSS, first.PerCPUSecond/cmp.Or(f.PerCPUSecond, 1))
	}
	fmt.Println()
}
