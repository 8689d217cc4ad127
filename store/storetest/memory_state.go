package storetest

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

func (t *memoryTx) State(ws approvals.WorkspaceID, run approvals.RunID) (json.RawMessage, []json.RawMessage, error) {
	if err := t.reading(); err != nil {
		return nil, nil, err
	}
	head := t.root.get(key("state", ws, string(run)))
	if head == nil {
		return nil, nil, approvals.ErrNotFound
	}
	var chunks []json.RawMessage
	for _, v := range t.rows(key("chunk", ws, string(run)), "") {
		chunks = append(chunks, bytes.Clone(v.data))
	}
	return bytes.Clone(head.data), chunks, nil
}

func (t *memoryTx) StateTail(ws approvals.WorkspaceID, run approvals.RunID, bytes int) ([]json.RawMessage, int, error) {
	if err := t.reading(); err != nil {
		return nil, 0, err
	}
	if t.root.get(key("state", ws, string(run))) == nil {
		return nil, 0, approvals.ErrNotFound
	}
	chunks, older := t.tail(key("chunk", ws, string(run)), bytes, 0)
	return chunks, older, nil
}

// tail returns the newest values that fit into so many bytes, but at least so many, and the number of those before.
func (t *memoryTx) tail(prefix string, size, least int) (newest []json.RawMessage, older int) {
	var values []*value
	total := 0
	for _, v := range t.rows(prefix, "") {
		values = append(values, v)
	}
	for i, v := range slices.Backward(values) {
		if total += len(v.data); total > size && len(newest) >= least {
			older = i + 1
			break
		}
		newest = append(newest, bytes.Clone(v.data))
	}
	slices.Reverse(newest)
	return newest, older
}

func (t *memoryTx) PutState(ws approvals.WorkspaceID, run approvals.RunID, d agent.Delta) error {
	if err := identified(ws, string(run)); err != nil {
		return err
	}
	if d.From < 0 || d.Count < 0 {
		return approvals.ErrInvalid
	}
	head, items := bytes.Clone(d.Head), bytes.Clone(d.Items)
	return t.change(func() error {
		t.set(key("state", ws, string(run)), head)
		if d.Count == 0 {
			return nil
		}
		chunk := key("chunk", ws, string(run), number(uint64(d.From)))
		for k := range t.rows(key("chunk", ws, string(run)), chunk) {
			t.remove(k)
		}
		t.set(chunk, items)
		return nil
	})
}

func (t *memoryTx) DeleteState(ws approvals.WorkspaceID, run approvals.RunID, limit int) (more bool, err error) {
	if err := t.usable(true); err != nil {
		return false, err
	}
	if err := t.reading(); err != nil {
		return false, err
	}
	t.remove(key("state", ws, string(run)))
	deleted := 0
	for k := range t.rows(key("chunk", ws, string(run)), "") {
		if limit > 0 && deleted == limit {
			return true, nil
		}
		t.remove(k)
		deleted++
	}
	return false, nil
}

func (t *memoryTx) SessionTail(ws approvals.WorkspaceID, p approvals.Place, bytes int) ([]json.RawMessage, int, error) {
	if err := t.reading(); err != nil {
		return nil, 0, err
	}
	chunks, older := t.tail(key("session", ws, placeParts(p)...), bytes, 1)
	return chunks, older, nil
}

func (t *memoryTx) AppendSession(ws approvals.WorkspaceID, p approvals.Place, id string, items json.RawMessage) error {
	if err := identified(ws, id); err != nil {
		return err
	}
	items = bytes.Clone(items)
	at, err := marshal(t.now)
	if err != nil {
		return err
	}
	return t.change(func() error {
		seen := key("session key", ws, placeParts(p, id)...)
		if t.root.get(seen) != nil {
			return nil
		}
		t.set(seen, at)
		n := uint64(0)
		for range t.rows(key("session", ws, placeParts(p)...), "") {
			n++
		}
		t.set(key("session", ws, placeParts(p, number(n))...), items)
		return nil
	})
}

func (t *memoryTx) DeleteSession(ws approvals.WorkspaceID, p approvals.Place) error {
	return t.change(func() error {
		t.removeAll(key("session", ws, placeParts(p)...))
		t.removeAll(key("session key", ws, placeParts(p)...))
		return nil
	})
}

func (t *memoryTx) Sessions(ws approvals.WorkspaceID, behind approvals.Place, limit int) ([]approvals.Place, error) {
	if err := t.reading(); err != nil || limit <= 0 {
		return nil, err
	}
	var list []approvals.Place
	prefix := key("session", ws)
	for k := range t.rows(prefix, "") {
		p := parts(k)
		place := approvals.Place{Surface: p[2], Channel: p[3], Thread: p[4]}
		known := len(list) > 0 && samePlace(list[len(list)-1], place)
		if known || slices.Compare(placeParts(place), placeParts(behind)) <= 0 {
			continue
		}
		if len(list) == limit {
			break
		}
		list = append(list, place)
	}
	return list, nil
}

func (t *memoryTx) SessionAppended(ws approvals.WorkspaceID, p approvals.Place) (newest time.Time, err error) {
	if err := t.reading(); err != nil {
		return newest, err
	}
	found := false
	for _, v := range t.rows(key("session key", ws, placeParts(p)...), "") {
		at, err := decode[time.Time](v)
		if err != nil {
			return newest, err
		}
		if found = true; at.After(newest) {
			newest = *at
		}
	}
	if !found {
		return newest, approvals.ErrNotFound
	}
	return newest, nil
}
