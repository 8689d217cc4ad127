package openaimodel

import (
	"fmt"

	"countersign/agent"
	"countersign/agent/internal/strictjson"
)

// distinguish gives calls of the answer ids that no call of the conversation has. Some servers count the calls of each
// answer anew, so that a later call_0 is another call than the first; to a runner an id means one call for ever. The
// same call twice in one answer keeps its id: it is one call.
func (*chat) distinguish(req *agent.ModelRequest, answer *agent.ModelResponse) error {
	taken := make(map[string]bool)
	for _, id := range req.HiddenCalls {
		taken[id] = true
	}
	for i := range req.Items {
		if it := &req.Items[i]; it.Type == agent.ItemFunctionCall {
			taken[it.CallID] = true
		}
	}
	own := make(map[string]agent.Item) // calls of this answer, by the server's id
	for i := range answer.Items {
		it := &answer.Items[i]
		if it.Type != agent.ItemFunctionCall || it.CallID == "" {
			continue
		}
		written := *it
		first, again := own[written.CallID]
		switch same := first.Name == it.Name && first.Arguments == it.Arguments; {
		case again && same:
			it.CallID, it.Raw = first.CallID, first.Raw
			continue
		case taken[it.CallID]:
			if err := rename(it, taken); err != nil {
				return err
			}
		}
		taken[it.CallID] = true
		own[written.CallID] = *it
	}
	return nil
}

// rename gives the call an id that is not taken.
func rename(it *agent.Item, taken map[string]bool) error {
	id := it.CallID
	for n := 2; taken[id]; n++ {
		id = fmt.Sprintf("%s_%d", it.CallID, n)
	}
	raw, err := strictjson.Set(it.Raw, "call_id", strictjson.AppendQuoted(nil, id))
	if err != nil {
		return fmt.Errorf("%w: a call: %w", agent.ErrModelBehavior, err)
	}
	*it, err = agent.ParseItem(raw)
	return err
}

// distinguish does nothing: ids of the Responses API are unique.
func (*responsesAPI) distinguish(*agent.ModelRequest, *agent.ModelResponse) error { return nil }
