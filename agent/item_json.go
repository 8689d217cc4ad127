package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"countersign/agent/internal/strictjson"
)

// maxItemDepth bounds the nesting of a provider's item. It is generous: items are kept, not interpreted.
const maxItemDepth = 512

var errNotItem = errors.New("not an item: it has neither a type nor a role")

// ParseItem reads an item as the Responses API writes it and keeps raw verbatim in Item.Raw. Kinds and fields it does
// not know are kept in Raw and otherwise ignored. Invalid UTF-8 in raw is replaced by U+FFFD, except in Arguments,
// where it stays visible so that it can be refused.
func ParseItem(raw json.RawMessage) (Item, error) {
	it, err := readWhole(raw)
	if err == nil && !utf8.Valid(raw) {
		// Everything else is read from the bytes that are saved, so that it reads the same once it was saved.
		arguments := it.Arguments
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
		it, err = readWhole(raw)
		it.Arguments = arguments
	}
	if err != nil {
		return Item{}, fmt.Errorf("parse item: %w", err)
	}
	it.Raw = bytes.TrimSpace(bytes.Clone(raw))
	return it, nil
}

// readWhole reads the typed fields of an item that is all there is in raw.
func readWhole(raw []byte) (Item, error) {
	r := strictjson.NewReader(raw, maxItemDepth)
	it, err := readWire(r)
	if err != nil {
		return Item{}, err
	}
	if end := r.End(); end != nil {
		return Item{}, end
	}
	return it, nil
}

// readWire reads the typed fields of an item in the provider's form.
func readWire(r *strictjson.Reader) (Item, error) {
	var it Item
	var other otherFields
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "type":
			err = readText(r, (*string)(&it.Type))
		case "id":
			err = readText(r, &it.ID)
		case "role":
			err = readText(r, (*string)(&it.Role))
		case "call_id":
			err = readText(r, &it.CallID)
		case "name":
			err = readText(r, &it.Name)
		case "arguments":
			err = readString(r, &it.Arguments)
		case "content", "summary":
			err = readParts(r, &it.Text)
		case "output":
			err = readParts(r, &it.Output)
		default:
			err = other.read(r, string(key))
		}
		return err
	})
	if err != nil {
		return Item{}, err
	}
	return it, it.settleType(&other)
}

// otherFields are the members of calls and outputs that are no functions.
type otherFields struct {
	input, server, request, reason string
	action, operation              []byte
	approve                        bool
}

func (o *otherFields) read(r *strictjson.Reader, key string) (err error) {
	switch key {
	case "input":
		return readString(r, &o.input)
	case "server_label":
		return readText(r, &o.server)
	case "approval_request_id":
		return readText(r, &o.request)
	case "reason":
		return readText(r, &o.reason)
	case "action":
		o.action, err = r.Skip()
	case "operation":
		o.operation, err = r.Skip()
	case "approve":
		var value []byte
		value, err = r.Skip()
		o.approve = string(value) == "true"
	default:
		_, err = r.Skip()
	}
	return err
}

// settleType fills in the type that the API lets a message leave out, and drops what other kinds of items carry
// under the names of fields that mean something else here.
func (it *Item) settleType(other *otherFields) error {
	if it.Type == "" && it.Role != "" {
		it.Type = ItemMessage
	}
	if it.Type == "" {
		return errNotItem
	}
	if it.Type == ItemFunctionCall {
		it.Output = ""
		return nil
	}
	if it.Type == ItemFunctionCallOutput {
		it.Name, it.Arguments = "", ""
		return nil
	}
	id, name, arguments, output := it.CallID, it.Name, it.Arguments, it.Output
	it.CallID, it.Name, it.Arguments, it.Output = "", "", "", ""
	switch it.Type {
	case ItemCustomToolCall:
		it.CallID, it.Name, it.Arguments = id, name, other.input
	case ItemShellCall:
		it.CallID, it.Arguments = id, string(other.action)
	case ItemApplyPatchCall:
		it.CallID, it.Arguments = id, string(other.operation)
	case ItemCustomToolCallOutput, ItemShellCallOutput, ItemApplyPatchCallOutput:
		it.CallID, it.Output = id, output
	case ItemMCPApprovalRequest:
		it.CallID, it.Name, it.Server, it.Arguments = it.ID, name, other.server, arguments
	case ItemMCPApprovalResponse:
		it.CallID, it.Output = other.request, approvalText(other.approve, other.reason)
	case ItemMCPListTools:
		it.Server = other.server
	}
	return nil
}

// approvalText is how an mcp_approval_response reads.
func approvalText(approve bool, reason string) string {
	switch {
	case approve:
		return "approved"
	case reason == "":
		return "rejected"
	}
	return "rejected: " + reason
}

// readString sets s to the string that comes next; a value of another type is skipped.
func readString(r *strictjson.Reader, s *string) error {
	if r.Peek() != '"' {
		_, err := r.Skip()
		return err
	}
	tok, escaped, err := r.String()
	if err != nil {
		return err
	}
	*s = strictjson.Unquote(tok, escaped)
	return nil
}

// readText is readString for text that is shown: it is always valid UTF-8.
func readText(r *strictjson.Reader, s *string) error {
	if err := readString(r, s); err != nil {
		return err
	}
	*s = validText(*s)
	return nil
}

