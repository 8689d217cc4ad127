package slackdev

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	maxMessageBlocks = 50
	maxViewBlocks    = 100
	// maxBlocksSize bounds the blocks of a message together. Slack does not document it; it was found by others to lie
	// near this number, with less room for each further block (https://github.com/slackapi/bolt-js/issues/2509). Texts
	// alone do not make it up: rich_text blocks with 11,341 characters of text have been refused
	// (https://github.com/slackapi/bolt-js/issues/2867). The fake counts the characters of their JSON.
	maxBlocksSize = 13200
)

// blockKit knows the shapes of Block Kit.
type blockKit struct {
	message  map[string]shape // blocks allowed in messages
	view     map[string]shape // blocks allowed in modals and Home tabs
	elements elementKit
	richText map[string]shape
}

func newBlockKit() *blockKit {
	k := &blockKit{elements: newElementKit(), richText: richTextShapes()}
	k.message, k.view = k.blocks(), k.blocks()
	k.message["markdown"] = shape{
		required: []string{"text"},
		fields:   k.fields("text", length(1, maxMarkdown)),
	}
	k.message["table"] = shape{
		required: []string{"rows"}, fields: k.fields("rows", k.rows(), "column_settings", anything),
	}
	return k
}

// fields adds the two keys every block has to pairs of key and rule.
func (k *blockKit) fields(pairs ...any) map[string]rule {
	out := map[string]rule{"type": anything, "block_id": length(1, 255)}
	for i := 0; i < len(pairs); i += 2 {
		switch check := pairs[i+1].(type) {
		case rule:
			out[pairs[i].(string)] = check
		case func(*checker, string, any):
			out[pairs[i].(string)] = check
		}
	}
	return out
}

// blocks are the shapes common to messages and views.
func (k *blockKit) blocks() map[string]shape {
	return map[string]shape{
		"divider": {fields: k.fields()},
		"header":  {required: []string{"text"}, fields: k.fields("text", plainText(1, 150), "level", between(1, 4))},
		"section": {
			fields: k.fields("text", text(1, 3000), "fields", count(1, 10, text(1, 2000)),
				"accessory", k.elements.in("section"), "expand", boolean),
			extra: sectionHasText,
		},
		"context": {
			required: []string{"elements"},
			fields:   k.fields("elements", count(1, 10, k.contextElement())),
		},
		"actions": {
			required: []string{"elements"},
			fields:   k.fields("elements", count(1, 25, k.elements.in("actions"))),
			extra:    uniqueActions,
		},
		"context_actions": {
			required: []string{"elements"},
			fields:   k.fields("elements", count(1, 5, k.elements.in("context_actions"))),
			extra:    uniqueActions,
		},
		"image": {
			required: []string{"alt_text"},
			fields: k.fields("alt_text", length(1, 2000), "image_url", webURL(3000), "title", plainText(0, 2000),
				"slack_file", anything),
		},
		"input": {
			required: []string{"label", "element"},
			fields: k.fields("label", plainText(1, 2000), "element", k.elements.in("input"), "hint", plainText(1, 2000),
				"optional", boolean, "dispatch_action", boolean),
		},
		"rich_text": { // one of nothing is refused: https://github.com/stoiveyp/Slack.NetStandard/issues/100
			required: []string{"elements"},
			fields:   k.fields("elements", count(1, 1000, oneOf(func() map[string]shape { return k.richText }))),
		},
		"video": {required: []string{"alt_text", "title", "thumbnail_url", "video_url"},
			fields: k.fields("alt_text", length(1, 2000), "title", plainText(1, 200), "title_url", webURL(3000),
				"description", plainText(1, 200), "thumbnail_url", webURL(3000), "video_url", webURL(3000),
				"author_name", length(1, 50), "provider_icon_url", webURL(3000), "provider_name", anything)},
	}
}

func sectionHasText(c *checker, path string, m map[string]any) {
	if m["text"] == nil && m["fields"] == nil {
		c.add(path, "missing required field: text")
	}
}

func (k *blockKit) contextElement() rule {
	shapes := map[string]shape{
		"plain_text": {
			required: []string{"text"},
			fields:   map[string]rule{"type": anything, "text": length(1, 3000), "emoji": boolean},
		},
		"mrkdwn": {
			required: []string{"text"},
			fields:   map[string]rule{"type": anything, "text": length(1, 3000), "verbatim": boolean},
		},
		"image": {required: []string{"alt_text"}, fields: map[string]rule{"type": anything, "alt_text": length(1, 2000),
			"image_url": webURL(3000), "slack_file": anything}},
	}
	return oneOf(func() map[string]shape { return shapes })
}

func (k *blockKit) rows() rule {
	cells := map[string]shape{
		"raw_text":  {required: []string{"text"}, fields: map[string]rule{"type": anything, "text": length(0, 3000)}},
		"rich_text": k.blocks()["rich_text"],
	}
	return count(1, 100, count(1, 20, oneOf(func() map[string]shape { return cells })))
}

