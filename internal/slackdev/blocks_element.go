package slackdev

import (
	"maps"
	"time"
)

// elementKit knows the interactive elements and where each may stand.
type elementKit struct {
	shapes map[string]shape
	places map[string][]string
}

func newElementKit() elementKit {
	inputs := []string{
		"plain_text_input", "email_text_input", "url_text_input", "number_input", "rich_text_input", "static_select",
		"external_select", "users_select", "channels_select", "conversations_select", "multi_static_select",
		"multi_external_select", "multi_users_select", "multi_channels_select", "multi_conversations_select",
		"radio_buttons", "checkboxes", "datepicker", "timepicker", "datetimepicker",
	}
	section := []string{
		"button", "overflow", "image", "static_select", "external_select", "users_select", "channels_select",
		"conversations_select", "multi_static_select", "multi_external_select", "multi_users_select",
		"multi_channels_select", "multi_conversations_select", "radio_buttons", "checkboxes", "datepicker",
		"timepicker", "workflow_button",
	}
	actions := []string{
		"button", "overflow", "static_select", "external_select", "users_select", "channels_select",
		"conversations_select", "radio_buttons", "checkboxes", "datepicker", "timepicker", "datetimepicker",
		"workflow_button",
	}
	return elementKit{shapes: elementShapes(), places: map[string][]string{
		"input": inputs, "section": section, "actions": actions,
		"context_actions": {"feedback_buttons", "icon_button"},
	}}
}

// in checks an element that stands in a kind of block.
func (k elementKit) in(place string) rule {
	allowed := map[string]shape{}
	for _, kind := range k.places[place] {
		allowed[kind] = k.shapes[kind]
	}
	return oneOf(func() map[string]shape { return allowed })
}

// elementShapes are all elements by type.
func elementShapes() map[string]shape {
	out := map[string]shape{
		"button": {required: []string{"text"}, fields: withAction(map[string]rule{
			"text": plainText(1, 75), "value": length(0, 2000), "url": webURL(3000),
			"style": among("primary", "danger"), "confirm": confirmDialog(), "accessibility_label": length(0, 75),
			"visible_to_user_ids": anything,
		})},
		"icon_button": {required: []string{"icon", "text"}, fields: withAction(map[string]rule{
			"icon": among("trash"), "text": plainText(1, 75), "value": length(0, 2000), "confirm": confirmDialog(),
			"accessibility_label": length(0, 75), "visible_to_user_ids": anything,
		})},
		"feedback_buttons": {
			required: []string{"positive_button", "negative_button"},
			fields:   withAction(map[string]rule{"positive_button": anything, "negative_button": anything}),
		},
		"image": {required: []string{"alt_text"}, fields: map[string]rule{
			"type": anything, "alt_text": length(1, 2000), "image_url": webURL(3000), "slack_file": anything,
		}},
		"overflow": {required: []string{"options"}, fields: withAction(map[string]rule{
			"options": count(2, 5, option("url")), "confirm": confirmDialog(),
		}), extra: uniqueOptions},
		"workflow_button": {required: []string{"text", "workflow"}, fields: withAction(map[string]rule{
			"text": plainText(1, 75), "workflow": anything, "style": among("primary", "danger"),
			"accessibility_label": length(0, 75),
		})},
	}
	maps.Copy(out, inputShapes())
	maps.Copy(out, selectShapes())
	return out
}

func inputShapes() map[string]shape {
	line := map[string]rule{
		"initial_value": length(0, 3000), "placeholder": plainText(1, 150), "focus_on_load": boolean,
		"dispatch_action_config": anything,
	}
	plain := maps.Clone(line)
	maps.Copy(plain, map[string]rule{
		"multiline": boolean, "min_length": between(0, 3000), "max_length": between(1, 3000),
	})
	number := maps.Clone(line)
	maps.Copy(number, map[string]rule{
		"is_decimal_allowed": boolean, "min_value": numeric, "max_value": numeric, "initial_value": numeric,
	})
	picker := func(key string, form rule) shape {
		return shape{fields: withAction(map[string]rule{
			key: form, "placeholder": plainText(1, 150), "confirm": confirmDialog(), "focus_on_load": boolean,
		})}
	}
	clock := picker("initial_time", formed("15:04", "HH:mm"))
	clock.fields["timezone"] = length(1, 255)
	moment := picker("initial_date_time", between(1_000_000_000, 9_999_999_999)) // a UNIX timestamp of 10 digits
	delete(moment.fields, "placeholder")
	rich := maps.Clone(line)
	rich["initial_value"] = anything
	return map[string]shape{
		"plain_text_input": {fields: withAction(plain), extra: initialFits},
		"email_text_input": {fields: withAction(line)},
		"url_text_input":   {fields: withAction(line)},
		"number_input": {
			required: []string{"is_decimal_allowed"}, fields: withAction(number), extra: numbersFit,
		},
		"rich_text_input": {required: []string{"action_id"}, fields: withAction(rich)},
		"datepicker":      picker("initial_date", formed(time.DateOnly, "YYYY-MM-DD")),
		"timepicker":      clock,
		"datetimepicker":  moment,
	}
}

