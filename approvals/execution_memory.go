package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"countersign/agent"
)

// defaultHistory is how many tokens of earlier runs a run is told when its agent does not say.
const defaultHistory = 100_000

// bytesPerToken is the estimate by which text is measured: four bytes to a token.
const bytesPerToken = 4

// tokenBytes returns how many bytes of earlier runs an agent is told about.
func tokenBytes(tokens int) int {
	if tokens == 0 {
		tokens = defaultHistory
	}
	return max(tokens, 0) * bytesPerToken
}

// memory returns what the run is told of the place's earlier runs.
func (x *execution) memory(ctx context.Context) (recollection, error) {
	room := tokenBytes(x.config.HistoryTokens)
	if room == 0 {
		return recollection{}, nil
	}
	var chunks []json.RawMessage
	var older int
	err := x.store.View(WithOneRead(ctx, true), func(tx Tx) (err error) {
		chunks, older, err = tx.SessionTail(x.run.Workspace, x.run.Place, room)
		return err
	})
	if err != nil {
		return recollection{}, &storeError{err}
	}
	m, err := recall(chunks, older, room)
	m.forgotten = forgotten(chunks)
	if err != nil {
		return recollection{}, fmt.Errorf("session of %s: %w", x.run.Place.Key(), err)
	}
	return m, nil
}

// recollection is what a run is told of the earlier runs of its place.
type recollection struct {
	items []agent.Item
	// response is the provider's response that holds the first items, as many as held; empty: it holds none.
	response string
	held     int
	// forgotten says that what was before was deleted, and that the people of the place do not know it yet.
	forgotten bool
}

// add appends what is remembered of a run.
func (m *recollection) add(items []agent.Item, mark *conversationMark) {
	m.items = append(m.items, items...)
	if mark != nil && mark.Unsent <= len(items) {
		m.response, m.held = mark.Response, len(m.items)-mark.Unsent
	}
}

// recall returns the memory of a place, oldest first: the newest runs, which fit into the room or are the newest one
// alone. A run is a turn of the conversation with all its calls and their outputs, so no pair is ever torn. What is
// left out is said at the start.
func recall(chunks []json.RawMessage, older, room int) (recollection, error) {
	var m recollection
	tooLong := len(chunks) == 1 && len(chunks[0]) > room
	switch {
	case tooLong:
		m.add([]agent.Item{leftOut(older + 1)}, nil)
	case older > 0:
		m.add([]agent.Item{leftOut(older)}, nil)
	}
	for _, chunk := range chunks {
		part, mark, err := readChunk(chunk)
		if err != nil {
			return recollection{}, err
		}
		if tooLong {
			if part = gist(part, room); mark != nil && mark.Unsent > 0 {
				mark = nil // what the provider does not have may be what was shortened
			}
		}
		m.add(part, mark)
	}
	return m, nil
}

func leftOut(n int) agent.Item {
	return agent.Item{
		Type: agent.ItemMessage, Role: agent.RoleDeveloper,
		Text: fmt.Sprintf("The %d oldest turns of this conversation were left out or shortened because it has become "+
			"long.", n),
	}
}

// readChunk reads what is remembered of a run, and the mark behind it, if it has one.
func readChunk(chunk json.RawMessage) (part []agent.Item, mark *conversationMark, err error) {
	if err := json.Unmarshal(chunk, &part); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errMemory, err)
	}
	last := len(part) - 1
	if last < 0 || part[last].Type != conversationItem {
		return part, nil, nil
	}
	if err := json.Unmarshal(part[last].Raw, &mark); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errMemory, err)
	}
	return part[:last], mark, nil
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

// keptBytes bounds what the memory of a place keeps of one run.
const keptBytes = 1 << 20

// savedMemory reads what the memory keeps of a run that nobody is at work on, and of how many items it was saved. Of a
// long run the beginning is left out; of one whose state cannot be read only the input is kept.
func savedMemory(ctx context.Context, st Store, key RunKey) (seen int, items []agent.Item, err error) {
	var r *Run
	var head json.RawMessage
	var chunks []json.RawMessage
	var older int
	err = st.View(ctx, func(tx Tx) (err error) {
		if r, err = tx.Run(key.Workspace, key.Run); err != nil || r.StateItems == 0 {
			return err
		}
		chunks, older, err = tx.StateTail(key.Workspace, key.Run, keptBytes)
		if err == nil && older == 0 {
			head, chunks, err = tx.State(key.Workspace, key.Run)
		}
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil || r.StateItems == 0 {
		return 0, nil, err
	}
	saved, err := (&agent.SavedState{Head: head, Chunks: chunks}).Items()
	if err != nil {
		return r.StateItems, nil, nil // unreadable, as whoever resumes it will find too
	}
	if older > 0 {
		return r.StateItems, lastTurns(r.Input, saved, 0), nil
	}
	return r.StateItems, kept(r.Input, saved[min(r.HistoryItems, len(saved)):]), nil
}

// kept returns what the memory keeps of a run's items: all, or the last turns of a long run.
func kept(input string, items []agent.Item) []agent.Item {
	room := keptBytes
	for i := len(items); i > 0; i-- {
		if room -= itemSize(&items[i-1]); room < 0 {
			return lastTurns(input, items, i)
		}
	}
	return items
}

// withoutRefused leaves out what a guardrail of the agent refused, so that no later run reads it: the messages at the
// end, which are what people said or the answer, with the reasoning that led there. What a call
// returned stays, also where it was to be the answer: it has happened.
func withoutRefused(items []agent.Item) []agent.Item {
	end := len(items)
	for end > 0 && (items[end-1].Type == agent.ItemMessage || items[end-1].Type == agent.ItemReasoning) {
		end--
	}
	// Before an answer stands what people said, which was not refused.
	for end < len(items) && items[len(items)-1].Role == agent.RoleAssistant && items[end].Role == agent.RoleUser {
		end++
	}
	if end == len(items) {
		return items
	}
	return append(slices.Clone(items[:end]), agent.Item{
		Type: agent.ItemMessage, Role: agent.RoleDeveloper,
		Text: "What was said here was refused by a guardrail and is left out.",
	})
}

func itemSize(it *agent.Item) int {
	return max(len(it.Raw), len(it.Text)+len(it.Arguments)+len(it.Output)) + 64
}

// lastTurns returns the items from the first turn on that begins at or behind the index, behind what the person asked
// for and a sentence that says that something is missing.
func lastTurns(input string, items []agent.Item, from int) []agent.Item {
	all := []agent.Item{agent.UserMessage(input), {
		Type: agent.ItemMessage, Role: agent.RoleDeveloper,
		Text: "What happened first in this run was left out because it was long.",
	}}
	for i := max(from, 1); i < len(items); i++ {
		if items[i-1].IsOutput() && !items[i].IsOutput() {
			return append(all, items[i:]...)
		}
	}
	return all
}
