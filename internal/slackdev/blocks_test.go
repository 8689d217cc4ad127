package slackdev_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"countersign/internal/slackdev"
)

type object = map[string]any

func plain(n int) object { return object{"type": "plain_text", "text": strings.Repeat("x", n)} }

func with(base object, key string, value any) object {
	out := maps.Clone(base)
	if value == nil {
		delete(out, key)
	} else {
		out[key] = value
	}
	return out
}

func repeat(n int, item func(int) any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = item(i)
	}
	return out
}

// TestMessageLimits checks every limit from both sides: the largest value
// passes, one more is refused.
func TestMessageLimits(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	button := object{"type": "button", "action_id": "a", "text": plain(5)}
	in := func(el any) object { return object{"type": "actions", "elements": []any{el}} }
	option := object{"text": plain(3), "value": "v"}
	options := func(n int) []any {
		return repeat(n, func(i int) any { return with(option, "value", fmt.Sprint("v", i)) })
	}
	sel := object{"type": "static_select", "action_id": "s", "options": []any{option}}
	confirm := object{"title": plain(100), "text": plain(300), "confirm": plain(30), "deny": plain(30)}
	field := object{"type": "input", "label": plain(5), "element": object{"type": "plain_text_input", "action_id": "t"}}
	sized := func(n int) any { return strings.Repeat("x", n) }
	for _, tc := range []struct {
		why  string
		make func(n int) object
		max  int
	}{
		{"section text", func(n int) object { return object{"type": "section", "text": plain(n)} }, 3000},
		{"section field text",
			func(n int) object { return object{"type": "section", "fields": []any{plain(n)}} }, 2000},
		{"section fields", func(n int) object {
			return object{"type": "section", "fields": repeat(n, func(int) any { return plain(1) })}
		}, 10},
		{"header", func(n int) object { return object{"type": "header", "text": plain(n)} }, 150},
		{"context elements", func(n int) object {
			return object{"type": "context", "elements": repeat(n, func(int) any { return plain(1) })}
		}, 10},
		{"actions elements", func(n int) object {
			return object{"type": "actions", "elements": repeat(n, func(i int) any {
				return with(button, "action_id", fmt.Sprint("a", i))
			})}
		}, 25},
		{"block_id", func(n int) object { return with(section("x"), "block_id", sized(n)) }, 255},
		{"button text", func(n int) object { return in(with(button, "text", plain(n))) }, 75},
		{"button value", func(n int) object { return in(with(button, "value", sized(n))) }, 2000},
		{"action_id", func(n int) object { return in(with(button, "action_id", sized(n))) }, 255},
		{"accessibility_label", func(n int) object { return in(with(button, "accessibility_label", sized(n))) }, 75},
		{"confirm title",
			func(n int) object { return in(with(button, "confirm", with(confirm, "title", plain(n)))) }, 100},
		{"confirm text",
			func(n int) object { return in(with(button, "confirm", with(confirm, "text", plain(n)))) }, 300},
		{"confirm button",
			func(n int) object { return in(with(button, "confirm", with(confirm, "deny", plain(n)))) }, 30},
		{"options", func(n int) object { return in(with(sel, "options", options(n))) }, 100},
		{"option text",
			func(n int) object { return in(with(sel, "options", []any{with(option, "text", plain(n))})) }, 75},
		{"option value",
			func(n int) object { return in(with(sel, "options", []any{with(option, "value", sized(n))})) }, 75},
		{"overflow options", func(n int) object {
			return in(object{"type": "overflow", "options": options(n)})
		}, 5},
		{"checkboxes", func(n int) object {
			return in(object{"type": "checkboxes", "options": options(n)})
		}, 10},
		{"input label", func(n int) object { return with(field, "label", plain(n)) }, 2000},
		{"input hint", func(n int) object { return with(field, "hint", plain(n)) }, 2000},
		{"max_length", func(n int) object {
			return with(field, "element", object{"type": "plain_text_input", "max_length": n})
		}, 3000},
		{"markdown", func(n int) object { return object{"type": "markdown", "text": sized(n)} }, 12000},
	} {
		for _, n := range []int{tc.max, tc.max + 1} {
			got := call(t, w, "chat.postMessage", object{
				"channel": "C0GENERAL", "text": "x", "blocks": []any{tc.make(n)},
			})
			wantOK := n == tc.max
			if got.OK != wantOK || !wantOK && (got.Error != "invalid_blocks" || len(got.Metadata.Messages) == 0) {
				t.Errorf("%s of %d: %q %v", tc.why, n, got.Error, got.Metadata.Messages)
			}
		}
	}
}

