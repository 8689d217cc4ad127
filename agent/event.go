package agent

// Event is something that happens in a streamed run, in the order in which it happens; agents that work side by side
// take turns. It is one of the types below.
type Event interface{ event() }

// ModelText is a piece of an answer that is still being written. The item it belongs to follows as ItemAdded.
type ModelText struct {
	Path []string // agent names from the root to the one that writes
	ModelDelta
}

// ItemAdded is an item that has become part of a conversation: what a model produced, or the output of a call.
type ItemAdded struct {
	Path []string
	Item Item
}

// ToolStarted says that a call begins to run; ToolEnded, that it is over. A call that ends in doubt or ends the run has
// no ToolEnded.
type ToolStarted struct{ Call ToolCall }

// ToolEnded says how a call ended that ran.
type ToolEnded struct {
	Call   ToolCall
	Output ToolOutput
}

// ApprovalRequested is a question that people have to answer. Each is told of once, when it arises.
type ApprovalRequested struct{ Interruption Interruption }

// HandedOff says that another agent has taken over.
type HandedOff struct {
	Path     []string // afterwards
	From, To string
}

// HistoryShortened says that a model is not shown a part of the conversation any more; see Agent.Shorten.
type HistoryShortened struct {
	Path    []string
	LeftOut int    // turns, with those that were left out before
	Note    string // what the model reads in their place
}

func (ModelText) event()         {}
func (ItemAdded) event()         {}
func (ToolStarted) event()       {}
func (ToolEnded) event()         {}
func (ApprovalRequested) event() {}
func (HandedOff) event()         {}
func (HistoryShortened) event()  {}
