package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	raw := fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":"call_%d","name":%q,"arguments":"{}","status":"completed"}`, n, n, name)
	item, err := agent.ParseItem(json.RawMessage(raw))
	return &agent.ModelResponse{Items: []agent.Item{item}}, err
}

// longRun returns a paused run of about that many items, outputs of 500 bytes.
func longRun(ctx context.Context, items int, checkpoint func(context.Context, agent.Delta) error) (*agent.Agent, *agent.RunState, error) {
	filler := strings.Repeat("x", 500)
	look := agent.NewTool("look", "Look.", func(context.Context, struct{}) (string, error) { return filler, nil })
	transfer := agent.NewTool("transfer", "Transfer.", func(context.Context, struct{}) (string, error) { return "ok", nil })
	transfer.NeedsApproval = agent.AlwaysAsk
	a := &agent.Agent{Name: "bench", Model: caller{items/2 - 1}, Tools: []agent.Tool{look, transfer}}
	r := &agent.Runner{MaxTurns: -1, Checkpoint: checkpoint}
	res, err := r.Run(ctx, a, agent.UserMessage("go"))
	if err != nil {
		return nil, nil, err
	}
	return a, res.State, nil
}

type stateFigures struct {
	Items          int     `json:"items"`
	Encode, Decode float64 `json:"-"`
	EncodeMS       float64 `json:"encode_ms"`
	DecodeMS       float64 `json:"decode_ms"`
	Bytes          int     `json:"bytes"`
}

func benchState(ctx context.Context, o options) error {
	sizes := []int{10, 100, 1000, 5000}
	peers := map[int]stateFigures{}
	if o.peers != "" {
		var err error
		if peers, err = peerStates(ctx, o, o.scale(1000, 100)); err != nil {
			return err
		}
	}
	fmt.Println("| items | bytes | encode ms | decode ms | encoding/json, same bytes: marshal / unmarshal ms | ours / encoding/json | @openai/agents: encode / decode ms |")
	fmt.Println("|--:|--:|--:|--:|--:|--:|--:|")
	for _, items := range sizes {
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
		peer := "–"
		if p, ok := peers[items]; ok {
			peer = fmt.Sprintf("%.1f / %.1f", p.EncodeMS, p.DecodeMS)
		}
		fmt.Printf("| %d | %d | %.3f | %.3f | %.3f / %.3f | %.2f | %s |\n", items, len(data), ms(enc), ms(dec), ms(bareEnc), ms(bareDec),
			float64(enc+dec)/float64(bareEnc+bareDec), peer)
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

func peerStates(ctx context.Context, o options, largest int) (map[int]stateFigures, error) {
	args := []string{filepath.Join(o.peers, "state.mjs")}
	for n := 10; n <= largest; n *= 10 {
		args = append(args, strconv.Itoa(n))
	}
	out, err := node(ctx, args...)
	if err != nil {
		return nil, err
	}
	peers := map[int]stateFigures{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var f stateFigures
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return nil, fmt.Errorf("peer printed %q: %w", lines.Text(), err)
		}
		peers[f.Items] = f
	}
	return peers, nil
}

// node runs a peer's script and returns what it printed.
func node(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
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
