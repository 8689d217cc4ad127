package approvals

import (
	"time"

	"countersign/agent"
	"countersign/agent/toolstatus"
)

// Authority is what allowed an effect: a request that people approved, a grant, or a decision made past the policy in
// an emergency. The zero Authority: the tool's gate let the call through.
type Authority struct {
	Request    RequestID  `json:"request,omitempty"`
	Grant      GrantID    `json:"grant,omitempty"`
	BreakGlass DecisionID `json:"break_glass,omitempty"`
}

// EffectRecord is the journal's record of one execution of a tool.
type EffectRecord struct {
	Workspace WorkspaceID `json:"workspace"`
	Run       RunID       `json:"run"`
	ID        string      `json:"id"` // agent.Effect.ID
	Authority
	Tool    string            `json:"tool"`
	Digest  agent.Digest      `json:"digest"`
	Attempt int               `json:"attempt"` // from 1; grows with every intent
	Epoch   int64             `json:"epoch"`   // of the newest intent
	Intent  time.Time         `json:"intent"`
	Done    time.Time         `json:"done,omitzero"`
	Output  *agent.ToolOutput `json:"output,omitempty"`

	// Nonce is made for each intent. Whoever cannot tell whether their intent was committed finds it by the nonce.
	Nonce string `json:"nonce,omitempty"`
	// Call is the provider's id of the call, Agent who made it, Interruption the id of the question about it.
	Call         string `json:"call,omitempty"`
	Agent        string `json:"agent,omitempty"`
	Interruption string `json:"interruption,omitempty"`
	// Kind is the tool's. An agent at work as a tool is done with its effect when it has begun; its own calls have
	// theirs.
	Kind agent.ToolKind `json:"kind,omitempty"`
	// GivenUp says that people were told that nobody knows what came of it. A late Done changes that.
	GivenUp bool `json:"given_up,omitempty"`
	// Review says that the tool's gate would have asked people, and the agents file has such calls run at once and be
	// looked at afterwards (approval: audit).
	Review bool `json:"review,omitempty"`
	// Status says in numbers how the call ended, as far as its tool has told.
	Status toolstatus.Status `json:"status,omitzero"`
}

// Outcome says what became of the call, as far as the journal knows.
func (e *EffectRecord) Outcome() Outcome {
	switch {
	case e.Done.IsZero() && e.GivenUp:
		return OutcomeUnknown
	case e.Done.IsZero():
		return OutcomeRunning
	case e.Output != nil && e.Output.Failed:
		return OutcomeFailed
	}
	return OutcomeRan
}

// carriedOutElsewhere reports whether it is not a tool here that has the effect: an agent's calls have theirs, and a
// provider's server is told by the provider.
func (e *EffectRecord) carriedOutElsewhere() bool {
	return e.Kind == agent.KindAgent || e.Kind == agent.KindHostedMCP
}

// inNumbers is the status in words, behind a colon; nothing where the tool has told none.
func (e *EffectRecord) inNumbers() string {
	if words := e.inWords(); words != "" {
		return ": " + words
	}
	return ""
}

// inWords is the status in words, with what it leaves open of a call that people had a say in. Others mostly read, and
// a server that is in trouble has done nothing then. That a call which was begun before has failed says nothing about
// the time before.
func (e *EffectRecord) inWords() string {
	words := e.Status.String()
	if e.Request != "" || e.Grant != "" || e.Review {
		words = e.Status.InFull()
	}
	switch {
	case !e.failedAgain():
		return words
	case words == "":
		return wordsAnotherTry
	}
	return words + "; " + wordsAnotherTry
}

// failedAgain reports whether the call has failed, and was begun before, of which nothing is known. An intent is only
// followed by another one while it has no output.
func (e *EffectRecord) failedAgain() bool { return e.Attempt > 1 && e.Outcome() == OutcomeFailed }
