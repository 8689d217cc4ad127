package approvals

import (
	"encoding/json"
	"fmt"
	"slices"

	"countersign/agent"
)

// defaultHistory is how many tokens of earlier runs a run is told when its agent does not say.
const defaultHistory = 100_000

// bytesPerToken is the estimate by which text is measured: four bytes to a token.
const bytesPerToken = 4

// recall returns the memory of a place, oldest first: as many whole runs, counted from the newest, as fit into the
// tokens. A run is a turn of the conversation with all its calls and their outputs, so no pair is ever torn. What is
// left out is said at the start.
func recall(chunks []json.RawMessage, tokens int) ([]agent.Item, error) {
	if tokens == 0 {
		tokens = defaultHistory
	}
	if tokens < 0 {
		return nil, nil
	}
	room, from := tokens*bytesPerToken, len(chunks)
	for from > 0 && len(chunks[from-1]) <= room {
		from--
		room -= len(chunks[from])
	}
	var items []agent.Item
	if from > 0 {
		items = append(items, agent.Item{
			Type: agent.ItemMessage, Role: agent.RoleDeveloper,
			Text: fmt.Sprintf("The %d oldest turns of this conversation were left out because it has become long.", from),
		})
	}
	for _, chunk := range chunks[from:] {
		var part []agent.Item
		if err := json.Unmarshal(chunk, &part); err != nil {
			return nil, fmt.Errorf("%w: %w", errMemory, err)
		}
		items = append(items, part...)
	}
	return items, nil
}

// closeCalls returns the items such that every call has its output: providers refuse a call without one. Calls that
// have none yet are told the truth.
func closeCalls(items []agent.Item) []agent.Item {
	answered := map[string]bool{}
	for _, it := range items {
		if it.Type == agent.ItemFunctionCallOutput {
			answered[it.CallID] = true
		}
	}
	closed := slices.Clone(items)
	for _, it := range items {
		if it.Type == agent.ItemFunctionCall && !answered[it.CallID] {
			closed = append(closed, agent.CallOutput(it.CallID, unfinishedText))
		}
	}
	return closed
}