// TestMessageShapes tries blocks that no length makes right.
func TestMessageShapes(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	button := object{"type": "button", "action_id": "a", "text": plain(5)}
	in := func(el any) object { return object{"type": "actions", "elements": []any{el}} }
	sel := object{"type": "static_select", "action_id": "s", "options": []any{object{"text": plain(3), "value": "v"}}}
	field := object{"type": "input", "label": plain(5), "element": object{"type": "plain_text_input", "action_id": "t"}}
	rich := func(kind string, el object) object {
		return object{"type": "rich_text", "elements": []any{object{"type": kind, "elements": []any{el}}}}
	}
	post := func(block any) answer {
		return call(t, w, "chat.postMessage", object{"channel": "C0GENERAL", "text": "x", "blocks": []any{block}})
	}
	mention := rich("rich_text_section", object{"type": "user", "user_id": "U0ANN"})
	styled := func(el object, style string) any {
		return rich("rich_text_section", with(el, "style", object{style: true}))
	}
	confirm := object{"title": plain(3), "text": plain(3), "confirm": plain(3), "deny": plain(3)}
	twice := []any{object{"text": plain(3), "value": "v"}, object{"text": plain(4), "value": "v"}}
	for _, good := range []any{
		in(button), in(sel), field, mention, in(with(button, "confirm", confirm)),
		styled(object{"type": "text", "text": "x"}, "code"), styled(object{"type": "user", "user_id": "U0ANN"}, "bold"),
	} {
		if got := post(good); !got.OK {
			t.Errorf("control %v: %v", good, got.Metadata.Messages)
		}
	}
	for _, tc := range []struct {
		why   string
		block any
	}{
		{"unknown block", object{"type": "sektion"}},
		{"unknown key", with(section("x"), "txt", "y")},
		{"unknown style", in(with(button, "style", "primry"))},
		{"empty text", object{"type": "section", "text": plain(0)}},
		{"no text", object{"type": "section"}},
		{"mrkdwn in a header", object{"type": "header", "text": object{"type": "mrkdwn", "text": "x"}}},
		{"mrkdwn on a button", in(with(button, "text", object{"type": "mrkdwn", "text": "x"}))},
		{"button without text", in(with(button, "text", nil))},
		{"text input among actions", in(object{"type": "plain_text_input", "action_id": "t"})},
		{"button as input", with(field, "element", button)},
		{"select without options", in(with(sel, "options", nil))},
		{"same action_id twice", object{"type": "actions", "elements": []any{button, button}}},
		{"script address", in(with(button, "url", "javascript:alert(1)"))},
		{"not an object", "x"},
		{"rich text user", rich("rich_text_section", object{"type": "user", "user_id": "ann"})},
		{"rich text style",
			rich("rich_text_section", object{"type": "text", "text": "x", "style": object{"bald": true}})},
		{"a mention as code", styled(object{"type": "user", "user_id": "U0ANN"}, "code")},
		{"a date as code", styled(object{"type": "date", "timestamp": 1, "format": "{date}"}, "code")},
		{"rich text of nothing", object{"type": "rich_text", "elements": []any{}}},
		{"a confirmation in mrkdwn",
			in(with(button, "confirm", with(confirm, "text", object{"type": "mrkdwn", "text": "x"})))},
		{"two options of one value", in(with(sel, "options", twice))},
		{"two options of one value in groups", in(with(with(sel, "options", nil), "option_groups", []any{
			object{"label": plain(3), "options": twice[:1]}, object{"label": plain(3), "options": twice[1:]},
		}))},
		{"two lines of a menu of one value", in(object{"type": "overflow", "options": twice})},
		{"two boxes of one value", in(object{"type": "checkboxes", "options": twice})},
		{"user in preformatted", rich("rich_text_preformatted", object{"type": "user", "user_id": "U0ANN"})},
	} {
		if got := post(tc.block); got.Error != "invalid_blocks" {
			t.Errorf("%s: %q", tc.why, got.Error)
		}
	}
}

