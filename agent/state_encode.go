package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"countersign/agent/guardrail"
	"countersign/agent/internal/strictjson"
)

// The schema versions. A state is written in the oldest that can express it, so that a program which does not know the
// newest can still read what it would understand. Every released version stays readable.
//
//	1  function tools, decisions, outcome_unknown, sessions
//	2  handoffs, agents used as tools, other wire forms, facts, changed and completed arguments, external results,
//	   guardrails, tool use behaviors, added input, conversations kept by the provider
//	3  which question a standing answer was given to, calls that a session has without their outputs,
//	   runs that were given the id of another one, what guardrails said,
//	   decisions of programs, what decided earlier calls, RunContext.Data, the usage of conversations inside,
//	   what refers to the spans of a tracing system,
//	   turns that the model is not shown any more, answers that were given instead of a failure
const (
	stateVersion1 = 1
	stateVersion2 = 2
	stateVersion  = 3
)

// stateHead is everything of a state but its items, as it is saved. Its size depends on the current turn, not on the
// length of the run: what is known about earlier calls is read from the items again.
type stateHead struct {
	Version    int                `json:"version"`
	ID         string             `json:"id"`
	Series     int                `json:"series,omitempty"`
	Context    json.RawMessage    `json:"context,omitempty"`
	Path       []string           `json:"path"` // one name: the agent whose turn it is
	Entry      string             `json:"entry,omitempty"`
	Turn       int                `json:"turn"`
	MaxTurns   int                `json:"max_turns"` // -1: no limit
	Usage      Usage              `json:"usage"`
	Count      int                `json:"item_count"` // of all conversations
	Input      int                `json:"input_items"`
	Copies     []span             `json:"copies,omitempty"`
	LeftOut    *omission          `json:"left_out,omitempty"`
	Frames     int                `json:"frames,omitempty"`
	Session    sessionMark        `json:"session"`
	Server     *serverMark        `json:"conversation,omitempty"`
	Trace      string             `json:"trace,omitempty"`
	Calls      []*call            `json:"calls,omitempty"`
	Always     []standing         `json:"always,omitempty"`
	Pending    []Item             `json:"pending_input,omitempty"`
	Guardrails []guardrail.Result `json:"guardrails,omitempty"`
	Answer     *string            `json:"answer,omitempty"`
	Final      *string            `json:"final_output,omitempty"`
	Handled    string             `json:"handled,omitempty"`
}

// frameHead is everything of a conversation inside a run but its items, as it is saved with the call that it answers.
type frameHead struct {
	Number   int       `json:"number"`
	Agent    string    `json:"agent"`
	Entry    string    `json:"entry,omitempty"`
	Turn     int       `json:"turn"`
	MaxTurns int       `json:"max_turns"`
	Usage    *Usage    `json:"usage,omitempty"`
	Count    int       `json:"item_count"`
	Input    int       `json:"input_items"`
	Copies   []span    `json:"copies,omitempty"`
	LeftOut  *omission `json:"left_out,omitempty"`
	Calls    []*call   `json:"calls,omitempty"`
	Answer   *string   `json:"answer,omitempty"`
	Final    *string   `json:"final_output,omitempty"`
}

// head returns the state's head, in the oldest version that can express it.
func (s *RunState) head() *stateHead {
	f := s.frame
	h := &stateHead{
		ID: s.id, Series: s.series, Context: s.data, Path: []string{f.agent}, Entry: f.savedEntry(),
		Turn: f.turn, MaxTurns: f.maxTurns,
		Usage: s.usage, Count: len(s.log), Input: f.input, Copies: f.copies, Frames: s.frames,
		Session: s.session, Server: s.server,
		Trace: s.trace,
		Calls: f.calls, Always: s.always, Pending: s.pending, Guardrails: s.guardrails, Answer: f.answer,
		Final: f.final, LeftOut: f.leftOut, Handled: s.handled,
	}
	if h.Version = h.oldest(f.otherCalls()); s.answered > 0 {
		h.Version = stateVersion
	}
	return h
}

// oldest returns the oldest version that has words for what the head holds.
func (h *stateHead) oldest(otherCalls bool) int {
	switch {
	case h.needsVersion3():
		return stateVersion
	case h.newer(otherCalls):
		return stateVersion2
	}
	return stateVersion1
}

// needsVersion3 reports whether the head holds what version 2 has no words for.
func (h *stateHead) needsVersion3() bool {
	if h.Context != nil || h.Trace != "" || h.LeftOut != nil || h.Handled != "" ||
		slices.ContainsFunc(h.Calls, (*call).needsVersion3) {
		return true
	}
	return slices.ContainsFunc(h.Always, func(a standing) bool { return a.Question != "" }) ||
		len(h.Guardrails) > 0 || h.Series != 0 || len(h.Session.Closed)+len(h.Session.Doubted)+
		len(h.Session.Answered) > 0
}

// savedEntry returns the agent that the conversation began with, if it is another than the one whose turn it is.
func (f *frame) savedEntry() string {
	if f.entry == f.agent {
		return ""
	}
	return f.entry
}

// otherCalls reports whether a call of the turn has another form than a function.
func (f *frame) otherCalls() bool {
	for _, c := range f.calls {
		if f.callItem(c).Type != ItemFunctionCall {
			return true
		}
	}
	return false
}

// newer reports whether the head holds what version 1 has no words for.
func (h *stateHead) newer(otherCalls bool) bool {
	if otherCalls || h.Entry != "" || len(h.Copies) > 0 || h.Frames > 0 || h.Server != nil ||
		h.Pending != nil || h.Answer != nil {
		return true
	}
	for _, c := range h.Calls {
		if c.newer() {
			return true
		}
	}
	return false
}

