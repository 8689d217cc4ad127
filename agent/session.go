package agent

import "context"

// Session is a conversation's memory across runs. The runner reads it when a run starts and appends what is new:
// the input and finished items, at every pause and at the end, each exactly once. Calls that wait are saved with their
// outputs, so no orphan call is ever in a session.
type Session interface {
	Items(ctx context.Context) ([]Item, error)
	Append(ctx context.Context, items ...Item) error
}
