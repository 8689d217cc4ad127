package slackdev

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// element is an interactive element inside a block.
type element struct {
	blockID string
	def     map[string]any
	input   map[string]any // the input block around it, nil elsewhere
}

func (e element) kind() string     { return str(e.def["type"]) }
func (e element) actionID() string { return str(e.def["action_id"]) }

// interactive lists the interactive elements of blocks in reading order.
func interactive(blocks json.RawMessage) []element {
	var list []map[string]any
	if json.Unmarshal(blocks, &list) != nil {
		return nil
	}
	var out []element
	for _, b := range list {
		id := str(b["block_id"])
		add := func(v any, input map[string]any) {
			if def, ok := v.(map[string]any); ok && str(def["action_id"]) != "" {
				out = append(out, element{blockID: id, def: def, input: input})
			}
		}
		switch b["type"] {
		case "section":
			add(b["accessory"], nil)
		case "input":
			add(b["element"], b)
		case "actions", "context_actions":
			elements, _ := b["elements"].([]any)
			for _, el := range elements {
				add(el, nil)
			}
		}
	}
	return out
}

// selection says under which keys an element keeps its value, and its default.
var selections = map[string][2]string{
	"plain_text_input":           {"value", "initial_value"},
	"email_text_input":           {"value", "initial_value"},
	"url_text_input":             {"value", "initial_value"},
	"number_input":               {"value", "initial_value"},
	"static_select":              {"selected_option", "initial_option"},
	"external_select":            {"selected_option", "initial_option"},
	"radio_buttons":              {"selected_option", "initial_option"},
	"users_select":               {"selected_user", "initial_user"},
	"channels_select":            {"selected_channel", "initial_channel"},
	"conversations_select":       {"selected_conversation", "initial_conversation"},
	"multi_static_select":        {"selected_options", "initial_options"},
	"multi_external_select":      {"selected_options", "initial_options"},
	"checkboxes":                 {"selected_options", "initial_options"},
	"multi_users_select":         {"selected_users", "initial_users"},
	"multi_channels_select":      {"selected_channels", "initial_channels"},
	"multi_conversations_select": {"selected_conversations", "initial_conversations"},
	"datepicker":                 {"selected_date", "initial_date"},
	"timepicker":                 {"selected_time", "initial_time"},
	"datetimepicker":             {"selected_date_time", "initial_date_time"},
	"rich_text_input":            {"rich_text_value", "initial_value"},
}

// stateful reports whether the element has a value in state.values.
func (e element) stateful() bool {
	_, ok := selections[e.kind()]
	return ok
}

// value is the element's entry in state.values. given is a text (an option's
// value for selects), a list of texts, or the entry itself; nil is the default.
func (e element) value(given any) (map[string]any, error) {
	keys := selections[e.kind()]
	out := map[string]any{"type": e.kind()}
	if given == nil {
		out[keys[0]] = e.initial(keys)
		return out, nil
	}
	if entry, ok := given.(map[string]any); ok {
		for k, v := range entry {
			out[k] = v
		}
		return out, nil
	}
	v, err := e.chosen(keys[0], given)
	out[keys[0]] = v
	return out, err
}

func (e element) initial(keys [2]string) any {
	if v, ok := e.def[keys[1]]; ok {
		return v
	}
	switch keys[0] {
	case "selected_options", "selected_users", "selected_channels", "selected_conversations":
		return []any{}
	}
	return nil
}

// chosen turns what a person entered into the form Slack sends.
func (e element) chosen(key string, given any) (any, error) {
	switch key {
	case "selected_option":
		return e.option(fmt.Sprint(given))
	case "selected_options":
		out := []any{}
		for _, s := range texts(given) {
			opt, err := e.option(s)
			if err != nil {
				return nil, err
			}
			out = append(out, opt)
		}
		return out, nil
	case "selected_users", "selected_channels", "selected_conversations":
		return texts(given), nil
	case "selected_date_time":
		return strconv.ParseInt(fmt.Sprint(given), 10, 64)
	case "selected_date":
		_, err := time.Parse(time.DateOnly, fmt.Sprint(given))
		return given, err
	case "selected_time":
		_, err := time.Parse("15:04", fmt.Sprint(given))
		return given, err
	}
	if given == "" {
		return nil, nil
	}
	return given, nil
}

func texts(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case []any:
		out := []string{}
		for _, item := range v {
			out = append(out, fmt.Sprint(item))
		}
		return out
	case string:
		if v == "" {
			return []string{}
		}
		return []string{v}
	}
	return []string{}
}

// option finds an option by its value, in groups too.
func (e element) option(value string) (map[string]any, error) {
	options, _ := e.def["options"].([]any)
	groups, _ := e.def["option_groups"].([]any)
	for _, g := range groups {
		group, _ := g.(map[string]any)
		more, _ := group["options"].([]any)
		options = append(slices.Clone(options), more...)
	}
	for _, o := range options {
		if opt, ok := o.(map[string]any); ok && str(opt["value"]) == value {
			return opt, nil
		}
	}
	return nil, fmt.Errorf("option %q of %s: %w", value, e.actionID(), ErrNoElement)
}

// accept applies the checks Slack's client makes before it submits an input.
func (e element) accept(entry map[string]any) error {
	if e.input == nil {
		return nil
	}
	v := entry[selections[e.kind()][0]]
	list, isList := v.([]any)
	words, isWords := v.([]string)
	empty := v == nil || v == "" || isList && len(list) == 0 || isWords && len(words) == 0
	if empty {
		if optional, _ := e.input["optional"].(bool); !optional {
			return fmt.Errorf("%s must not be empty: %w", e.blockID, ErrInvalidInput)
		}
		return nil
	}
	s, isText := v.(string)
	if e.kind() == "number_input" {
		return e.acceptNumber(s)
	}
	if !isText || e.kind() != "plain_text_input" {
		return nil
	}
	n := units(s)
	if low, ok := e.def["min_length"].(float64); ok && n < int(low) {
		return fmt.Errorf("%s is shorter than %d: %w", e.blockID, int(low), ErrInvalidInput)
	}
	high := 3000
	if m, ok := e.def["max_length"].(float64); ok {
		high = int(m)
	}
	if n > high {
		return fmt.Errorf("%s is longer than %d: %w", e.blockID, high, ErrInvalidInput)
	}
	return nil
}

// stateOf collects the values of every stateful element.
func stateOf(blocks json.RawMessage, given map[string]map[string]any) (map[string]map[string]any, error) {
	values := map[string]map[string]any{}
	for _, e := range interactive(blocks) {
		if !e.stateful() {
			continue
		}
		entry, err := e.value(given[e.blockID][e.actionID()])
		if err != nil {
			return nil, err
		}
		if values[e.blockID] == nil {
			values[e.blockID] = map[string]any{}
		}
		values[e.blockID][e.actionID()] = entry
	}
	for block, actions := range given {
		for action := range actions {
			if _, ok := values[block][action]; !ok {
				return nil, fmt.Errorf("input %s/%s: %w", block, action, ErrNoElement)
			}
		}
	}
	return values, nil
}
