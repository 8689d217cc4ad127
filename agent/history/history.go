// Package history has functions on conversations: what a model is shown of a long one, what another agent reads when it
// takes over, and what a conversation needs before it is sent once more. The runner needs none of them.
package history

import (
	"context"

	"countersign/agent"
)

// bytesPerToken is the estimate that agent.HistoryTurn.Tokens is made by.
const bytesPerToken = 4

// KeepNewest returns an Agent.Shorten that keeps a conversation below an estimated number of tokens. Past it, the
// oldest turns are left out until what is left is at most three quarters of it: a provider's cache of what precedes a
// request then serves several turns. What is asked of the agent now and the last turn stay, whatever they cost.
// Instructions and tools are not counted. With tokens of zero or less nothing is left out.
func KeepNewest(tokens int) func(context.Context, *agent.History) error {
	return func(_ context.Context, h *agent.History) error {
		total := len(h.Note) / bytesPerToken
		for i := range h.Turns {
			total += h.Turns[i].Tokens
		}
		if tokens <= 0 || total <= tokens {
			return nil
		}
		for i := range h.Turns[:len(h.Turns)-1] {
			t := &h.Turns[i]
			if total <= tokens*3/4 {
				break
			}
			if !t.Asked {
				t.LeaveOut = true
				total -= t.Tokens
			}
		}
		return nil
	}
}
