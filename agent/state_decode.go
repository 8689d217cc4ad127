package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"

	"countersign/agent/internal/strictjson"
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
	g, err := graphOf(root)
	if err != nil {
		return nil, err
	}
	if err := readable(data); err != nil {
		return nil, err
	}
	data = bytes.Clone(data) // items keep pieces of it
	r := strictjson.NewReader(data, maxStateDepth)
	head := strictjson.NewObject(nil)
	var items savedItems
	found := false
	err = r.Object(func(key []byte) (err error) {
		if string(key) == "items" {
			if found {
				return r.Fail("two lists of items")
			}
			found = true
			return items.read(r)
		}
		value, err := r.Skip()
		head.Raw(string(key), value)
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
	return decodeState(head.End(), &items, root, g, true)
}

// SavedState is a state as a store keeps it: the newest head, and the chunks of items in order. It is the sum of the
// deltas that checkpoints hand out, or of those that RunState.Delta returns.
type SavedState struct {
	Head   json.RawMessage
	Chunks []json.RawMessage
}

// Decode reads the state. root is the agent that the run was started with. Errors as for DecodeRunState; items beyond
// the head's count are dropped, missing ones are a *SchemaError.
func (s *SavedState) Decode(root *Agent) (*RunState, error) {
	g, err := graphOf(root)
	if err != nil {
		return nil, err
	}
	items, err := readChunks(s.Chunks)
	if err != nil {
		return nil, err
	}
	if err := readable(s.Head); err != nil {
		return nil, err
	}
	return decodeState(s.Head, items, root, g, false)
}

// Items reads the conversation of a run that will not go on: no agents are needed. The items are those of
// [RunState.Items]. Of a head that cannot be read nothing is taken; then what handoffs with a filter have put in the
// conversation's place is among the items, and so is what a lost head did not count. A *SchemaError says that the items
// cannot be read.
func (s *SavedState) Items() ([]Item, error) {
	saved, err := readChunks(s.Chunks)
	if err != nil {
		return nil, err
	}
	whole := saved.items
	var copies []span
	if readable(s.Head) == nil {
		if h, err := decodeHead(s.Head); err == nil && h.Count >= 0 {
			whole, copies = whole[:min(h.Count, len(whole))], h.Copies
		}
	}
	run := frame{copies: copies}
	for i := range whole {
		if saved.frame(i) == 0 {
			run.items = append(run.items, whole[i])
		}
	}
	return run.own(0), nil
}

// readChunks reads the stored items of a state.
func readChunks(chunks []json.RawMessage) (*savedItems, error) {
	var items savedItems
	for i, chunk := range chunks {
		if err := readable(chunk); err != nil {
			return nil, err
		}
		r := strictjson.NewReader(bytes.Clone(chunk), maxStateDepth)
		err := items.read(r)
		if err == nil && r.End() != nil {
			err = r.End()
		}
		if err != nil {
			return nil, unreadable("/chunks/"+strconv.Itoa(i), err)
		}
	}
	return &items, nil
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
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		return &SchemaError{Path: path, Reason: e.Reason + " at byte " + strconv.Itoa(e.Offset)}
	}
	return &SchemaError{Path: path, Reason: errNotItem.Error()}
}

// savedItems are items as they were saved, and the numbers of their conversations. The numbers are left out as long as
// all of them are zero.
type savedItems struct {
	items   []Item
	frames  []int
	answers map[int]*savedAnswer // by index
}

func (l *savedItems) read(r *strictjson.Reader) error {
	return r.Array(func() error {
		it, err := readSaved(r)
		if it.frame != 0 && l.frames == nil {
			l.frames = make([]int, len(l.items))
		}
		if it.answer != nil {
			if l.answers == nil {
				l.answers = make(map[int]*savedAnswer)
			}
			l.answers[len(l.items)] = it.answer
		}
		l.items = append(l.items, it.item)
		if l.frames != nil {
			l.frames = append(l.frames, it.frame)
		}
		return err
	})
}

// frame returns the number of the conversation of an item.
func (l *savedItems) frame(i int) int {
	if l.frames == nil {
		return 0
	}
	return l.frames[i]
}

