package agent

import "encoding/json"

// Failure is why a run would end without an answer of its agent. RunOptions.OnError gets it.
type Failure struct {
	// Err is ErrMaxTurns, ErrRefusal, or ErrModelBehavior for an answer that is not what Agent.Output asks for, with
	// the details in its text.
	Err error
	// Answer is the refusal, or the answer that does not fit. It is empty when the turns are used up.
	Answer string
	// Agent is the one whose turn it is.
	Agent *Agent
	// Items are the conversation so far, as RunState.Items returns it. They are not to be modified.
	Items []Item
	// Run is the run's context.
	Run *RunContext
}

// Fallback is an answer that RunOptions.OnError gives in the agent's place.
type Fallback struct {
	// Text is the run's final output, 1 MiB at most. It must be what Agent.Output asks for, and passes the output
	// guardrails.
	Text string
	// Unrecorded keeps the text out of the conversation, and so out of the session. Otherwise it is its last message.
	Unrecorded bool
}

// The failures that may have a fallback, as a saved state names them.
const (
	failedTurns   = "max_turns"
	failedRefusal = "model_refusal"
	failedOutput  = "invalid_final_output"
)

// handledErrors are what Result.Handled says about each.
var handledErrors = map[string]error{
	failedTurns: ErrMaxTurns, failedRefusal: ErrRefusal, failedOutput: ErrModelBehavior,
}

// failed is an error that may have a fallback.
type failed struct {
	kind   string
	answer string
	err    error
}

func (e *failed) Error() string { return e.err.Error() }

func (e *failed) Unwrap() error { return e.err }

// refused reports whether the model's last message is a refusal.
func (f *frame) refused() bool {
	for i := len(f.items) - 1; i >= f.input; i-- {
		switch it := &f.items[i]; {
		case it.Type == ItemMessage:
			return it.refuses()
		case it.IsCall(), it.IsOutput(): // a tool gave the answer
			return false
		}
	}
	return false
}

// refuses reports whether a message holds a refusal, in the words of the Responses API.
func (it *Item) refuses() bool {
	var message struct {
		Content []json.RawMessage `json:"content"`
	}
	if it.Raw == nil || json.Unmarshal(it.Raw, &message) != nil {
		return false
	}
	for _, raw := range message.Content {
		var part struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &part) == nil && part.Type == "refusal" {
			return true
		}
	}
	return false
}

// checkHandled looks at what a saved state says of a fallback.
func (h *stateHead) checkHandled() error {
	if h.Handled == "" || handledErrors[h.Handled] != nil && h.Final != nil {
		return nil
	}
	return h.bad("/handled", "it is no failure of a finished run that is known")
}
