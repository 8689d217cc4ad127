package agent

// InnerRun is an agent at work as a tool inside a run.
type InnerRun struct {
	// Call is the call that the agent answers, as an interruption would name it.
	Call string
	// Path are the names of the agents from the run's own to the one whose turn it is here, which is Agent. Entry is
	// the agent that was called: another one, if it has handed over.
	Path         []string
	Agent, Entry string
	Turn         int // model calls made
	// Usage is what these have cost, without agents further inside, as far as the run was made by programs that kept
	// it.
	Usage Usage
	// Interruptions are its own open questions, decided or not, without those of agents further inside.
	Interruptions []Interruption
	// Items are its conversation, oldest first. The caller must not modify them.
	Items []Item
}

// InnerRuns returns the agents that are at work as tools, in the order of the calls that they answer, each before those
// that it has at work itself. An agent that has answered is not among them.
func (s *RunState) InnerRuns() []InnerRun {
	if s.empty() {
		return nil
	}
	var runs []InnerRun
	_ = s.frame.each(func(f *frame) error {
		if f.parent != nil {
			runs = append(runs, f.inner())
		}
		return nil
	})
	return runs
}

func (f *frame) inner() InnerRun {
	run := InnerRun{
		Call: f.parent.interruptionID(f.outer.ID), Path: f.path(), Agent: f.agent, Entry: f.entry,
		Turn: f.turn, Usage: f.usage, Items: f.own(0),
	}
	for _, c := range f.calls {
		if c.Nested == nil && c.State == callWaiting && c.Output == nil {
			run.Interruptions = append(run.Interruptions, f.interruption(c))
		}
	}
	return run
}
