package history

import (
	"slices"

	"countersign/agent"
)

// CloseCalls returns the items such that every call has its output, because providers refuse one without: calls that
// have none get what output says, in their own form, at the end. An output answers the newest call with its id.
func CloseCalls(items []agent.Item, output func(call agent.Item) agent.ToolOutput) []agent.Item {
	closed := slices.Clone(items)
	for _, i := range openCalls(items) {
		closed = append(closed, items[i].Answer(output(items[i])))
	}
	return closed
}

// openCalls returns the indices of the calls without an output, in order.
func openCalls(items []agent.Item) (open []int) {
	for i := range items {
		switch it := &items[i]; {
		case it.IsCall():
			open = append(open, i)
		case it.IsOutput():
			for k, at := range slices.Backward(open) {
				if items[at].CallID == it.CallID {
					open = slices.Delete(open, k, k+1)
					break
				}
			}
		}
	}
	return open
}
