package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"

	"go.etcd.io/bbolt"
)

// floorModel is what a program does at least to ask a model that may call a tool: net/http and encoding/json, no
// retries, no checks but of what it needs.
type floorModel struct {
	client  *http.Client
	url     string
	effects atomic.Int64
}

func newFloorModel(url string) *floorModel {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 128
	return &floorModel{client: &http.Client{Transport: t}, url: url + "/responses"}
}

type floorRequest struct {
	Model        string            `json:"model"`
	Instructions string            `json:"instructions"`
	Input        []json.RawMessage `json:"input"`
	Tools        []json.RawMessage `json:"tools"`
}

type floorResponse struct {
	Output []json.RawMessage `json:"output"`
}

// floorItem is what the loop looks at of an item.
type floorItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Content   []struct {
		Text string `json:"text"`
	} `json:"content"`
}

var floorTools = []json.RawMessage{json.RawMessage(`{` +
	`"type":"function","name":"transfer","description":"Move money between two accounts.","strict":false,` +
	`"parameters":{"type":"object","properties":{"amount":{"type":"number"},"to":{"type":"string"}},` +
	`"required":["amount","to"],"additionalProperties":false}}`)}

var floorInput = json.RawMessage(`{"role":"user","content":"transfer 250 to acme"}`)

// ask calls the model and returns the conversation with its answer: a call of the tool, or the text.
func (m *floorModel) ask(ctx context.Context, items []json.RawMessage) ([]json.RawMessage, *floorItem, error) {
	body, err := json.Marshal(floorRequest{
		Model: "bench-model", Instructions: "You move money.", Input: items, Tools: floorTools,
	})
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer bench")
	req.Header.Set("Content-Type", "application/json")
	res, err := m.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("model: %s", res.Status)
	}
	var r floorResponse
	if err := json.NewDecoder(res.Body).Decode(&r); err != nil {
		return nil, nil, err
	}
	for _, raw := range r.Output {
		var it floorItem
		if err := json.Unmarshal(raw, &it); err != nil {
			return nil, nil, err
		}
		if it.Type == "function_call" || it.Type == "message" && len(it.Content) > 0 {
			return append(items, r.Output...), &it, nil
		}
	}
	return nil, nil, errors.New("the model answered neither with a call nor with a text")
}

// transfer runs the tool and appends its output.
func (m *floorModel) transfer(items []json.RawMessage, call *floorItem) ([]json.RawMessage, error) {
	var in transferInput
	if err := json.Unmarshal([]byte(call.Arguments), &in); err != nil {
		return nil, err
	}
	m.effects.Add(1)
	output, err := json.Marshal(map[string]string{
		"type": "function_call_output", "call_id": call.CallID, "output": "transferred",
	})
	return append(items, output), err
}

// finish runs the tool and reads the answer.
func (m *floorModel) finish(ctx context.Context, items []json.RawMessage, call *floorItem) error {
	if call.Name != "transfer" {
		return fmt.Errorf("the model called %q", call.Name)
	}
	items, err := m.transfer(items, call)
	if err != nil {
		return err
	}
	_, answer, err := m.ask(ctx, items)
	if err == nil && (answer.Type != "message" || answer.Content[0].Text == "") {
		err = errors.New("no answer")
	}
	return err
}

func (m *floorModel) effectCount() int { return int(m.effects.Load()) }

// plainFloor is a run without a pause, by hand.
type plainFloor struct{ *floorModel }

func (p *plainFloor) job(ctx context.Context, _ int) error {
	items, call, err := p.ask(ctx, []json.RawMessage{floorInput})
	if err != nil {
		return err
	}
	return p.finish(ctx, items, call)
}

func (*plainFloor) close() error { return nil }

// floorRig is the cycle by hand: what is saved is the conversation and nothing else, in a group commit without
// isolation.
type floorRig struct {
	*floorModel
	db    *bbolt.DB
	group *group
}

var floorBucket = []byte("states")

func newFloorRig(url, path string, width int) (*floorRig, error) {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucketIfNotExists(floorBucket); return err })
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &floorRig{floorModel: newFloorModel(url), db: db, group: newGroup(db, width)}, nil
}

// floorState is a paused run: the conversation, and the call in it that waits.
type floorState struct {
	Items []json.RawMessage `json:"items"`
	Call  floorItem         `json:"call"`
}

func (f *floorRig) job(ctx context.Context, i int) error {
	items, call, err := f.ask(ctx, []json.RawMessage{floorInput})
	if err != nil {
		return err
	}
	data, err := json.Marshal(floorState{items, *call})
	if err != nil {
		return err
	}
	key := []byte("run_" + strconv.Itoa(i))
	save := func(tx *bbolt.Tx) error { return tx.Bucket(floorBucket).Put(key, data) }
	if err := f.group.update(f.db, save); err != nil {
		return err
	}
	var s floorState
	err = f.db.View(func(tx *bbolt.Tx) error { return json.Unmarshal(tx.Bucket(floorBucket).Get(key), &s) })
	if err != nil {
		return err
	}
	return f.finish(ctx, s.Items, &s.Call)
}

func (f *floorRig) close() error {
	f.group.close()
	return f.db.Close()
}
