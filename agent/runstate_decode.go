package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"

	"countersign/agent/internal/canon"
	"countersign/agent/internal/lex"
)

// Limits of a saved state. Both are far beyond what a run makes, and only there to bound what a forged one can cost.
const (
	maxStateBytes = 256 << 20
	maxStateDepth = maxItemDepth + 8
)

// DecodeRunState reads a state of any released schema version. root is the agent the run was started with. It
// returns a *SchemaError for data it cannot trust, and ErrUnknownAgent when the run belongs to another agent.
//
// ErrUnknownTool means that the agent no longer has the tool of a call that may still run. The state is returned with
// it: once such calls are rejected, it can be resumed.
func DecodeRunState(data []byte, root *Agent) (*RunState, error) {
	if err := root.check(); err != nil {
		return nil, err
	}
	if err := readable(data); err != nil {
		return nil, err
	}
	data = bytes.Clone(data) // items keep pieces of it
	r := lex.New(data, maxStateDepth)
	head := []byte{'{'}
	var items []Item
	found := false
	err := r.Object(func(key []byte) (err error) {
		if string(key) == "items" {
			if found {
				return r.Fail("two lists of items")
			}
			found = true
			items, err = readItems(r, items)
			return err
		}
		value, err := r.Skip()
		if len(head) > 1 {
			head = append(head, ',')
		}
		head = append(lex.AppendQuoted(head, key), ':')
		head = append(head, value...)
		return err
	})
	if err == nil && r.End() != nil {
		err = r.End()
	}
	if err != nil {
		return nil, unreadable("", err)
	}
	if !found {
		return nil, &SchemaError{Reason: "it has no items"}
	}
	return decodeState(append(head, '}'), items, root, true)
}

// AssembleRunState reads a state from its stored parts: the newest head and the chunks of items in order. Errors as
// for DecodeRunState; items beyond the head's count are dropped, missing ones are a *SchemaError.
func AssembleRunState(head json.RawMessage, chunks []json.RawMessage, root *Agent) (*RunState, error) {
	if err := root.check(); err != nil {
		return nil, err
	}
	var items []Item
	for i, chunk := range chunks {
		if err := readable(chunk); err != nil {
			return nil, err
		}
		r := lex.New(bytes.Clone(chunk), maxStateDepth)
		var err error
		items, err = readItems(r, items)
		if err == nil && r.End() != nil {
			err = r.End()
		}
		if err != nil {
			return nil, unreadable("/chunks/"+strconv.Itoa(i), err)
		}
	}
	if err := readable(head); err != nil {
		return nil, err
	}
	return decodeState(head, items, root, false)
}

func readable(data []byte) error {
	switch {
	case len(data) > maxStateBytes:
		return &SchemaError{Reason: "it is too large"}
	case !utf8.Valid(data):
		return &SchemaError{Reason: "it is not valid UTF-8"}
	}
	return nil
}

// unreadable wraps what the reader says, which holds no data of the state.
func unreadable(path string, err error) error {
	if e, ok := errors.AsType[*lex.Error](err); ok {
		return &SchemaError{Path: path, Reason: e.Reason + " at byte " + strconv.Itoa(e.Offset)}
	}
	return &SchemaError{Path: path, Reason: errNotItem.Error()}
}

func readItems(r *lex.Reader, items []Item) ([]Item, error) {
	err := r.Array(func() error {
		it, err := readSaved(r)
		items = append(items, it)
		return err
	})
	return items, err
}

// decodeState builds a state from its parts. whole says that the head must count all items.
func decodeState(data []byte, items []Item, root *Agent, whole bool) (*RunState, error) {
	head, err := decodeHead(data)
	if err != nil {
		return nil, err
	}
	if head.Count < 0 || len(items) < head.Count || whole && len(items) > head.Count {
		return nil, head.bad("/item_count", "the number of items is not what the head says")
	}
	items = items[:head.Count:head.Count]
	s := &RunState{
		id: head.ID, root: root, path: head.Path, turn: head.Turn, maxTurns: head.MaxTurns, usage: head.Usage,
		items: items, input: head.Input, session: head.Session, calls: head.Calls, always: head.Always, final: head.Final,
	}
	if err := head.check(); err != nil {
		return nil, err
	}
	if err := s.readLedger(); err != nil {
		return nil, err
	}
	if err := s.checkCalls(); err != nil {
		return nil, err
	}
	if err := s.checkPath(root); err != nil {
		return nil, err
	}
	return s, s.checkTools(root)
}

// decodeHead reads a head strictly: after reading it, it must be what this version writes, member for member.
func decodeHead(data []byte) (*stateHead, error) {
	canonical, err := canon.TransformLarge(data)
	if err != nil {
		return nil, &SchemaError{Reason: "its head is not JSON that has one meaning only"}
	}
	var head stateHead
	dec := json.NewDecoder(bytes.NewReader(canonical))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&head); err != nil || head.Version != stateVersion {
		return nil, mismatch(canonical, err)
	}
	again, err := json.Marshal(&head)
	if err == nil {
		again, err = canon.TransformLarge(again)
	}
	if err != nil || !bytes.Equal(again, canonical) {
		return nil, head.bad("", "it holds members that this version does not write")
	}
	return &head, nil
}

// mismatch says why a head does not fit, the version first, without repeating what the data says.
func mismatch(head []byte, err error) error {
	var claim struct {
		Version json.Number `json:"version"`
	}
	if json.Unmarshal(head, &claim) != nil || claim.Version == "" {
		return &SchemaError{Path: "/version", Reason: "it has no version"}
	}
	version := excerpt(claim.Version.String())
	if version != strconv.Itoa(stateVersion) {
		return &SchemaError{Version: version, Path: "/version", Reason: "the version is not known to this program"}
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &SchemaError{Version: version, Path: "/" + e.Field, Reason: "it has the wrong type"}
	}
	return &SchemaError{Version: version, Reason: "it holds members or values that this version does not know"}
}

func (h *stateHead) bad(path, reason string) error {
	return &SchemaError{Version: strconv.Itoa(stateVersion), Path: path, Reason: reason}
}
