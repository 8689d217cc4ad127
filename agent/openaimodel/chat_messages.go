package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"countersign/agent"
)

// transcript writes the items of a conversation as messages.
type transcript struct {
	b     *bytes.Buffer
	enc   *json.Encoder // writes to b; see quote
	items []agent.Item
	first bool
	// output is, of each call among the items, where its output stands, or 0: an output is never the first item. moved
	// marks those outputs, which are written after the calls of the turn they answer.
	output []int
	moved  []bool
}

// writeMessages writes the instructions and the items.
func writeMessages(b *bytes.Buffer, req *agent.ModelRequest) error {
	w := &transcript{b: b, enc: json.NewEncoder(b), items: req.Items, first: true}
	w.enc.SetEscapeHTML(false)
	w.pair()
	b.WriteString(`,"messages":[`)
	if req.Instructions != "" {
		w.begin("system")
		b.WriteString(`,"content":`)
		w.quote(req.Instructions)
		b.WriteByte('}')
	}
	for i := 0; i < len(w.items); {
		end := w.turnEnd(i)
		if end == i {
			end = i + 1
			if err := w.heard(i); err != nil {
				return err
			}
		} else if err := w.said(i, end); err != nil {
			return err
		}
		i = end
	}
	b.WriteByte(']')
	return nil
}

// pair finds the outputs of the calls. A call id may occur again in a later turn.
func (w *transcript) pair() {
	w.output, w.moved = make([]int, len(w.items)), make([]bool, len(w.items))
	open := make(map[string]int)
	for i := range w.items {
		switch it := &w.items[i]; it.Type {
		case agent.ItemFunctionCall:
			open[it.CallID] = i
		case agent.ItemFunctionCallOutput:
			if call, ok := open[it.CallID]; ok {
				w.output[call], w.moved[i] = i, true
				delete(open, it.CallID)
			}
		}
	}
}

// turnEnd returns where the items end that the model said in one go, beginning with item i; i if it did not say that
// one.
func (w *transcript) turnEnd(i int) int {
	for ; i < len(w.items); i++ {
		switch it := &w.items[i]; it.Type {
		case agent.ItemFunctionCall, agent.ItemReasoning:
		case agent.ItemMessage:
			if it.Role != agent.RoleAssistant {
				return i
			}
		default:
			return i
		}
	}
	return i
}

// begin starts a message.
func (w *transcript) begin(role string) {
	if !w.first {
		w.b.WriteByte(',')
	}
	w.first = false
	w.b.WriteString(`{"role":"`)
	w.b.WriteString(role)
	w.b.WriteByte('"')
}

// quote writes a text as a JSON string.
func (w *transcript) quote(s string) {
	_ = w.enc.Encode(s) // a string can be encoded, and a bytes.Buffer takes it
	w.b.Truncate(w.b.Len() - len("\n"))
}

// heard writes an item that the model did not say.
func (w *transcript) heard(i int) error {
	it := &w.items[i]
	switch it.Type {
	case agent.ItemMessage:
		return w.message(i)
	case agent.ItemFunctionCallOutput:
		if w.moved[i] {
			return nil
		}
		return w.toolMessage(i)
	}
	return w.refuse(i, "")
}

// refuse is the error for an item that has no form here. part names what it is about the item, if not its type.
func (w *transcript) refuse(i int, part string) error {
	what := fmt.Sprintf("item %d of the conversation, of type %q", i, w.items[i].Type)
	if part != "" {
		what += ", because of its " + part
	}
	return inexpressible(what)
}

// message writes a message of the user, the system or a developer.
func (w *transcript) message(i int) error {
	it := &w.items[i]
	role := string(it.Role)
	switch it.Role {
	case agent.RoleUser, agent.RoleSystem:
	case agent.RoleDeveloper:
		role = string(agent.RoleSystem)
	default:
		return w.refuse(i, fmt.Sprintf("role %q", it.Role))
	}
	w.begin(role)
	w.b.WriteString(`,"content":`)
	if it.Raw == nil {
		w.quote(it.Text)
	} else {
		parts, err := w.parts(i)
		if err != nil {
			return err
		}
		if err := w.content(i, parts); err != nil {
			return err
		}
	}
	w.b.WriteByte('}')
	return nil
}

