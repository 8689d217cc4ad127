package approvals

import (
	"encoding/json"
	"fmt"

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
		items = append(items, leftOut(from))
	}
	if from > 0 && from == len(chunks) {
		last, err := readChunk(chunks[from-1])
		return append(items, gist(last, room)...), err
	}
	for _, chunk := range chunks[from:] {
		part, err := readChunk(chunk)
		if err != nil {
			return nil, err
		}
		items = append(items, part...)
	}
	return items, nil
}

func leftOut(n int) agent.Item {
	return agent.Item{
		Type: agent.ItemMessage, Role: agent.RoleDeveloper,
		Text: fmt.Sprintf("The %d oldest turns of this conversation were left out or shortened because it has become long.", n),
	}
}

func readChunk(chunk json.RawMessage) (part []agent.Item, err error) {
	if err := json.Unmarshal(chunk, &part); err != nil {
		return nil, fmt.Errorf("%w: %w", errMemory, err)
	}
	return part, nil
}

// gist is what is kept of a newest run that does not fit: what the person asked and what the agent answered last, if
// these fit. The messages are written anew, because a provider may refuse its own without the reasoning before them.
func gist(run []agent.Item, room int) (kept []agent.Item) {
	for _, it := range run {
		if it.Type != agent.ItemMessage || len(it.Text) > room {
			continue
		}
		switch {
		case it.Role == agent.RoleUser:
			kept = append(kept, agent.UserMessage(it.Text))
			room -= len(it.Text)
		case it.Role != agent.RoleAssistant:
		case len(kept) > 0 && kept[len(kept)-1].Role == agent.RoleAssistant:
			kept[len(kept)-1] = agent.AssistantMessage(it.Text)
		default:
			kept = append(kept, agent.AssistantMessage(it.Text))
		}
	}
	return kept
}
