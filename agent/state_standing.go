package agent

import "slices"

// StandingAnswers returns the answers with Always that hold now, oldest first. Each decides the later calls of one tool
// by one agent; see Answer for what is set of it.
func (s *RunState) StandingAnswers() []Answer {
	if s.empty() {
		return nil
	}
	var answers []Answer
	for _, a := range s.always {
		answers = append(answers, Answer{
			Question: a.Question, Kind: Confirm, Agent: a.Agent, Tool: a.Tool, Definition: a.Definition,
			Approved: a.Approve, Message: a.Message, Always: true,
		})
	}
	return answers
}

// Revoke takes back the answer with Always for the tool of the agent, and reports whether there was one. Agent, Tool
// and Definition of a say which; the rest is not looked at. Without a Definition, as RunState.Answers lists them, a
// stands for every definition of the tool. Questions that only what is revoked had answered are open again. The answer
// to the very question that it came with stays, and so does what it has let through already: that may have begun.
func (s *RunState) Revoke(a Answer) (revoked bool) {
	if s.empty() {
		return false
	}
	before := len(s.always)
	s.always = slices.DeleteFunc(s.always, func(d standing) bool {
		return d.Agent == a.Agent && d.Tool == a.Tool && (a.Definition == Digest{} || d.Definition == a.Definition)
	})
	return len(s.always) < before
}