func (w *transcript) toolMessage(i int) error {
	it := &w.items[i]
	if it.Raw != nil {
		var raw struct {
			Output json.RawMessage `json:"output"`
		}
		if err := json.Unmarshal(it.Raw, &raw); err != nil {
			return w.refuse(i, "output")
		}
		parts, err := w.readParts(i, raw.Output)
		if err != nil {
			return err
		}
		for _, p := range parts {
			if !p.isText() {
				return w.refuse(i, p.Type)
			}
		}
	}
	w.begin("tool")
	w.b.WriteString(`,"tool_call_id":`)
	w.quote(sentCallID(it.CallID, maxChatCallID))
	w.b.WriteString(`,"content":`)
	w.quote(it.Output)
	w.b.WriteByte('}')
	return nil
}

// said writes what the model said in one go, from item i to before item end, and the outputs of the calls in it.
// Without calls every message stays one by itself.
func (w *transcript) said(i, end int) error {
	var parts []part
	var calls []int
	for j := i; j < end; j++ {
		switch it := &w.items[j]; it.Type {
		case agent.ItemReasoning:
			if encrypted(it.Raw) {
				return w.refuse(j, "encrypted content")
			}
		case agent.ItemFunctionCall:
			calls = append(calls, j)
		}
	}
	for j := i; j < end; j++ {
		if w.items[j].Type != agent.ItemMessage {
			continue
		}
		own, err := w.parts(j)
		if err != nil {
			return err
		}
		if len(calls) > 0 {
			parts = append(parts, own...)
		} else if err := w.assistant(j, own, nil); err != nil {
			return err
		}
	}
	if len(calls) == 0 {
		return nil
	}
	for some := range slices.Chunk(calls, maxChatCalls) {
		if err := w.assistant(some[0], parts, some); err != nil {
			return err
		}
		for _, call := range some {
			if out := w.output[call]; out != 0 {
				if err := w.toolMessage(out); err != nil {
					return err
				}
			}
		}
		parts = nil
	}
	return nil
}

// maxChatCalls is how many calls OpenAI takes in one message. A model may have made more.
const maxChatCalls = 128

// assistant writes a message of the model. i is an item of it, for errors.
func (w *transcript) assistant(i int, parts []part, calls []int) error {
	w.begin("assistant")
	texts, refusal := splitRefusal(parts)
	w.b.WriteString(`,"content":`)
	if len(texts) == 0 && (len(calls) > 0 || refusal != "") {
		w.b.WriteString(`null`)
	} else if err := w.content(i, texts); err != nil {
		return err
	}
	if refusal != "" {
		w.b.WriteString(`,"refusal":`)
		w.quote(refusal)
	}
	for n, call := range calls {
		it := &w.items[call]
		w.b.WriteString(separator(n, `,"tool_calls":[`))
		w.b.WriteString(`{"id":`)
		w.quote(sentCallID(it.CallID, maxChatCallID))
		w.b.WriteString(`,"type":"function","function":{"name":`)
		w.quote(sentCallName(it.Name))
		w.b.WriteString(`,"arguments":`)
		w.quote(it.Arguments)
		w.b.WriteString(`}}`)
	}
	if len(calls) > 0 {
		w.b.WriteByte(']')
	}
	w.b.WriteByte('}')
	return nil
}

// encrypted reports whether a reasoning item has content that only its provider can read.
func encrypted(raw json.RawMessage) bool {
	var it struct {
		EncryptedContent string `json:"encrypted_content"`
	}
	return json.Unmarshal(raw, &it) == nil && it.EncryptedContent != ""
}
