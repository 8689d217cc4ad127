package agent

import "slices"

// StandingAnswer is an answer with Always, which decides the later calls of one tool by one agent, as long as the
// tool's definition stays what it was.
type StandingAnswer struct {
	Agent      string
	Tool       string
	Definition Digest
	Approved   bool
	// Message is what the model reads when a call is rejected; nil: nothing was said.
	Message *string
	// Question is the id of the interruption that it was given to; empty when the state was saved by a program that did
	// not keep it.
	Question string
}

// StandingAnswers returns the answers with Always that hold now, oldest first.
func (s *RunState) StandingAnswers() []StandingAnswer {
	if s.empty() {
		return nil
	}
	var answers []StandingAnswer
	for _, a := range s.always {
		answers = append(answers, StandingAnswer{
			Agent: a.Agent, Tool: a.Tool, Definition: a.Definition,
			Approved: a.Approve, Message: a.Message, Question: a.Question,
		})
	}
	return answers
}

// Revoke takes back the answer with Always for the tool of the agent, and reports whether there was one. Agent, Tool
// and Definition of a say which; the rest is not looked at. Questions that only it had answered are open again. The
// answer to the very question that it came with stays, and so does what it has let through already: that may have
// begun.
func (s *RunState) Revoke(a StandingAnswer) (revoked bool) {
	if s.empty() {
		return false
	}
	before := len(s.always)
	s.always = slices.DeleteFunc(s.always, func(d standing) bool {
		return d.Agent == a.Agent && d.Tool == a.Tool && d.Definition == a.Definition
	})
	return len(s.always) < before
}