func uniqueActions(c *checker, path string, m map[string]any) {
	var seen []string
	list, _ := m["elements"].([]any)
	for i, v := range list {
		el, _ := v.(map[string]any)
		id := str(el["action_id"])
		if id != "" && slices.Contains(seen, id) {
			c.add(fmt.Sprintf("%s/elements/%d/action_id", path, i), "`action_id` %q already exists", id)
		}
		seen = append(seen, id)
	}
}

// checkMessage returns what is wrong with the blocks of a message, nil for nothing.
func (k *blockKit) checkMessage(blocks []any) []string {
	c := &checker{}
	count(1, maxMessageBlocks, oneOf(func() map[string]shape { return k.message }))(c, "/blocks", blocks)
	uniqueBlocks(c, "/blocks", blocks)
	markdownTogether(c, blocks)
	return c.messages
}

// markdownTogether bounds the text of all markdown blocks of a payload: 12,000 characters, a limit that they share
// (docs.slack.dev/reference/block-kit/blocks/markdown-block). Somebody measured more, 13,297
// (https://github.com/slackapi/bolt-js/issues/2509); the fake keeps to what is promised.
func markdownTogether(c *checker, blocks []any) {
	n := 0
	for _, b := range blocks {
		if m, _ := b.(map[string]any); m["type"] == "markdown" {
			n += units(str(m["text"]))
		}
	}
	if n > maxMarkdown {
		c.add("/blocks", "markdown blocks must be less than %d characters together", maxMarkdown+1)
	}
}

// tables counts the table blocks of a message.
func tables(blocks []any) (n int) {
	for _, b := range blocks {
		if m, _ := b.(map[string]any); m["type"] == "table" {
			n++
		}
	}
	return n
}

// checkView returns what is wrong with a view of one of these kinds.
func (k *blockKit) checkView(v any, kinds []string) []string {
	c := &checker{}
	blocks := count(0, maxViewBlocks, oneOf(func() map[string]shape { return k.view }))
	common := map[string]rule{
		"type": anything, "blocks": blocks, "private_metadata": length(0, 3000),
		"callback_id": length(0, 255), "external_id": length(0, 255),
	}
	modal := shape{required: []string{"title", "blocks"}, fields: map[string]rule{
		"title": plainText(1, 24), "submit": plainText(1, 24), "close": plainText(1, 24),
		"clear_on_close": boolean, "notify_on_close": boolean,
	}, extra: needsSubmit}
	for key, check := range common {
		modal.fields[key] = check
	}
	shapes := map[string]shape{"modal": modal, "home": {required: []string{"blocks"}, fields: common}}
	for kind := range shapes {
		if !slices.Contains(kinds, kind) {
			delete(shapes, kind)
		}
	}
	oneOf(func() map[string]shape { return shapes })(c, "/view", v)
	if m, ok := v.(map[string]any); ok {
		list, _ := m["blocks"].([]any)
		uniqueBlocks(c, "/view/blocks", list)
		oneFocus(c, list)
	}
	return c.messages
}

// oneFocus allows one element to have the focus of a view, as the reference says of focus_on_load
// (docs.slack.dev/reference/block-kit/block-elements).
func oneFocus(c *checker, blocks []any) {
	n := 0
	for _, el := range interactive(encode(blocks)) {
		if on, _ := el.def["focus_on_load"].(bool); on {
			n++
		}
	}
	if n > 1 {
		c.add("/view/blocks", "only one element can have focus_on_load set to true")
	}
}

func needsSubmit(c *checker, path string, m map[string]any) {
	list, _ := m["blocks"].([]any)
	for _, b := range list {
		if block, ok := b.(map[string]any); ok && block["type"] == "input" && m["submit"] == nil {
			c.add(path, "missing required field: submit")
			return
		}
	}
}

func uniqueBlocks(c *checker, path string, blocks []any) {
	seen := map[string]bool{}
	for i, b := range blocks {
		m, _ := b.(map[string]any)
		id := str(m["block_id"])
		if id != "" && seen[id] {
			c.add(fmt.Sprintf("%s/%d/block_id", path, i), "`block_id` %q already exists", id)
		}
		seen[id] = true
	}
}

// blocksSize counts the characters of blocks as JSON, ids included.
func blocksSize(blocks []any) int {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(blocks); err != nil {
		panic(fmt.Sprintf("slackdev: encode blocks: %v", err)) // they came as JSON
	}
	return units(strings.TrimSuffix(b.String(), "\n"))
}

// fillIDs gives every block a block_id and every interactive element an action_id.
func fillIDs(blocks []any) {
	for _, b := range blocks {
		block := b.(map[string]any)
		if str(block["block_id"]) == "" {
			block["block_id"] = shortID()
		}
		for _, key := range []string{"accessory", "element"} {
			fillActionID(block[key])
		}
		if block["type"] == "actions" || block["type"] == "context_actions" {
			list, _ := block["elements"].([]any)
			for _, el := range list {
				fillActionID(el)
			}
		}
	}
}

func fillActionID(v any) {
	el, ok := v.(map[string]any)
	if !ok || el["type"] == "image" {
		return
	}
	if str(el["action_id"]) == "" {
		el["action_id"] = shortID()
	}
}
