package agent

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Answer is what was said to a question of a run, or, for a call that nobody was asked about, what decided it.
//
// RunState.Answers sets every field but Definition. RunState.StandingAnswers lists what holds for later calls and not
// what was said about one: it sets Question, Kind, Agent, Tool, Definition, Approved, Message and Always, and no other.
type Answer struct {
	// Question is the id of the interruption. A standing answer that was saved by a program which did not keep it has
	// none.
	Question string
	Kind     InterruptionKind
	// Agent made the call, with the provider's id CallID, of the tool Tool. Arguments are those that the model wrote,
	// or, with Edited, what people made of them.
	Agent, CallID, Tool string
	Arguments           json.RawMessage
	Edited              bool
	// Definition is the digest of the tool as it was when the answer was given: a standing answer holds as long as the
	// tool's definition stays what it was.
	Definition Digest
	Approved   bool
	// Message is what the model was told of a rejection; nil: nothing was said.
	Message *string
	// Always says that the answer was given for later calls too, Standing that such an answer to another question
	// decided, Program that Tool.OnApproval did.
	Always, Standing, Program bool
	// Open says that the run was not resumed since, so that the answer can still be replaced.
	Open bool
}

// Answers returns what was said to the questions of the run, also of agents used as tools: first that of calls which
// have their outputs, in the order of these, then that of open calls. Of a call about which people were asked several
// things, the last answer counts. Runs that were saved by programs that did not keep answers lack those.
func (s *RunState) Answers() []Answer {
	if s.empty() {
		return nil
	}
	var answers []Answer
	at := make(map[*frame]int)
	calls := make(map[*frame]map[string]*Item)
	for _, f := range s.log {
		it := &f.items[at[f]]
		if it.IsCall() {
			if calls[f] == nil {
				calls[f] = make(map[string]*Item)
			}
			calls[f][it.CallID] = it
		}
		if a := f.answers[at[f]]; a != nil {
			answers = append(answers, a.about(calls[f][it.CallID]))
		}
		at[f]++
	}
	_ = s.frame.each(func(f *frame) error {
		for _, c := range f.calls {
			if a := f.answerTo(c); a != nil && c.State != callDone && c.Decision != nil {
				open := a.about(f.callItem(c))
				open.Open = c.State == callWaiting && c.Output == nil
				answers = append(answers, open)
			}
		}
		return nil
	})
	return answers
}

// about returns the answer to the question about the call; nil: the call is not to be found.
func (a *savedAnswer) about(call *Item) Answer {
	answer := Answer{
		Question: a.Question, Kind: a.Kind, Arguments: slices.Clone(a.Arguments), Edited: a.Arguments != nil,
		Approved: a.Approve, Message: a.Message, Always: a.Always, Standing: a.Standing, Program: a.Program,
	}
	if call == nil {
		return answer
	}
	answer.Agent, answer.CallID, answer.Tool = call.Agent, call.CallID, call.Name
	if call.Type == ItemMCPApprovalRequest {
		answer.Tool = call.Server + "." + call.Name
	}
	if a.Arguments == nil {
		answer.Arguments, _ = call.arguments(call.Arguments)
	}
	return answer
}

// savedAnswer is an answer as it is saved beside the output that it led to, so that a long run does not write it again
// with every checkpoint.
type savedAnswer struct {
	Question  string           `json:"question"`
	Kind      InterruptionKind `json:"kind"`
	Approve   bool             `json:"approve"`
	Always    bool             `json:"always,omitempty"`
	Standing  bool             `json:"standing,omitempty"`
	Program   bool             `json:"program,omitempty"`
	Message   *string          `json:"message,omitempty"`
	Arguments json.RawMessage  `json:"arguments,omitempty"`
}

// answerTo returns what decided the call, or nil when only its gate did.
func (f *frame) answerTo(c *call) *savedAnswer {
	how := f.ruling(c)
	if how.verdict == undecided || how.verdict == free && !c.Given {
		return nil
	}
	a := &savedAnswer{
		Question: f.interruptionID(c.ID), Kind: c.Question, Approve: how.verdict == approved, Program: how.program,
		Standing: !how.exact, Message: how.message, Arguments: c.Arguments,
	}
	if how.verdict == free { // people filled in what was missing, and the gate let it through then
		a.Kind, a.Approve, a.Standing = FieldsRequired, true, false
	}
	if c.Decision != nil && c.Decision.Arguments != nil {
		a.Arguments = c.Decision.Arguments
	}
	if a.Kind == "" {
		a.Kind = Confirm
	}
	if a.Approve {
		a.Message = nil
	}
	if given := f.standing(c); given != nil && given.Question == a.Question && a.Kind == Confirm {
		a.Always, a.Standing = true, false
	}
	return a
}

// keepAnswer keeps what decided the call beside its output, which is the next item.
func (f *frame) keepAnswer(c *call) {
	a := f.answerTo(c)
	if a == nil {
		return
	}
	f.takeAnswer(len(f.items), a)
}

// takeAnswer keeps an answer beside the item at the index.
func (f *frame) takeAnswer(item int, a *savedAnswer) {
	if f.answers == nil {
		f.answers = make(map[int]*savedAnswer)
	}
	f.answers[item] = a
	f.state.answered++
	f.state.size += a.savedLen()
}

// savedLen returns how long the answer is in its saved form, or a little more.
func (a *savedAnswer) savedLen() int {
	n := 160 + quotedLen(a.Question) + len(a.Arguments)
	if a.Message != nil {
		n += quotedLen(*a.Message)
	}
	return n
}

func (a *savedAnswer) append(b []byte) []byte {
	written, _ := marshal(b, a) // of texts, and of arguments that are JSON
	return written
}

// read reads a saved answer, which must say nothing that is not written.
func (a *savedAnswer) read(data []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if dec.Decode(a) != nil || a.Question == "" || a.Kind == "" || !knownQuestion[a.Kind] {
		return false
	}
	if a.Approve && a.Message != nil || a.Standing && (a.Always || a.Program) {
		return false
	}
	return a.Arguments == nil || isCanonical(a.Arguments)
}
