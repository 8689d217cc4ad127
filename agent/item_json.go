package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"countersign/agent/internal/lex"
)

// maxItemDepth bounds the nesting of a provider's item. It is generous: items are kept, not interpreted.
const maxItemDepth = 512

var errNotItem = errors.New("not an item: it has neither a type nor a role")

// ParseItem reads an item as the Responses API writes it and keeps raw verbatim in Item.Raw. Kinds and fields it does
// not know are kept in Raw and otherwise ignored. Invalid UTF-8 in raw is replaced by U+FFFD, except in Arguments,
// where it stays visible so that it can be refused.
func ParseItem(raw json.RawMessage) (Item, error) {
	r := lex.New(raw, maxItemDepth)
	it, err := readWire(r)
	if err != nil {
		return Item{}, fmt.Errorf("parse item: %w", err)
	}
	if end := r.End(); end != nil {
		return Item{}, fmt.Errorf("parse item: %w", end)
	}
	it.Raw = bytes.TrimSpace(bytes.Clone(raw))
	if !utf8.Valid(it.Raw) {
		it.Raw = bytes.ToValidUTF8(it.Raw, []byte("\uFFFD"))
	}
	return it, nil
}

// readWire reads the typed fields of an item in the provider's form.
func readWire(r *lex.Reader) (Item, error) {
	var it Item
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
			_, err = r.Skip()
		}
		return err
	})
	if err != nil {
		return Item{}, err
	}
	return it, it.settleType()
}

// settleType fills in the type that the API lets a message leave out, and drops what other kinds of items carry
// under the names of fields that mean something else here.
func (it *Item) settleType() error {
	if it.Type == "" && it.Role != "" {
		it.Type = ItemMessage
	}
	if it.Type == "" {
		return errNotItem
	}
	if it.Type != ItemFunctionCall {
		it.Name, it.Arguments = "", ""
	}
	if it.Type != ItemFunctionCallOutput {
		it.Output = ""
	}
	if it.Type != ItemFunctionCall && it.Type != ItemFunctionCallOutput {
		it.CallID = ""
	}
	return nil
}

// readString sets s to the string that comes next; a value of another type is skipped.
func readString(r *lex.Reader, s *string) error {
	if r.Peek() != '"' {
		_, err := r.Skip()
		return err
	}
	tok, escaped, err := r.String()
	if err != nil {
		return err
	}
	*s = lex.Unquote(tok, escaped)
	return nil
}

// readText is readString for text that is shown: it is always valid UTF-8.
func readText(r *lex.Reader, s *string) error {
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
func readParts(r *lex.Reader, s *string) error {
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
			if k := string(key); k != "text" && k != "refusal" {
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
	b = appendField(append(b, '{'), "type", string(it.Type), true)
	b = appendField(b, "id", it.ID, false)
	switch it.Type {
	case ItemMessage:
		b = appendField(b, "role", string(it.Role), true)
		b = appendField(b, "content", it.Text, true)
	case ItemReasoning:
		b = append(b, `,"summary":[`...)
		if it.Text != "" {
			b = append(b, `{"type":"summary_text"`...)
			b = append(appendField(b, "text", it.Text, true), '}')
		}
		b = append(b, ']')
	case ItemFunctionCall:
		b = appendField(b, "call_id", it.CallID, true)
		b = appendField(b, "name", it.Name, true)
		b = appendField(b, "arguments", it.Arguments, true)
	case ItemFunctionCallOutput:
		b = appendField(b, "call_id", it.CallID, true)
		b = appendField(b, "output", it.Output, true)
	}
	return append(b, '}')
}

// MarshalJSON writes the item as it is saved: the provider's JSON verbatim with the agent beside it, so that nothing
// is stored twice; the typed fields when there is no such JSON.
func (it Item) MarshalJSON() ([]byte, error) { return it.appendSaved(nil), nil }

func (it *Item) appendSaved(b []byte) []byte {
	b = append(b, '{')
	if it.Agent != "" {
		b = append(appendField(b, "agent", it.Agent, true), ',')
	}
	if it.Raw != nil {
		b = append(b, `"raw":`...)
		b = append(b, it.Raw...)
	} else {
		b = append(b, `"item":`...)
		b = it.appendWire(b)
	}
	return append(b, '}')
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (it *Item) UnmarshalJSON(data []byte) error {
	r := lex.New(bytes.Clone(data), maxItemDepth)
	saved, err := readSaved(r)
	if err != nil {
		return fmt.Errorf("read item: %w", err)
	}
	if end := r.End(); end != nil {
		return fmt.Errorf("read item: %w", end)
	}
	*it = saved
	return nil
}

// readSaved reads an item in its saved form. Item.Raw shares memory with the text that r reads.
func readSaved(r *lex.Reader) (Item, error) {
	var it Item
	var agent string
	var found bool
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "agent":
			return readText(r, &agent)
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
	if err != nil {
		return Item{}, err
	}
	if !found {
		return Item{}, r.Fail("an item without content")
	}
	it.Agent = agent
	return it, nil
}

// appendField appends a member whose value is a string. The comma in front is left out at the start of an object.
func appendField(b []byte, name, value string, always bool) []byte {
	if value == "" && !always {
		return b
	}
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(append(append(b, '"'), name...), `":`...)
	return lex.AppendQuoted(b, validText(value))
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
		clean, err = readWire(lex.New(it.appendWire(nil), maxItemDepth))
	}
	clean.Agent = validText(it.Agent)
	return clean, err
}
