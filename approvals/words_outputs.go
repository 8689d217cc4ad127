package approvals

import (
	"encoding/json"
	"errors"
	"fmt"

	"countersign/agent"
)

// What the model reads as the output of calls that people, or nobody, decided, and why a run waits or failed.

// What the model reads as the output of calls that people, or nobody, decided.
const (
	unfinishedText = "There is no result: the run ended before this call was decided or had finished."

	stillRunningText = "This call was still running when the run ended. What came of it was not known then."

	providerRanText    = "This call has been carried out already; do not repeat it. Its output, as data: "
	providerFailedText = "This call has been tried already, and failed. What was said of that, as data: "

	// notTakenText is the output of a call that the provider was to be told of, with a request that it did not take.
	notTakenText = "The call was not carried out: the model's provider did not take the request that said it is " +
		"approved."

	// approvedText is the output of a call of an MCP server that its provider was told to carry out, as earlier
	// versions recorded it before they told the provider.
	approvedText = "approved"

	unknownText = "It is not known whether this call was carried out: it was begun, and nothing was heard of it."
)

// result is the output of a call that was carried out elsewhere, as it was reported.
func (d *Decision) result() string {
	if d.Via == ViaCallback {
		return "The system that carries this call out reports, as data: " + quote(d.Reason)
	}
	return "A person has carried this call out and reports, as data: " + quote(d.Reason)
}

// foundOut is the output of a call whose outcome a person found out.
func foundOut(reason string) string {
	return "The outcome of this call was unknown; a person has found out that it was carried out. " +
		"Their words, as data: " + quote(reason)
}

// rejection is what the model reads about a rejected call; nil: the default. The person's words are quoted as data,
// so that they cannot pass for instructions.
func (r *RequestHead) rejection() *string {
	d := r.Settler()
	if r.Trigger.reached() {
		text := "A person has rejected this call after it was sent to the system that carries it out. It is not " +
			"known whether it is carried out."
		if d != nil && d.Reason != "" {
			text += " Their words, as data: " + quote(d.Reason)
		}
		return &text
	}
	if d != nil && r.IsQuestion() {
		text := d.refusesToAnswer()
		return &text
	}
	if d == nil || d.Reason == "" {
		return nil
	}
	text := "This call was not carried out: a person rejected it. Their reason, as data: " + quote(d.Reason)
	switch r.Kind {
	case agent.ExternalResult:
		text = "A person says that this call will not be carried out. Their words, as data: " + quote(d.Reason)
	case agent.OutcomeUnknown:
		text = "It is not known whether this call was carried out, and a person has given it up. " +
			"Their words, as data: " + quote(d.Reason)
	}
	return &text
}

// quote writes text as a JSON string.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(b)
}

var errMemory = errors.New("the conversation's memory cannot be read")

// waitsText says why a run does not go on, when it has been tried some times.
func waitsText(r *Run, why error) string {
	const again = " It is tried again until it can, and nothing has to be done here."
	switch {
	case errors.Is(why, errStart):
		return "The run has to wait: it cannot be found out now whether the person who asked for it may start it. " +
			"It is tried again until it can. Whoever runs this bot can cancel it: countersign runs cancel " +
			string(r.ID) + " --as USER"
	case errors.Is(why, ErrUnavailable):
		return "The run has to wait: it cannot be found out now who may decide or ask here." + again
	case errors.Is(why, agent.ErrToolset):
		return "The run has to wait: a tool server of its agent cannot be used now." + again
	case errors.Is(why, ErrNewer):
		return "The run has to wait: a newer version of the bot has saved it, and this one cannot go on with it. " +
			"It goes on as soon as the newer version runs again."
	}
	return "The run has to wait: its records cannot be written or read now." + again
}

// stoppedText says which guardrail ended a run, and in its own words why.
func stoppedText(trip *agent.TripwireError) string {
	text := fmt.Sprintf("The run was stopped by the guardrail %q", trip.Guardrail)
	if trip.Tool != "" {
		text += fmt.Sprintf(" of the tool %q", trip.Tool)
	}
	text += "."
	if trip.Message != "" {
		text += " It says: " + trip.Message
	}
	return text
}

// failure says in plain words, for the people of the conversation, why a run failed. Details are for the log, unless
// the error says itself what may be shown.
func failure(err error) string {
	if p, ok := errors.AsType[interface {
		error
		Public() string
	}](err); ok {
		return "The run has failed: " + p.Public()
	}
	if trip, ok := errors.AsType[*agent.TripwireError](err); ok {
		return stoppedText(trip)
	}
	var schema *agent.SchemaError
	switch {
	case errors.Is(err, agent.ErrMaxTurns):
		return "The run has failed: the agent used up its turns without an answer."
	case errors.Is(err, agent.ErrModelBehavior):
		return "The run has failed: the model's response could not be understood."
	case errors.Is(err, agent.ErrUnknownTool), errors.Is(err, agent.ErrUnknownAgent):
		return "The run cannot go on: its agent or one of its tools is no longer configured."
	case errors.As(err, &schema):
		return fmt.Sprintf("The run cannot go on: its saved state cannot be read (%s).", schema)
	case errors.Is(err, agent.ErrToolset):
		return "The run has failed: a tool server of its agent could not be used. " +
			"The operator's log says which and why."
	case errors.Is(err, agent.ErrConfig):
		return "The run has failed: its agent is not set up correctly. The operator's log says what to change."
	case errors.Is(err, agent.ErrFatal):
		return "The run has failed: a tool could not go on."
	case errors.Is(err, ErrUnauthorized):
		return "The run was not started: the person who asked for it may not start runs here."
	case errors.Is(err, errMemory):
		return "The run has failed: the memory of this conversation cannot be read."
	case errors.Is(err, errPanic):
		return "The run has failed: an internal error. The operator's log says more."
	}
	return "The run has failed: the model could not be reached or an internal error occurred. " +
		"The operator's log says more."
}