func selectShapes() map[string]shape {
	out := map[string]shape{}
	choice := func(kind string, required []string, fields map[string]rule) {
		all := withAction(map[string]rule{
			"placeholder": plainText(1, 150), "confirm": confirmDialog(), "focus_on_load": boolean,
		})
		maps.Copy(all, fields)
		out[kind] = shape{required: required, fields: all}
	}
	group := shape{required: []string{"label", "options"}, fields: map[string]rule{
		"label": plainText(1, 75), "options": count(1, 100, option()),
	}}.check
	static := map[string]rule{"options": count(1, 100, option()), "option_groups": count(1, 100, group)}
	one := maps.Clone(static)
	one["initial_option"] = option()
	many := maps.Clone(static)
	many["initial_options"], many["max_selected_items"] = count(1, 100, option()), between(1, 100)
	choice("static_select", nil, one)
	choice("multi_static_select", nil, many)
	for kind, s := range out {
		s.extra = func(c *checker, path string, m map[string]any) {
			needsOptions(c, path, m)
			initialAmong(c, path, m)
		}
		out[kind] = s
	}
	choice("external_select", nil, map[string]rule{"initial_option": option(), "min_query_length": between(0, 100)})
	choice("multi_external_select", nil, map[string]rule{
		"initial_options": count(1, 100, option()), "min_query_length": between(0, 100),
		"max_selected_items": between(1, 100),
	})
	for noun, letters := range map[string]string{"user": "UW", "channel": "C", "conversation": "CDGUW"} {
		extra := map[string]rule{
			"response_url_enabled": boolean, "filter": anything, "default_to_current_conversation": boolean,
		}
		single := maps.Clone(extra)
		single["initial_"+noun] = idOf(letters)
		choice(noun+"s_select", nil, single)
		multi := maps.Clone(extra)
		multi["initial_"+noun+"s"], multi["max_selected_items"] = count(1, 100, idOf(letters)), between(1, 100)
		choice("multi_"+noun+"s_select", nil, multi)
	}
	choice("radio_buttons", []string{"options"}, map[string]rule{
		"options": count(1, 10, option("mrkdwn")), "initial_option": option("mrkdwn"),
	})
	choice("checkboxes", []string{"options"}, map[string]rule{
		"options": count(1, 10, option("mrkdwn")), "initial_options": count(1, 10, option("mrkdwn")),
	})
	for _, kind := range []string{"radio_buttons", "checkboxes"} {
		s := out[kind]
		delete(s.fields, "placeholder")
		s.extra = initialAmong
		out[kind] = s
	}
	return out
}

func needsOptions(c *checker, path string, m map[string]any) {
	if (m["options"] == nil) == (m["option_groups"] == nil) {
		c.add(path, "must provide either `options` or `option_groups`")
	}
}

// withAction adds what every interactive element has.
func withAction(fields map[string]rule) map[string]rule {
	out := maps.Clone(fields)
	out["type"], out["action_id"] = anything, length(1, 255)
	return out
}

// option is one choice; "mrkdwn" allows marked-up texts, "url" a link.
func option(also ...string) rule {
	label := plainText(1, 75)
	fields := map[string]rule{"value": length(1, 75)}
	for _, a := range also {
		switch a {
		case "mrkdwn":
			label = text(1, 75)
		case "url":
			fields["url"] = webURL(3000)
		}
	}
	fields["text"], fields["description"] = label, label
	return shape{required: []string{"text", "value"}, fields: fields}.check
}

// confirmDialog asks again before an action counts. Its texts are plain ones, says
// https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object.
func confirmDialog() rule {
	return shape{required: []string{"title", "text", "confirm", "deny"}, fields: map[string]rule{
		"title": plainText(1, 100), "text": plainText(1, 300), "confirm": plainText(1, 30), "deny": plainText(1, 30),
		"style": among("primary", "danger"),
	}}.check
}
