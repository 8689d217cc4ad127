package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/agent"
)

// caller is a model that calls the tool "look" until the conversation is long enough, and then "transfer".
type caller struct{ calls int }

func (m caller) Respond(_ context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	n := len(req.Items)/2 + 1
	name := "look"
	if n > m.calls {
		name = "transfer"
	}
	raw := fmt.Sprintf(
		`{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":%q,"arguments":"{}","status":"completed"}`,
		n, n, name)
	item, err := agent.ParseItem(json.RawMessage(raw))
	return &agent.ModelResponse{Items: []agent.Item{item}}, err
}

// longRun returns a paused run of about that many items, outputs of 500 bytes.
func longRun(
	ctx context.Context, items int, checkpoint func(context.Context, agent.Delta) error,
) (*agent.Agent, *agent.RunState, error) {
	filler := strings.Repeat("x", 500)
	look := agent.NewTool("look", "Look.", func(context.Context, struct{}) (string, error) { return filler, nil })
	transfer := agent.NewTool("transfer", "Transfer.", func(context.Context, struct{}) (string, error) {
		return "ok", nil
	})
	transfer.NeedsApproval = agent.AlwaysAsk
	a := &agent.Agent{Name: "bench", Model: caller{items/2 - 1}, Tools: []agent.Tool{look, transfer}}
	res, err := new(agent.Runner).Run(ctx, a, []agent.Item{agent.UserMessage("go")},
		agent.RunOptions{MaxTurns: -1, Checkpoint: checkpoint})
	if err != nil {
		return nil, nil, err
	}
	return a, res.State, nil
}

// stateFigures is what a peer prints for one length of the conversation.
type stateFigures struct {
	Name     string  `json:"name"`
	Items    int     `json:"items"`
	EncodeMS float64 `json:"encode_ms"`
	DecodeMS float64 `json:"decode_ms"`
	Bytes    int     `json:"bytes"`
}

// stateLengths are the lengths of the conversation that are measured, in items.
var stateLengths = []int{10, 100, 1000, 5000}

func benchState(ctx context.Context, o options) error {
	peers := map[string]map[int]stateFigures{}
	if o.peers != "" {
		if err := peerStates(ctx, peers, o.scale(1000, 100), "node", filepath.Join(o.peers, "state.mjs")); err != nil {
			return err
		}
	}
	if o.goPeers != "" {
		if err := peerStates(ctx, peers, o.scale(5000, 100), o.goPeers, "state"); err != nil {
			return err
		}
	}
	names := slices.Sorted(maps.Keys(peers))
	fmt.Print("| items | bytes | encode ms | decode ms | " +
		"encoding/json, same bytes: marshal / unmarshal ms | ours / encoding/json |")
	for _, name := range names {
		fmt.Printf(" %s: encode / decode ms, bytes |", name)
	}
	fmt.Println("\n|--:|--:|--:|--:|--:|--:|" + strings.Repeat("--:|", len(names)))
	for _, items := range stateLengths {
		a, s, err := longRun(ctx, items, nil)
		if err != nil {
			return err
		}
		data, err := s.MarshalJSON()
		if err != nil {
			return err
		}
		var generic struct {
			Items []struct {
				Agent string          `json:"agent,omitempty"`
				Raw   *bareItem       `json:"raw,omitempty"`
				Item  *bareItem       `json:"item,omitempty"`
				Rest  json.RawMessage `json:"-"`
			} `json:"items"`
		}
		if err := json.Unmarshal(data, &generic); err != nil {
			return err
		}
		reps := max(3, o.scale(20000, 2000)/items)
		enc := each(reps, func() error { _, err := s.MarshalJSON(); return err })
		dec := each(reps, func() error { _, err := agent.DecodeRunState(data, a); return err })
		bareEnc := each(reps, func() error { _, err := json.Marshal(&generic); return err })
		bareDec := each(reps, func() error { g := generic; g.Items = nil; return json.Unmarshal(data, &g) })
		fmt.Printf("| %d | %d | %.3f | %.3f | %.3f / %.3f | %.2f |", items, len(data), ms(enc), ms(dec),
			ms(bareEnc), ms(bareDec), float64(enc+dec)/float64(bareEnc+bareDec))
		for _, name := range names {
			if p, ok := peers[name][items]; ok {
				fmt.Printf(" %.2f / %.2f, %d |", p.EncodeMS, p.DecodeMS, p.Bytes)
			} else {
				fmt.Print(" – |")
			}
		}
		fmt.Println()
	}
	return nil
}

// bareItem is what a program that knows nothing but encoding/json would keep an item in.
type bareItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id,omitempty"`
	Role      string          `json:"role,omitempty"`
	CallID    string          `json:"call_id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments string          `json:"arguments,omitempty"`
	Status    string          `json:"status,omitempty"`
	Output    string          `json:"output,omitempty"`
	Content   json.RawMessage `json:"content,omitempty"`
}

// each returns the mean time of reps calls; the first, which warms up, does not count.
func each(reps int, fn func() error) time.Duration {
	if err := fn(); err != nil {
		panic(err)
	}
	start := time.Now()
	for range reps {
		if err := fn(); err != nil {
			panic(err)
		}
	}
	return time.Since(start) / time.Duration(reps)
}

// peerStates runs a peer's program with the lengths up to largest and files its figures by name and length.
func peerStates(
	ctx context.Context, peers map[string]map[int]stateFigures, largest int, program string, args ...string,
) error {
	for _, n := range stateLengths {
		if n <= largest {
			args = append(args, strconv.Itoa(n))
		}
	}
	out, err := output(ctx, program, args...)
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var f stateFigures
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return fmt.Errorf("peer printed %q: %w", lines.Text(), err)
		}
		if peers[f.Name] == nil {
			peers[f.Name] = map[int]stateFigures{}
		}
		peers[f.Name][f.Items] = f
	}
	return nil
}

func benchCheckpoint(ctx context.Context, o options) error {
	fmt.Println("| items | checkpoints | bytes written | bytes per item |")
	fmt.Println("|--:|--:|--:|--:|")
	for _, items := range []int{100, 1000, 5000} {
		var n, written int
		_, s, err := longRun(ctx, items, func(_ context.Context, d agent.Delta) error {
			n++
			written += len(d.Head) + len(d.Items)
			return nil
		})
		if err != nil {
			return err
		}
		fmt.Printf("| %d | %d | %d | %d |\n", len(s.Items()), n, written, written/len(s.Items()))
	}
	return nil
}
