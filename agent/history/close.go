package history

import (
	"slices"

	"countersign/agent"
)

// CloseCalls returns the items such that every call has its output, because providers refuse one without: calls that
// have none get what output says, in their own form, at the end. An output answers the newest call with its id.
//
// A call that a provider was told to carry out, and has not answered since, gets what output says in the place of the
// approval (see [agent.ModelRequest]): a provider that reads of it once more would carry the call out.
func CloseCalls(items []agent.Item, output func(call agent.Item) agent.ToolOutput) []agent.Item {
	closed := slices.Clone(items)
	request := agent.ModelRequest{Items: items}
	for _, i := range request.OpenApprovals() {
		for k := range slices.Backward(items[:i]) {
			if call := &items[k]; call.Type == agent.ItemMCPApprovalRequest && call.CallID == items[i].CallID {
				closed[i] = call.Answer(output(*call))
				break
			}
		}
	}
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
