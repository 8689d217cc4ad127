package agent

import "fmt"

// History is what a model is about to be shown of a conversation. Agent.Shorten gets it before each model call and
// marks the turns that the model is not shown any more. They stay in the state, in sessions and in RunState.Items; the
// model reads Note in their place, and never sees them again.
type History struct {
	// Turns are what the model is shown, oldest first, without what was left out before. The last one is always shown.
	Turns []HistoryTurn
	// LeftOut counts the turns that were left out before.
	LeftOut int
	// Note is what the model reads in place of everything that was left out so far, as a message of the developer. A
	// Shorten that leaves out more may replace it, for instance by a summary; if it does not, the note says how many
	// turns were left out. It has 1 MiB at most.
	Note string
}

// HistoryTurn is a part of a conversation that is shown whole or not at all: one message to the agent, or what a model
// answered with the outputs of its calls. So a call is never shown without its output, nor one of them without the
// reasoning that belongs to it.
type HistoryTurn struct {
	Items []Item // not to be modified
	// Tokens estimates what the turn costs: a quarter of the bytes that its items are sent as.
	Tokens int
	// Asked says that the turn holds a message of what the conversation is about now: of the run's input, or added to
	// it.
	Asked bool
	// LeaveOut is set by Agent.Shorten.
	LeaveOut bool
}

// bytesPerToken is the estimate by which history is measured.
const bytesPerToken = 4

// noteOf says that turns were left out.
func noteOf(turns int) string {
	if turns == 1 {
		return "1 earlier turn of this conversation was left out, because it has become long."
	}
	return fmt.Sprintf("%d earlier turns of this conversation were left out, because it has become long.", turns)
}

// bytes returns about how long the item is as it is sent.
func (it *Item) bytes() int {
	const frame = 64 // the names of its members, of an item that was made here
	if it.Raw != nil {
		return len(it.Raw)
	}
	return len(it.CallID) + len(it.Name) + len(it.Text) + len(it.Arguments) + len(it.Output) + frame
}
