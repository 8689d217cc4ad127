package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// stateVersion is the schema version that is written. Every released version stays readable.
const stateVersion = 1

// stateHead is everything of a state but its items, as it is saved. Its size depends on the current turn, not on the
// length of the run: what is known about earlier calls is read from the items again.
type stateHead struct {
	Version  int         `json:"version"`
	ID       string      `json:"id"`
	Path     []string    `json:"path"`
	Turn     int         `json:"turn"`
	MaxTurns int         `json:"max_turns"` // -1: no limit
	Usage    Usage       `json:"usage"`
	Count    int         `json:"item_count"`
	Input    int         `json:"input_items"`
	Session  sessionMark `json:"session"`
	Calls    []*call     `json:"calls,omitempty"`
	Always   []standing  `json:"always,omitempty"`
	Final    *string     `json:"final_output,omitempty"`
}

// Delta is what changed in a state since it had From items: a new head, and the items appended since.
// Writing a delta costs time and space in proportion to what is new, not to the length of the run.
type Delta struct {
	Head  json.RawMessage // replaces the head stored before
	From  int             // number of items stored before
	Count int             // number of items appended
	Items json.RawMessage // JSON array of the appended items; nil when Count is 0
}

// Delta returns what is new since the state had from items.
func (s *RunState) Delta(from int) (Delta, error) {
	if from < 0 || from > len(s.items) {
		return Delta{}, fmt.Errorf("%w: delta from item %d of %d", ErrConfig, from, len(s.items))
	}
	head, err := s.appendHead(nil)
	if err != nil {
		return Delta{}, err
	}
	d := Delta{Head: head, From: from, Count: len(s.items) - from}
	if d.Count > 0 {
		d.Items = appendItems(make([]byte, 0, sizeOf(s.items[from:])), s.items[from:])
	}
	return d, nil
}

// MarshalJSON writes the whole state in the current schema version: the head with the items as its last member.
// Calling it directly is faster than json.Marshal, which reads the result again.
func (s *RunState) MarshalJSON() ([]byte, error) {
	b, err := s.appendHead(make([]byte, 0, 1024+sizeOf(s.items)))
	if err != nil {
		return nil, err
	}
	b = append(b[:len(b)-1], `,"items":`...)
	return append(appendItems(b, s.items), '}'), nil
}

func (s *RunState) appendHead(b []byte) ([]byte, error) {
	out := bytes.NewBuffer(b)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(stateHead{
		Version: stateVersion, ID: s.id, Path: s.path, Turn: s.turn, MaxTurns: s.maxTurns, Usage: s.usage,
		Count: len(s.items), Input: s.input, Session: s.session, Calls: s.calls, Always: s.always, Final: s.final,
	})
	if err != nil {
		return nil, fmt.Errorf("encode run state: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func appendItems(b []byte, items []Item) []byte {
	b = append(b, '[')
	for i := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = items[i].appendSaved(b)
	}
	return append(b, ']')
}

// sizeOf estimates the length of saved items, generously enough that most texts fit without growing.
func sizeOf(items []Item) int {
	n := 2
	for i := range items {
		it := &items[i]
		if it.Raw != nil {
			n += len(it.Raw) + len(it.Agent) + 24
		} else {
			n += len(it.Text) + len(it.Arguments) + len(it.Output) + len(it.CallID) + len(it.Agent) + 128
		}
	}
	return n + n/16
}