// validText replaces what is not UTF-8. Whatever is saved goes through it, so that a saved text comes back the same.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// readParts reads text that is either a string or a list of parts, and joins the parts that are text.
func readParts(r *strictjson.Reader, s *string) error {
	if r.Peek() != '[' {
		return readText(r, s)
	}
	var joined []string
	err := r.Array(func() error {
		if r.Peek() != '{' {
			_, err := r.Skip()
			return err
		}
		return r.Object(func(key []byte) error {
			if k := string(key); k != "text" && k != "refusal" && k != "stdout" && k != "stderr" {
				_, err := r.Skip()
				return err
			}
			var part string
			err := readText(r, &part)
			joined = append(joined, part)
			return err
		})
	})
	if len(joined) == 1 {
		*s = joined[0]
	} else {
		*s = strings.Join(joined, "")
	}
	return err
}

// Wire returns the item as it is sent to a provider that speaks the Responses API: Raw where there is one. The caller
// must not change the result.
func (it Item) Wire() json.RawMessage {
	if it.Raw != nil {
		return it.Raw
	}
	return it.appendWire(nil)
}

func (it *Item) appendWire(b []byte) []byte {
	o := strictjson.NewObject(b)
	o.Text("type", string(it.Type))
	o.OptionalText("id", it.ID)
	switch it.Type {
	case ItemMessage:
		o.Text("role", string(it.Role))
		o.Text("content", it.Text)
	case ItemReasoning:
		o.Append("summary", it.appendSummary)
	case ItemFunctionCall:
		o.Text("call_id", it.CallID)
		o.Text("name", it.Name)
		o.Text("arguments", it.Arguments)
	case ItemFunctionCallOutput:
		o.Text("call_id", it.CallID)
		o.Text("output", it.Output)
	}
	return o.End()
}

func (it *Item) appendSummary(b []byte) []byte {
	if it.Text == "" {
		return append(b, "[]"...)
	}
	part := strictjson.NewObject(append(b, '['))
	part.Text("type", "summary_text")
	part.Text("text", it.Text)
	return append(part.End(), ']')
}

// MarshalJSON writes the item as it is saved: the provider's JSON verbatim with the agent beside it, so that nothing
// is stored twice; the typed fields when there is no such JSON.
func (it Item) MarshalJSON() ([]byte, error) { return it.appendSaved(nil, 0, nil), nil }

// appendSaved writes the item of the conversation with the number, and what decided the call that it answers.
func (it *Item) appendSaved(b []byte, frame int, answer *savedAnswer) []byte {
	o := strictjson.NewObject(b)
	if frame != 0 {
		o.Int("frame", frame)
	}
	o.OptionalText("agent", it.Agent)
	if answer != nil {
		o.Append("answer", answer.append)
	}
	if it.Raw != nil {
		o.Raw("raw", it.Raw)
	} else {
		o.Append("item", it.appendWire)
	}
	return o.End()
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (it *Item) UnmarshalJSON(data []byte) error {
	r := strictjson.NewReader(bytes.Clone(data), maxItemDepth)
	saved, err := readSaved(r)
	if err == nil && (saved.frame != 0 || saved.answer != nil) {
		err = r.Fail("an item of a saved run")
	}
	if err != nil {
		return fmt.Errorf("read item: %w", err)
	}
	if end := r.End(); end != nil {
		return fmt.Errorf("read item: %w", end)
	}
	*it = saved.item
	return nil
}

// savedItem is an item with the number of its conversation, and what decided the call that it answers.
type savedItem struct {
	item   Item
	frame  int
	answer *savedAnswer
}

// readSaved reads an item in its saved form. Item.Raw shares memory with the text that r reads.
func readSaved(r *strictjson.Reader) (savedItem, error) {
	var it Item
	var agent string
	var saved savedItem
	var found bool
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "agent":
			return readText(r, &agent)
		case "frame":
			value, err := r.Skip()
			if err != nil {
				return err
			}
			if saved.frame, err = strconv.Atoi(string(value)); err != nil || saved.frame < 1 {
				return r.Fail("the number of a conversation is not one")
			}
			return nil
		case "answer":
			value, err := r.Skip()
			if err != nil {
				return err
			}
			if saved.answer = new(savedAnswer); !saved.answer.read(value) {
				return r.Fail("an answer that is none")
			}
			return nil
		case "raw", "item":
			if found {
				return r.Fail("an item in two forms")
			}
			found = true
			verbatim := string(key) == "raw"
			start := r.Offset()
			it, err = readWire(r)
			if err == nil && verbatim {
				it.Raw = r.Since(start)
			}
			return err
		}
		return r.Fail("unknown member of an item")
	})
	switch {
	case err != nil:
		return savedItem{}, err
	case !found:
		return savedItem{}, r.Fail("an item without content")
	case saved.answer != nil && !it.IsOutput():
		return savedItem{}, r.Fail("an answer beside what is no output")
	}
	it.Agent = agent
	saved.item = it
	return saved, nil
}

// cleanItem returns the item as it will be after it was saved and read again.
func cleanItem(it Item) (Item, error) {
	var clean Item
	var err error
	if it.Raw != nil {
		clean, err = ParseItem(it.Raw)
	} else {
		if it.Type == "" && it.Role != "" {
			it.Type = ItemMessage
		}
		clean, err = readWire(strictjson.NewReader(it.appendWire(nil), maxItemDepth))
	}
	clean.Agent = validText(it.Agent)
	return clean, err
}