func (c *call) needsVersion3() bool {
	if c.Decision != nil && c.Decision.Program {
		return true
	}
	return c.Nested != nil && (c.Nested.usage != Usage{} || c.Nested.leftOut != nil ||
		slices.ContainsFunc(c.Nested.calls, (*call).needsVersion3))
}

func (c *call) newer() bool {
	switch {
	case c.Preconditions != nil,
		c.Unbound, c.Arguments != nil, c.Given, c.AskedAgain != 0, c.Review, c.Nested != nil, c.Ran:
		return true
	case c.Kind == KindHandoff, c.Question == FieldsRequired, c.Question == ExternalResult:
		return true
	case c.Decision != nil && (c.Decision.Arguments != nil || c.Decision.Output.newer()):
		return true
	}
	return c.Output.newer()
}

func (o *ToolOutput) newer() bool { return o != nil && (o.Failed || o.Native != nil) }

// MarshalJSON writes the conversation without its items.
func (f *frame) MarshalJSON() ([]byte, error) {
	var usage *Usage
	if f.usage != (Usage{}) {
		usage = &f.usage
	}
	return marshal(nil, &frameHead{
		Number: f.number, Agent: f.agent, Entry: f.savedEntry(), Turn: f.turn, Usage: usage,
		MaxTurns: f.maxTurns, Count: cmp.Or(len(f.items), f.count), Input: f.input,
		Copies: f.copies, LeftOut: f.leftOut, Calls: f.calls, Answer: f.answer, Final: f.final,
	})
}

var errNullCall = errors.New("a call is null")

// UnmarshalJSON reads what MarshalJSON wrote. The items come later; until then there are as many empty ones.
func (f *frame) UnmarshalJSON(data []byte) error {
	var h frameHead
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil {
		return err
	}
	if slices.Contains(h.Calls, nil) {
		return errNullCall
	}
	*f = frame{
		number: h.Number, agent: h.Agent, entry: cmp.Or(h.Entry, h.Agent), turn: h.Turn, maxTurns: h.MaxTurns,
		count: h.Count, input: h.Input, copies: h.Copies, leftOut: h.LeftOut, calls: h.Calls, answer: h.Answer,
		final: h.Final,
	}
	if h.Usage != nil {
		f.usage = *h.Usage
	}
	return nil
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
	if s.empty() {
		return Delta{}, errEmptyState
	}
	if from < 0 || from > len(s.log) {
		return Delta{}, fmt.Errorf("%w: delta from item %d of %d", ErrConfig, from, len(s.log))
	}
	head, err := s.appendHead(nil)
	if err != nil {
		return Delta{}, err
	}
	d := Delta{Head: head, From: from, Count: len(s.log) - from}
	if d.Count > 0 {
		d.Items = s.appendLog(nil, from)
	}
	if err := checkWritten(d.Items); err != nil {
		return Delta{}, err
	}
	return d, nil
}

// MarshalJSON writes the whole state for DecodeRunState, in the oldest schema version that can express it. Calling it
// directly is faster than json.Marshal, which reads the result again. What it writes can be read: a run that has become
// too long for that is an error that wraps ErrConfig. Outputs are cut, and input and answers refused, long before.
func (s *RunState) MarshalJSON() ([]byte, error) {
	if s.empty() {
		return nil, errEmptyState
	}
	b, err := s.appendHead(make([]byte, 0, 1024+sizeOf(s.frame.items)))
	if err != nil {
		return nil, err
	}
	o := strictjson.Reopen(b)
	o.Append("items", func(b []byte) []byte { return s.appendLog(b, 0) })
	data := o.End()
	if err := checkWritten(data); err != nil {
		return nil, err
	}
	return data, nil
}

// UnmarshalJSON refuses: a state is read by DecodeRunState, which needs the agent that the run was started with.
func (s *RunState) UnmarshalJSON([]byte) error { return errNotByItself }

var errNotByItself = fmt.Errorf("%w: a run state cannot be read without its agent; use DecodeRunState", ErrConfig)

func (s *RunState) appendHead(b []byte) ([]byte, error) {
	b, err := marshal(b, s.head())
	if err != nil {
		return nil, fmt.Errorf("encode run state: %w", err)
	}
	return b, checkWritten(b)
}

// marshal appends v as JSON, with texts as they are: nobody puts a state into a web page as it is saved.
func marshal(b []byte, v any) ([]byte, error) {
	out := bytes.NewBuffer(b)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// appendLog writes the items from the one at index from on, in the order in which they came, each with the number of
// its conversation.
func (s *RunState) appendLog(b []byte, from int) []byte {
	if b == nil && s.frames == 0 {
		b = make([]byte, 0, sizeOf(s.frame.items[from:]))
	}
	next := s.positions(from)
	b = append(b, '[')
	for i, f := range s.log[from:] {
		if i > 0 {
			b = append(b, ',')
		}
		at := next(f)
		b = f.items[at].appendSaved(b, f.number, f.answers[at])
	}
	return append(b, ']')
}

// positions returns a function that says, for each conversation in the log from the index on, which of its items is the
// next.
func (s *RunState) positions(from int) func(*frame) int {
	if s.frames == 0 {
		at := from - 1
		return func(*frame) int { at++; return at }
	}
	next := make(map[*frame]int)
	for _, f := range s.log[from:] {
		next[f]--
	}
	for f, n := range next {
		next[f] = len(f.items) + n
	}
	return func(f *frame) int {
		next[f]++
		return next[f] - 1
	}
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
