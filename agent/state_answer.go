package agent

import (
	"encoding/json"
	"fmt"
	"slices"

	"countersign/agent/internal/strictjson"
)

// decision is the answer of people, or of a program, to one call.
type decision struct {
	Approve bool `json:"approve"`
	// Program says that Tool.OnApproval gave it.
	Program bool        `json:"program,omitempty"`
	Message *string     `json:"message,omitempty"`
	Output  *ToolOutput `json:"output,omitempty"`
	// Arguments are what a person made of the call's arguments, canonical and complete.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// standing is an answer with Always: it decides the later calls of one tool by one agent, as long as the tool's
// definition stays what it was.
type standing struct {
	Agent      string  `json:"agent"`
	Tool       string  `json:"tool"`
	Definition Digest  `json:"definition"`
	Approve    bool    `json:"approve"`
	Message    *string `json:"message,omitempty"`
	// Question is the id of the interruption that it was given to. States of versions before 3 do not say.
	Question string `json:"question,omitempty"`
}

// ruling is what is known about whether a call may run.
type ruling struct {
	verdict verdict
	exact   bool        // by a decision for this very call; such a one goes before a standing one
	program bool        // by a program
	message *string     // for the model, when rejected
	output  *ToolOutput // what people found out, when approved: nothing has to run
	review  bool        // free, but somebody should look at it afterwards
}

type verdict int

const (
	undecided verdict = iota
	free              // its gate let it through
	approved
	rejected
)

func verdictOf(approve bool) verdict {
	if approve {
		return approved
	}
	return rejected
}

// ruling looks up what decides c.
func (f *frame) ruling(c *call) ruling {
	always := f.standing(c)
	switch d := c.Decision; {
	case d != nil:
		r := ruling{
			verdict: verdictOf(d.Approve), exact: true, program: d.Program, message: d.Message, output: d.Output,
		}
		if r.verdict == rejected && r.message == nil && always != nil && !always.Approve {
			r.message = always.Message
		}
		return r
	case c.State == callCleared && c.Always:
		return ruling{verdict: approved}
	case c.State == callCleared:
		return ruling{verdict: free, review: c.Review}
	case always == nil || c.Renew:
		return ruling{}
	}
	return ruling{verdict: verdictOf(always.Approve), message: always.Message}
}

// standing returns the decision with Always that covers c.
func (f *frame) standing(c *call) *standing {
	if c.Definition == nil {
		return nil
	}
	for i := range f.state.always {
		if a := &f.state.always[i]; a.covers(f.agent, c) {
			return a
		}
	}
	return nil
}

func (a *standing) covers(agent string, c *call) bool {
	return a.Agent == agent && a.Tool == c.Tool && a.Definition == *c.Definition
}

// Approve records that in may run, or what in asks for: the Fields of FieldsRequired, the Output of ExternalResult. It
// returns ErrUnknownInterruption when in is not open in this state, ErrStale when in's digest is not the open call's,
// and ErrConfig when opts do not fit in.Kind or hold what the tool does not take; the text says why. The last answer
// to a question stands until it is resumed, and takes everything of the one before with it, Always included; a
// decision with Always never replaces one that was given for another call.
//
// What is filled in is not the end of it: the tool's gate is asked about the completed call when the run is resumed.
// Changed arguments are approved with this decision, but a gate that fails on them asks again.
func (s *RunState) Approve(in Interruption, opts ApproveOptions) error {
	c, f, err := s.question(&in)
	if err == nil {
		err = opts.check(in.Kind)
	}
	var arguments json.RawMessage
	if err == nil {
		arguments, err = f.decidedArguments(c, opts)
	}
	if err != nil {
		return fmt.Errorf("approve %s: %w", excerptLong(in.ID), err)
	}
	f.takeBackStanding(c)
	c.Decision = &decision{Approve: true, Arguments: arguments}
	if opts.Output != nil {
		output := limited(ToolOutput{Text: validText(opts.Output.Text), Failed: opts.Output.Failed})
		c.Decision.Output = &output
	}
	if opts.Always {
		f.decideAlways(c, standing{Approve: true})
	}
	return nil
}

// question returns the open call that in asks about, and its conversation.
func (s *RunState) question(in *Interruption) (*call, *frame, error) {
	if s.empty() {
		return nil, nil, ErrUnknownInterruption
	}
	return s.frame.question(in)
}

// check reports options that do not fit the kind of question.
func (o *ApproveOptions) check(kind InterruptionKind) error {
	switch {
	case o.Output != nil && kind != OutcomeUnknown && kind != ExternalResult:
		return fmt.Errorf("%w: only a call with an unknown outcome or an external one takes an output", ErrConfig)
	case o.Output == nil && kind == ExternalResult:
		return fmt.Errorf("%w: an external call needs an output", ErrConfig)
	case o.Always && kind != Confirm:
		return fmt.Errorf("%w: always is an answer to %q only", ErrConfig, Confirm)
	case o.Arguments != nil && kind != Confirm:
		return fmt.Errorf("%w: only the arguments of a %q question can be changed", ErrConfig, Confirm)
	case o.Arguments != nil && o.Always:
		return fmt.Errorf("%w: always cannot go with changed arguments", ErrConfig)
	case (o.Fields != nil) != (kind == FieldsRequired):
		return fmt.Errorf("%w: %q takes Fields, and nothing else does", ErrConfig, FieldsRequired)
	}
	return nil
}

// decidedArguments returns the arguments as a person changed or completed them, or nil.
func (f *frame) decidedArguments(c *call, opts ApproveOptions) (json.RawMessage, error) {
	if opts.Arguments == nil && opts.Fields == nil {
		return nil, nil
	}
	tool := f.tool(c)
	if tool == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknownTool, c.Tool)
	}
	if tool.Wire == WireHosted {
		return nil, fmt.Errorf(
			"%w: the provider carries the call out as it is; its arguments cannot be changed", ErrConfig)
	}
	var arguments json.RawMessage
	var err error
	if opts.Fields != nil {
		arguments, err = tool.complete(c.arguments(), opts.Fields)
	} else {
		arguments, err = strictjson.Arguments(opts.Arguments)
		if err == nil {
			err = tool.validate(arguments)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return arguments, nil
}

// Reject records that in must not run. Errors as for Approve.
func (s *RunState) Reject(in Interruption, opts RejectOptions) error {
	c, f, err := s.question(&in)
	switch {
	case err != nil:
		return fmt.Errorf("reject %s: %w", excerptLong(in.ID), err)
	case opts.Always && c.Question != Confirm:
		return fmt.Errorf("reject %s: %w: always is an answer to %q only", in.ID, ErrConfig, Confirm)
	}
	var message *string
	if opts.Message != nil {
		text := shortText(*opts.Message)
		message = &text
	}
	f.takeBackStanding(c)
	c.Decision = &decision{Message: message}
	if opts.Always {
		f.decideAlways(c, standing{Message: message})
	}
	return nil
}

func (f *frame) decideAlways(c *call, d standing) {
	d.Agent, d.Tool, d.Definition = f.agent, c.Tool, *c.Definition
	d.Question = f.interruptionID(c.ID)
	if earlier := f.standing(c); earlier != nil {
		*earlier = d
		return
	}
	f.state.always = append(f.state.always, d)
}

// takeBackStanding takes back the standing answer that came with the answer which the question of c had until now. That
// is known by the question; where a state is too old to say so, an answer that says the same is taken for it: too few
// standing answers only mean that people are asked.
func (f *frame) takeBackStanding(c *call) {
	if c.Decision == nil {
		return
	}
	id := f.interruptionID(c.ID)
	f.state.always = slices.DeleteFunc(f.state.always, func(a standing) bool {
		same := a.Question == id || a.Question == "" && a.Approve == c.Decision.Approve
		return same && a.covers(f.agent, c)
	})
}
