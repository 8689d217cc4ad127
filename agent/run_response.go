package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// maxCallID bounds the ids that providers give to calls.
const maxCallID = 512

// maxCalls bounds the calls of one answer that are looked at; the model is told that the others were not carried out.
// maxCallItems bounds those that an answer may hold at all.
const (
	maxCalls     = 128
	maxCallItems = 1024
)

// accept adds the model's answer to the conversation: all of it, or nothing when it breaks the protocol. What it has
// cost counts in any case. It returns the calls that were left out because an earlier answer had made them. An answer
// that holds nothing else is taken once; idle says that the one before was such.
//
// first is called before anything is added.
func (f *frame) accept(resp *ModelResponse, idle bool, first func()) (repeated []Item, err error) {
	if resp == nil {
		return nil, fmt.Errorf("%w: no response", ErrModelBehavior)
	}
	f.addUsage(resp.Usage)
	answer := response{frame: f}
	for i := range resp.Items {
		if err := answer.add(resp.Items[i]); err != nil {
			return nil, fmt.Errorf("%w: item %d of the response: %w", ErrModelBehavior, i, err)
		}
	}
	err = answer.check(idle)
	if err == nil {
		err = f.state.checkRoom(answer.items)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModelBehavior, err)
	}
	first()
	f.turn++
	for _, it := range answer.items {
		f.append(it)
	}
	f.calls = nil
	for i := range answer.calls { // once all items are there: a call may depend on a listing that came with it
		c := f.newCall(&answer.calls[i].item, answer.calls[i].arguments)
		if i >= maxCalls {
			c.fail(fmt.Sprintf("The call was not carried out: of one answer, at most %d calls are.", maxCalls))
		}
		f.calls = append(f.calls, c)
	}
	if !answer.called {
		f.answer = &answer.text
	}
	return answer.repeated, nil
}

func (f *frame) addUsage(u Usage) {
	if u.Requests <= 0 {
		u.Requests = 1
	}
	f.state.usage.Add(u)
	if f.parent != nil {
		f.usage.Add(u)
	}
}

// response is a model's answer while it is checked. It changes nothing of the state.
type response struct {
	frame  *frame
	items  []Item
	calls  []written
	called bool   // it held a call, even if only one that was made before
	said   bool   // it held a message
	text   string // of the last one

	repeated []Item // calls of earlier answers that it held once more; they are left out
}

// written is a call with its arguments as the model wrote them.
type written struct {
	item      Item
	arguments string
}

// check reports an answer that does not bring the conversation any further.
func (r *response) check(idle bool) error {
	switch {
	case !r.called && !r.said:
		return errors.New("the response holds neither a message nor a call")
	case idle && len(r.items) == 0: // the model would be asked the very same for ever
		return fmt.Errorf("the response holds, once more, nothing but the call %q, which has its output: another call "+
			"needs an id of its own", excerpt(r.repeated[0].CallID))
	}
	return nil
}

func (r *response) add(it Item) error {
	clean, err := cleanItem(it)
	if err != nil {
		return err
	}
	clean.Agent = r.frame.agent
	switch {
	case clean.IsCall():
		// What the model wrote is judged as it is, before anything that cannot be saved is replaced in it.
		return r.addCall(clean, it.Arguments)
	case clean.IsOutput():
		return errForgedOutput
	case clean.needsClient():
		return fmt.Errorf("%q calls are not supported", clean.Type)
	case clean.Type == ItemMessage && clean.Role != RoleAssistant && clean.Role != "":
		return errForeignRole
	case clean.Type == ItemMessage:
		r.said, r.text = true, clean.Text
	}
	r.items = append(r.items, clean)
	return nil
}

