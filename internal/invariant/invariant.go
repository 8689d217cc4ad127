// Package invariant judges what is left when the faults have stopped. It reads the records of a store, and what the
// world outside has seen, and says which of the invariants I1 to I14 of docs/reliability.md do not hold: on any store,
// of the program, as in the kill loop, or of its parts, as in the simulation.
//
// Families: invariant (World, Check), records (what is read), decisions, effects, surface, told, trail (the
// invariants).
package invariant

import (
	"context"
	"fmt"

	"countersign/agent"
	"countersign/approvals"
)

// Number names an invariant: 1 to 14.
type Number int

// Violation is an invariant that does not hold, and what shows it.
type Violation struct {
	Invariant Number
	What      string
}

func (v Violation) String() string { return fmt.Sprintf("I%d: %s", v.Invariant, v.What) }

// World is what was seen from outside, apart from the records. What a test cannot see it leaves out; what rests on it
// is then not judged.
type World struct {
	// Workspaces are those that the store may know.
	Workspaces []approvals.WorkspaceID
	// Clicks are the answers that somebody was told are taken.
	Clicks []Click
	// Effects is what really happened, in order.
	Effects []Effect
	// Cards are the messages that show requests, as they are now; CardsSeen says that there are no others.
	Cards     []Card
	CardsSeen bool
	// Answers are the messages with answers of runs, by thread; AnswersSeen says that there are no others.
	Answers     []Answer
	AnswersSeen bool
	// Asked has the items of each request that a model was sent.
	Asked [][]agent.Item
	// Secrets must be nowhere: in no record, and in nothing of Told and Held. Told has by its name what was printed or
	// sent to people, Held what holds calls with their arguments: files, and requests to a model.
	Secrets    []string
	Told, Held map[string]string
	// Hidden are values of secret arguments. Their calls hold them; nothing of Told does, nor the trail.
	Hidden []string
	// Delivered says that there was time to deliver everything before the end.
	Delivered bool
	// Resources are counts that must come back to where they were.
	Resources []Resource

	Ungated    []string           // tools whose calls nobody has to approve
	Idempotent []string           // tools whose calls may happen again
	Forbidden  []string           // tools whose calls no policy allows
	Deciders   []approvals.UserID // who may decide at all; nil: not known
}

// Click is an answer of a person that the surface has taken.
type Click struct {
	Request approvals.RequestID
	By      approvals.UserID
	Verdict approvals.Verdict
}

// Effect is a call of a tool that happened. Arguments are empty where only the key is known.
type Effect struct {
	Key       string // its idempotency key, which is the id of the effect
	Tool      string
	Arguments string
}

// Card is a message that shows a request.
type Card struct {
	Request approvals.RequestID
	Where   string // the conversation
	Shown   string // what people read
	Decides bool   // it has a button that decides
	// Withdrawn says that the message calls itself a copy that is in use no longer: it was posted although nobody knew
	// of it, and found later.
	Withdrawn bool
}

// Answer is a message that answers a run.
type Answer struct {
	Channel, Thread, Text string
}

// Resource is a count of something that a process holds, before the faults and after them. Slack is how many more are
// no leak.
type Resource struct {
	Name                 string
	Before, After, Slack int
}

// Check judges the store and the world, both at rest: nothing is under way and nothing is due. An error says that the
// records could not be read.
func Check(ctx context.Context, st approvals.Store, w *World) ([]Violation, error) {
	h := &history{World: w}
	if err := h.read(ctx, st); err != nil {
		return nil, fmt.Errorf("read the records: %w", err)
	}
	h.clicksAreKept()
	h.effectsAreAllowed()
	h.effectsHappenOnce()
	h.nothingIsInLimbo()
	h.cardsTellTheTruth()
	h.requestsHaveOneEnd()
	h.staleWorkersWriteNothing()
	h.trailIsWhole(ctx, st)
	h.whatWasShownRan()
	h.workspacesAreApart()
	h.secretsAreKept()
	h.nothingPilesUp()
	h.modelsAreToldOnce()
	h.nothingForbiddenRan()
	return h.found, nil
}

func (h *history) broken(n Number, format string, args ...any) {
	h.found = append(h.found, Violation{n, fmt.Sprintf(format, args...)})
}