func TestMessageAsAWhole(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	post := func(blocks []any) answer {
		return call(t, w, "chat.postMessage", object{"channel": "C0GENERAL", "text": "x", "blocks": blocks})
	}
	many := func(n, size int) []any {
		return repeat(n, func(int) any { return section(strings.Repeat("x", size)) })
	}
	rich := func(n, size int) []any {
		text := object{"type": "text", "text": strings.Repeat("x", size)}
		return repeat(n, func(int) any {
			return object{"type": "rich_text", "elements": []any{
				object{"type": "rich_text_section", "elements": []any{text}},
			}}
		})
	}
	for _, tc := range []struct {
		why    string
		blocks []any
		want   string
	}{
		{"50 blocks", many(50, 1), ""},
		{"51 blocks", many(51, 1), "invalid_blocks"},
		{"12,000 characters in few blocks", many(4, 3000), ""},
		{"13,500 characters", many(45, 300), "msg_blocks_too_long"},
		{"11,400 characters in few blocks", rich(3, 3800), ""},
		{"11,400 characters in many blocks", rich(38, 300), "msg_blocks_too_long"},
		{"one block_id twice",
			[]any{with(section("x"), "block_id", "b"), with(section("y"), "block_id", "b")}, "invalid_blocks"},
	} {
		if got := post(tc.blocks); got.Error != tc.want {
			t.Errorf("%s: %q, want %q", tc.why, got.Error, tc.want)
		}
	}
	got := call(t, w, "chat.postMessage", object{"channel": "C0GENERAL", "blocks": "{"})
	if got.Error != "invalid_blocks_format" {
		t.Errorf("broken blocks: %q", got.Error)
	}
	var blocks []object
	if err := json.Unmarshal(w.Messages("C0GENERAL")[0].Blocks, &blocks); err != nil {
		t.Fatal(err)
	}
	if blocks[0]["block_id"] == "" || blocks[0]["block_id"] == blocks[1]["block_id"] {
		t.Errorf("block ids are not filled in: %v", blocks[:2])
	}
}

func TestViewLimits(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	modal := object{"type": "modal", "title": plain(5), "blocks": []any{section("x")}}
	input := object{"type": "input", "label": plain(5), "element": object{"type": "plain_text_input"}}
	sized := func(n int) any { return strings.Repeat("x", n) }
	for _, tc := range []struct {
		why  string
		view object
		want string
	}{
		{"smallest", modal, ""},
		{"title of 24", with(modal, "title", plain(24)), ""},
		{"title of 25", with(modal, "title", plain(25)), "invalid_arguments"},
		{"submit of 25", with(modal, "submit", plain(25)), "invalid_arguments"},
		{"close of 25", with(modal, "close", plain(25)), "invalid_arguments"},
		{"private_metadata of 3000", with(modal, "private_metadata", sized(3000)), ""},
		{"private_metadata of 3001", with(modal, "private_metadata", sized(3001)), "invalid_arguments"},
		{"callback_id of 256", with(modal, "callback_id", sized(256)), "invalid_arguments"},
		{"100 blocks", with(modal, "blocks", repeat(100, func(int) any { return section("x") })), ""},
		{"101 blocks", with(modal, "blocks", repeat(101, func(int) any { return section("x") })), "invalid_arguments"},
		{"300 KB", with(modal, "blocks", repeat(100, func(int) any { return section(strings.Repeat("x", 3000)) })),
			"view_too_large"},
		{"input without submit", with(modal, "blocks", []any{input}), "invalid_arguments"},
		{"input with submit", with(with(modal, "blocks", []any{input}), "submit", plain(3)), ""},
		{"markdown block", with(modal, "blocks", []any{object{"type": "markdown", "text": "x"}}), "invalid_arguments"},
		{"no title", with(modal, "title", nil), "invalid_arguments"},
		{"unknown key", with(modal, "submit_disabled", false), "invalid_arguments"},
		{"home in a modal", object{"type": "home", "blocks": []any{section("x")}}, "invalid_arguments"},
	} {
		got := call(t, w, "views.open", object{"trigger_id": w.NewTrigger("U0ANN"), "view": tc.view})
		if got.Error != tc.want {
			t.Errorf("%s: %q %v, want %q", tc.why, got.Error, got.Metadata.Messages, tc.want)
		}
	}
}
