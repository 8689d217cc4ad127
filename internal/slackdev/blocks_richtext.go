package slackdev

import (
	"maps"
	"math"
)

// richTextShapes are the elements of a rich_text block.
func richTextShapes() map[string]shape {
	inline := inlineShapes()
	run := count(0, 1000, oneOf(func() map[string]shape { return inline }))
	code := map[string]shape{"text": inline["text"], "link": inline["link"]}
	section := shape{required: []string{"elements"}, fields: map[string]rule{"type": anything, "elements": run}}
	return map[string]shape{
		"rich_text_section": section,
		"rich_text_quote": {
			required: []string{"elements"},
			fields:   map[string]rule{"type": anything, "elements": run, "border": between(0, 1)},
		},
		"rich_text_preformatted": {required: []string{"elements"}, fields: map[string]rule{
			"type": anything, "border": between(0, 1), "language": length(1, 50),
			"elements": count(0, 1000, oneOf(func() map[string]shape { return code })),
		}},
		"rich_text_list": {required: []string{"style", "elements"}, fields: map[string]rule{
			"type": anything, "style": among("bullet", "ordered"), "indent": between(0, 8),
			"offset": between(0, math.MaxInt32), "border": between(0, 1),
			"elements": count(1, 1000, oneOf(func() map[string]shape {
				return map[string]shape{"rich_text_section": section}
			})),
		}},
	}
}

// inlineShapes are the elements inside a section, quote or list item. Only text and links may be in the style of code:
// of a mention Slack says "invalid additional property: code" (https://github.com/soxtoby/SlackNet/issues/196).
func inlineShapes() map[string]shape {
	styles := map[string]rule{
		"bold": boolean, "italic": boolean, "strike": boolean, "underline": boolean,
		"highlight": boolean, "client_highlight": boolean, "unlink": boolean,
	}
	mention := shape{fields: styles}.check
	written := maps.Clone(styles)
	written["code"] = boolean
	inline := func(required []string, fields map[string]rule) shape {
		fields["type"], fields["style"] = anything, mention
		if fields["text"] != nil { // text, or a link
			fields["style"] = shape{fields: written}.check
		}
		return shape{required: required, fields: fields}
	}
	return map[string]shape{
		"text": inline([]string{"text"}, map[string]rule{"text": length(1, maxBlocksSize)}),
		"link": inline([]string{"url"}, map[string]rule{
			"url": webURL(3000), "text": length(0, 3000), "unsafe": boolean,
		}),
		"user":      inline([]string{"user_id"}, map[string]rule{"user_id": idOf("UW")}),
		"usergroup": inline([]string{"usergroup_id"}, map[string]rule{"usergroup_id": idOf("S")}),
		"channel":   inline([]string{"channel_id"}, map[string]rule{"channel_id": idOf("CDG")}),
		"team":      inline([]string{"team_id"}, map[string]rule{"team_id": idOf("T")}),
		"emoji": inline([]string{"name"}, map[string]rule{
			"name": length(1, 100), "unicode": length(1, 100), "skin_tone": between(1, 6),
		}),
		"broadcast": inline([]string{"range"}, map[string]rule{"range": among("here", "channel", "everyone")}),
		"color":     inline([]string{"value"}, map[string]rule{"value": length(1, 20)}),
		"date": inline([]string{"timestamp", "format"}, map[string]rule{
			"timestamp": between(0, math.MaxInt64), "format": length(1, 300), "url": webURL(3000),
			"fallback": length(1, 300),
		}),
	}
}
