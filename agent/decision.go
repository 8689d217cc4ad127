package agent

import "fmt"

// decision is the answer of people to one call.
type decision struct {
	Approve bool        `json:"approve"`
	Message *string     `json:"message,omitempty"`
	Output  *ToolOutput `json:"output,omitempty"`
}

// standing is an answer with Always: it decides the later calls of one tool by one agent, as long as the tool's
// definition stays what it was.
type standing struct {
	Agent      string  `json:"agent"`
	Tool       string  `json:"tool"`
	Definition Digest  `json:"definition"`
	Approve    bool    `json:"approve"`
	Message    *string `json:"message,omitempty"`
}

// ruling is what is known about whether a call may run.
type ruling struct {
	verdict verdict
	exact   bool        // by a decision for this very call; such a one goes before a standing one
	message *string     // for the model, when rejected
	output  *ToolOutput // what people found out, when approved: nothing has to run
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
func (s *RunState) ruling(c *call) ruling {
	always := s.standing(c)
	switch d := c.Decision; {
	case d != nil:
		r := ruling{verdict: verdictOf(d.Approve), exact: true, message: d.Message, output: d.Output}
		if r.verdict == rejected && r.message == nil && always != nil && !always.Approve {
			r.message = always.Message
		}
		return r
	case c.State == callCleared && c.Always:
		return ruling{verdict: approved}
	case c.State == callCleared:
		return ruling{verdict: free}
	case always == nil || c.Renew:
		return ruling{}
	}
	return ruling{verdict: verdictOf(always.Approve), message: always.Message}
}

// standing returns the decision with Always that covers c.
func (s *RunState) standing(c *call) *standing {
	if c.Definition == nil {
		return nil
	}
	for i := range s.always {
		if a := &s.always[i]; a.covers(s.agentName(), c) {
			return a
		}
	}
	return nil
}

func (a *standing) covers(agent string, c *call) bool {
	return a.Agent == agent && a.Tool == c.Tool && a.Definition == *c.Definition
}

// Approve records that in may run. It returns ErrUnknownInterruption when in is not open in this state, and ErrStale
// when in's digest is not the open call's. The last decision for a call stands until it is resumed; a decision with
// Always never replaces one that was given for another call.
func (s *RunState) Approve(in Interruption, opts ApproveOptions) error {
	c, err := s.question(in)
	switch {
	case err != nil:
		return fmt.Errorf("approve %s: %w", excerptLong(in.ID), err)
	case opts.Output != nil && c.Question != OutcomeUnknown:
		return fmt.Errorf("approve %s: %w: only a call with an unknown outcome takes an output", in.ID, ErrConfig)
	case opts.Always && c.Question != Confirm:
		return fmt.Errorf("approve %s: %w: always is an answer to %q only", in.ID, ErrConfig, Confirm)
	}
	c.Decision = &decision{Approve: true}
	if opts.Output != nil {
		c.Decision.Output = &ToolOutput{Text: validText(opts.Output.Text)}
	}
	if opts.Always {
		s.decideAlways(c, standing{Approve: true})
	}
	return nil
}

// Reject records that in must not run. Errors as for Approve.
func (s *RunState) Reject(in Interruption, opts RejectOptions) error {
	c, err := s.question(in)
	switch {
	case err != nil:
		return fmt.Errorf("reject %s: %w", excerptLong(in.ID), err)
	case opts.Always && c.Question != Confirm:
		return fmt.Errorf("reject %s: %w: always is an answer to %q only", in.ID, ErrConfig, Confirm)
	}
	var message *string
	if opts.Message != nil {
		text := validText(*opts.Message)
		message = &text
	}
	c.Decision = &decision{Message: message}
	if opts.Always {
		s.decideAlways(c, standing{Message: message})
	}
	return nil
}

// question returns the open call that in asks about.
func (s *RunState) question(in Interruption) (*call, error) {
	for _, c := range s.calls {
		if c.State != callWaiting || interruptionID(s.path, s.turn, c.ID) != in.ID {
			continue
		}
		if in.Digest != *c.Digest || in.Kind != c.Question || in.Attempt != c.Attempt {
			return nil, ErrStale
		}
		return c, nil
	}
	return nil, ErrUnknownInterruption
}

func (s *RunState) decideAlways(c *call, d standing) {
	d.Agent, d.Tool, d.Definition = s.agentName(), c.Tool, *c.Definition
	if earlier := s.standing(c); earlier != nil {
		*earlier = d
		return
	}
	s.always = append(s.always, d)
}
