package slackdev_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/internal/slackdev"
)

// TestPress finds an action as a button and as a line of a menu, in lists too, and what is clicked is what was found.
func TestPress(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	row := func(id string) object {
		line := func(action string) object {
			return object{"text": plain(3), "value": action + ":" + id}
		}
		return object{"type": "actions", "elements": []any{
			object{"type": "button", "action_id": "approve", "value": id, "text": plain(3)},
			object{"type": "overflow", "action_id": "more", "options": []any{line("edit"), line("cancel")}},
		}}
	}
	posted := call(t, w, "chat.postMessage", object{
		"channel": "C0GENERAL", "text": "x", "blocks": []any{row("1"), row("2")},
	})
	if !posted.OK {
		t.Fatal(posted.Metadata.Messages)
	}
	messages := w.Messages("C0GENERAL")
	m := messages[len(messages)-1]
	if got := strings.Join(m.Actions(), " "); got != "approve edit cancel approve edit cancel" {
		t.Errorf("the message offers %s", got)
	}
	for _, tt := range []struct {
		action     string
		of         []string
		id, value  string
		found, one bool
	}{
		{"approve", nil, "approve", "1", true, false}, {"approve", []string{"2"}, "approve", "2", true, false},
		{"cancel", nil, "more", "cancel:1", true, true}, {"cancel", []string{"2"}, "more", "cancel:2", true, true},
		{"approve", []string{"3"}, "", "", false, false}, {"more", nil, "", "", false, false},
		{"canc", nil, "", "", false, false},
	} {
		c, ok := m.Press("U0ANN", tt.action, tt.of...)
		if ok != tt.found || c.ActionID != tt.id || c.Value != tt.value {
			t.Errorf("%s of %v: %+v, %v", tt.action, tt.of, c, ok)
			continue
		}
		if !ok {
			continue
		}
		p, err := w.Payload(c)
		if err != nil {
			t.Fatal(err)
		}
		said := fmt.Sprint(p["actions"])
		if !strings.Contains(said, tt.value) || strings.Contains(said, "selected_option") != tt.one {
			t.Errorf("%s of %v sends %s", tt.action, tt.of, said)
		}
	}
	_, err := w.Payload(slackdev.Click{
		User: "U0ANN", Channel: m.Channel, TS: m.TS, ActionID: "more", Value: "cancel:3",
	})
	if !errors.Is(err, slackdev.ErrNoElement) {
		t.Errorf("control: a line that is not there: %v", err)
	}
}

// TestWhatElementsBeginWith refuses what Slack refuses of the inputs of a form.
func TestWhatElementsBeginWith(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	option := func(v string) object { return object{"text": plain(3), "value": v} }
	options := []any{option("a"), option("b")}
	input := func(kind string, more object) object {
		element := object{"type": kind, "action_id": "value"}
		for k, v := range more {
			element[k] = v
		}
		return object{"type": "input", "label": plain(3), "element": element}
	}
	number := func(low, high, first string) object {
		fields := object{"is_decimal_allowed": true}
		for key, value := range map[string]string{"min_value": low, "max_value": high, "initial_value": first} {
			if value != "" {
				fields[key] = value
			}
		}
		return input("number_input", fields)
	}
	for why, tt := range map[string]struct{ good, bad object }{
		"an option of its own": {input("static_select", object{"options": options, "initial_option": option("b")}),
			input("static_select", object{"options": options, "initial_option": option("c")})},
		"a button of its own": {input("radio_buttons", object{"options": options, "initial_option": option("a")}),
			input("radio_buttons", object{"options": options, "initial_option": option("c")})},
		"boxes of its own": {input("checkboxes", object{"options": options, "initial_options": options}),
			input("checkboxes", object{"options": options, "initial_options": []any{option("c")}})},
		"several of its own": {input("multi_static_select", object{"options": options, "initial_options": options}),
			input("multi_static_select", object{"options": options, "initial_options": []any{option("c")}})},
		"a date": {input("datepicker", object{"initial_date": "2026-12-01"}),
			input("datepicker", object{"initial_date": "1.12.2026"})},
		"a time": {input("timepicker", object{"initial_time": "09:30"}),
			input("timepicker", object{"initial_time": "9.30 am"})},
		"a moment": {input("datetimepicker", object{"initial_date_time": 1796153400}),
			input("datetimepicker", object{"initial_date_time": 1796153400000})},
		"a number as text": {input("number_input", object{"is_decimal_allowed": true, "initial_value": "12.5"}),
			input("number_input", object{"is_decimal_allowed": true, "initial_value": "much"})},
		"a whole number": {input("number_input", object{"is_decimal_allowed": false, "initial_value": "2"}),
			input("number_input", object{"is_decimal_allowed": false, "initial_value": "2.5"})},
		"bounds in order": {number("1", "1", "1"), number("2", "1", "")},
		"not too small":   {number("-1.5", "", "-1.5"), number("-1.5", "", "-1.6")},
		"not too large":   {number("", "10", "9"), number("", "9", "10")},
		"no more than it takes": {input("plain_text_input", object{"max_length": 3, "initial_value": "abc"}),
			input("plain_text_input", object{"max_length": 3, "initial_value": "abcd"})},
		"no placeholder for moments": {input("datetimepicker", object{}),
			input("datetimepicker", object{"placeholder": plain(3)})},
	} {
		for good, block := range map[bool]object{true: tt.good, false: tt.bad} {
			got := call(t, w, "views.open", object{"trigger_id": w.NewTrigger("U0ANN"), "view": object{
				"type": "modal", "title": plain(3), "submit": plain(3), "blocks": []any{block},
			}})
			if got.OK != good {
				t.Errorf("%s: taken %v, %q %v", why, got.OK, got.Error, got.Metadata.Messages)
			}
		}
	}
	one := object{"type": "actions", "elements": []any{
		object{"type": "overflow", "action_id": "more", "options": []any{option("a")}},
	}}
	post := object{"channel": "C0GENERAL", "text": "x", "blocks": []any{one}}
	if got := call(t, w, "chat.postMessage", post); got.OK {
		t.Error("a menu of one line is taken")
	}
}

// TestNumbersThatSlackTakes: its client submits no number that the input does not allow.
func TestNumbersThatSlackTakes(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	for _, decimal := range []bool{true, false} {
		got := call(t, w, "views.open", object{"trigger_id": w.NewTrigger("U0ANN"), "view": object{
			"type": "modal", "title": plain(3), "submit": plain(3), "blocks": []any{object{
				"type": "input", "block_id": "n", "label": plain(3), "element": object{
					"type": "number_input", "action_id": "value", "is_decimal_allowed": decimal,
					"min_value": "1", "max_value": "50",
				},
			}},
		}})
		if !got.OK {
			t.Fatal(got.Metadata.Messages)
		}
		refused := []string{"0", "51", "-2", "much", "1e1", "0x10", "1/2", " 7"}
		if !decimal {
			refused = append(refused, "7.5")
		}
		for _, s := range append(refused, "7") {
			_, err := w.Submit(t.Context(), "U0ANN", "", map[string]map[string]any{"n": {"value": s}})
			if want := slices.Contains(refused, s); errors.Is(err, slackdev.ErrInvalidInput) != want {
				t.Errorf("%q, decimals %v: %v", s, decimal, err)
			}
		}
		if err := w.CloseView(t.Context(), "U0ANN", "", true); err != nil {
			t.Fatal(err)
		}
	}
}