func (r *response) addCall(it Item, arguments string) error {
	switch {
	case it.CallID == "":
		return errNoCallID
	case len(it.CallID) > maxCallID:
		return fmt.Errorf("call id longer than %d bytes", maxCallID)
	case len(r.calls) == maxCallItems:
		return fmt.Errorf("it has more than %d calls", maxCallItems)
	}
	r.called = true
	if earlier := r.earlier(it.CallID); earlier != nil {
		if !sameCall(earlier, &it) {
			return fmt.Errorf("call id %q is used again for another call", excerpt(it.CallID))
		}
		r.dropReasoning()
		if _, ok := r.frame.callsByID[it.CallID]; ok {
			r.repeated = append(r.repeated, it)
		}
		return nil
	}
	if it.Type == ItemMCPApprovalRequest {
		switch {
		case r.frame.tools().find(&it) == nil:
			return fmt.Errorf("the MCP server %q is not one of the agent's", excerpt(it.Server))
		case it.Name == "":
			return errNoToolName
		}
	}
	r.items = append(r.items, it)
	if it.Raw != nil {
		arguments = it.Arguments
	}
	r.calls = append(r.calls, written{it, arguments})
	return nil
}

// earlier returns the call of this run that has the id already.
func (r *response) earlier(callID string) *Item {
	if e, ok := r.frame.callsByID[callID]; ok {
		return &r.frame.items[e.item]
	}
	for i := range r.items {
		if r.items[i].IsCall() && r.items[i].CallID == callID {
			return &r.items[i]
		}
	}
	return nil
}

// dropReasoning leaves out the reasoning that led to a call which is left out itself: providers refuse one without
// the other.
func (r *response) dropReasoning() {
	if n := len(r.items); n > 0 && r.items[n-1].Type == ItemReasoning {
		r.items = r.items[:n-1]
	}
}

// sameCall reports whether two calls mean the same, however their arguments are written.
func sameCall(a, b *Item) bool {
	if a.Type != b.Type || a.Name != b.Name || a.Server != b.Server {
		return false
	}
	if a.Arguments == b.Arguments {
		return true
	}
	x, errX := a.arguments(a.Arguments)
	y, errY := b.arguments(b.Arguments)
	return errX == nil && errY == nil && string(x) == string(y)
}

// needsClient reports whether an item of the Responses API asks the client to do something that no tool here can do.
// To go on as if it were not there would lose a call.
func (it *Item) needsClient() bool {
	switch it.Type {
	case "computer_call", "local_shell_call":
		return true
	case "tool_search_call": // the provider searches, unless it says that the client is to
		var call struct {
			Execution string `json:"execution"`
		}
		return json.Unmarshal(it.Raw, &call) != nil || call.Execution == "client"
	}
	return false
}

// foreign returns why a call is not one that the tool takes although it has its name, or nothing. Tools have no
// namespaces here, and a program of the provider may call only what says so, which may then be closed to the model.
func (it *Item) foreign(t *Tool) string {
	var call struct {
		Namespace string `json:"namespace"`
		Caller    struct {
			Type string `json:"type"`
		} `json:"caller"`
	}
	if bytes.Contains(it.Raw, []byte(`"namespace"`)) || bytes.Contains(it.Raw, []byte(`"caller"`)) {
		if json.Unmarshal(it.Raw, &call) != nil {
			return "The call was not carried out: it cannot be read."
		}
	}
	caller := "direct"
	if call.Caller.Type == "program" {
		caller = "programmatic"
	}
	switch {
	case call.Namespace != "":
		return fmt.Sprintf("There is no tool %q in a namespace %q: tools have no namespaces.", excerpt(it.Name),
			excerpt(call.Namespace))
	case t != nil && !slices.Contains(t.callers(), caller):
		return "The call was not carried out: this tool is not for " + caller + " calls."
	}
	return ""
}

// callers returns who may call a tool, in the provider's words.
func (t *Tool) callers() []string {
	var hosted struct {
		Callers []string `json:"allowed_callers"`
	}
	if t.hosted != nil && json.Unmarshal(t.hosted, &hosted) == nil && len(hosted.Callers) > 0 {
		return hosted.Callers
	}
	return []string{"direct"}
}