// decodeState builds a state from its parts. whole says that the head must count all items.
func decodeState(data []byte, items *savedItems, root *Agent, g graph, whole bool) (*RunState, error) {
	head, err := decodeHead(data)
	if err != nil {
		return nil, err
	}
	if head.Count < 0 || len(items.items) < head.Count || whole && len(items.items) > head.Count {
		return nil, head.bad("/item_count", "the number of items is not what the head says")
	}
	if err := head.check(); err != nil {
		return nil, err
	}
	s := &RunState{
		id: head.ID, series: head.Series, data: head.Context, root: root, graph: g, frames: head.Frames,
		usage: head.Usage, session: head.Session, server: head.Server, always: head.Always, pending: head.Pending,
		guardrails: head.Guardrails, trace: head.Trace, handled: head.Handled,
	}
	s.frame = &frame{
		state: s, agent: head.Path[0], entry: cmp.Or(head.Entry, head.Path[0]), turn: head.Turn,
		maxTurns: head.MaxTurns, input: head.Input, copies: head.Copies, leftOut: head.LeftOut, calls: head.Calls,
		answer: head.Answer, final: head.Final,
	}
	if err := s.distribute(head, items); err != nil {
		return nil, err
	}
	if s.answered > 0 && head.Version < stateVersion {
		return nil, head.bad("", "it holds what its version has no words for")
	}
	if err := s.checkMarks(head); err != nil {
		return nil, err
	}
	if err := s.checkFrames(head); err != nil {
		return nil, err
	}
	if err := s.checkAgents(root, g); err != nil {
		return nil, err
	}
	if err := s.checkKinds(head); err != nil {
		return nil, err
	}
	return s, s.checkTools()
}

// distribute gives each conversation its items. Those that have ended only keep their place in the log.
func (s *RunState) distribute(head *stateHead, items *savedItems) error {
	frames := map[int]*frame{0: s.frame}
	err := s.frame.each(func(f *frame) error {
		for _, c := range f.calls {
			inner := c.Nested
			if inner == nil {
				continue
			}
			if inner.number < 1 || inner.number > s.frames || frames[inner.number] != nil {
				return head.bad("/calls", "the number of a conversation is not one, or used twice")
			}
			frames[inner.number] = inner
			inner.state, inner.parent, inner.outer = s, f, c
			if inner.depth() > maxDepth {
				return head.bad("/calls", "conversations are nested too deep")
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.size = savedLen(items.items[:head.Count])
	s.log = make([]*frame, head.Count)
	if items.frames == nil {
		s.frame.items = items.items[:head.Count:head.Count]
		for i := range s.log {
			s.log[i] = s.frame
			if a := items.answers[i]; a != nil {
				s.frame.takeAnswer(i, a)
			}
		}
		return nil
	}
	for i, it := range items.items[:head.Count] {
		number := items.frame(i)
		if number > s.frames {
			return badItem(i, "it belongs to a conversation that never began")
		}
		f := frames[number]
		if f == nil {
			f = &frame{state: s, number: number}
			frames[number] = f
		}
		f.items = append(f.items, it)
		s.log[i] = f
		if a := items.answers[i]; a != nil {
			f.takeAnswer(len(f.items)-1, a)
		}
	}
	return nil
}

// decodeHead reads a head strictly: after reading it, it must be what this version writes, member for member.
func decodeHead(data []byte) (*stateHead, error) {
	canonical := data
	head, own := ownHead(data)
	if !own {
		var err error
		if canonical, err = strictjson.CanonicalLarge(data); err != nil {
			return nil, &SchemaError{Reason: "its head is not JSON that has one meaning only"}
		}
		head, err = strictHead(canonical)
		if err != nil || head.Version < stateVersion1 || head.Version > stateVersion {
			return nil, mismatch(canonical, err)
		}
	}
	if slices.Contains(head.Calls, nil) {
		return nil, head.bad("/calls", "a call is null")
	}
	if head.Version < head.oldest(false) {
		return nil, head.bad("", "it holds what its version has no words for")
	}
	if own {
		return &head, nil
	}
	again, err := json.Marshal(&head)
	if err == nil {
		again, err = strictjson.CanonicalLarge(again)
	}
	if err != nil || !bytes.Equal(again, canonical) {
		return nil, head.bad("", "it holds members that this version does not write")
	}
	return &head, nil
}

// ownHead reads a head that is, byte for byte, what this version writes: then its text needs no closer look.
func ownHead(data []byte) (head stateHead, own bool) {
	head, err := strictHead(data)
	if err != nil || head.Version < stateVersion1 || head.Version > stateVersion {
		return head, false
	}
	again, err := marshal(nil, &head)
	return head, err == nil && bytes.Equal(again, data)
}

func strictHead(data []byte) (head stateHead, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err = dec.Decode(&head)
	return head, err
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
	if n, err := strconv.Atoi(version); err != nil || n < stateVersion1 || n > stateVersion {
		return &SchemaError{Version: version, Path: "/version", Reason: "the version is not known to this program",
			Newer: err == nil && n > stateVersion}
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &SchemaError{Version: version, Path: "/" + e.Field, Reason: "it has the wrong type"}
	}
	return &SchemaError{Version: version, Reason: "it holds members or values that this version does not know"}
}

func (h *stateHead) bad(path, reason string) error {
	return &SchemaError{Version: strconv.Itoa(h.Version), Path: path, Reason: reason}
}
