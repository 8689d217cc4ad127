package openaidev

import (
	"encoding/json"
	"strings"
)

// event is one server-sent event.
type event map[string]any

// events lists what a stream carries for a response, in order and numbered.
func events(res *response) []event {
	started := *res
	started.Status, started.Output = "in_progress", []any{}
	started.Usage, started.Error, started.IncompleteDetails = nil, nil, nil
	list := []event{
		{"type": "response.created", "response": started},
		{"type": "response.in_progress", "response": started},
	}
	for i, it := range res.Output {
		list = append(list, itemEvents(i, it)...)
	}
	list = append(list, event{"type": "response." + res.Status, "response": res})
	for i, e := range list {
		e["sequence_number"] = i
	}
	return list
}

func itemEvents(i int, it any) []event {
	var inner []event
	started := it
	switch it := it.(type) {
	case messageItem:
		inner = messageEvents(i, it)
		it.Status, it.Content = "in_progress", []contentPart{}
		started = it
	case callItem:
		inner = callEvents(i, it)
		it.Status, it.Arguments = "in_progress", ""
		started = it
	case customItem:
		inner = inputEvents(i, it)
		it.Status, it.Input = "in_progress", ""
		started = it
	case mcpListItem:
		inner = hostedEvents(i, it.ID, it.Type)
		it.Tools = []mcpListTool{}
		started = it
	case mcpCallItem:
		inner = hostedEvents(i, it.ID, it.Type)
		it.Status, it.Output = "in_progress", nil
		started = it
	case reasoningItem:
		inner = reasoningEvents(i, it)
		it.Summary = []summaryPart{}
		started = it
	}
	list := []event{{"type": "response.output_item.added", "output_index": i, "item": started}}
	list = append(list, inner...)
	return append(list, event{"type": "response.output_item.done", "output_index": i, "item": it})
}

func messageEvents(i int, it messageItem) []event {
	p := it.Content[0]
	kind, text, name := "response.output_text", p.Text, "text"
	empty := contentPart{Type: p.Type, Annotations: p.Annotations, Logprobs: p.Logprobs}
	if p.Type == "refusal" {
		kind, text, name = "response.refusal", p.Refusal, "refusal"
	}
	at := func(e event) event {
		e["item_id"], e["output_index"], e["content_index"] = it.ID, i, 0
		return e
	}
	list := []event{at(event{"type": "response.content_part.added", "part": empty})}
	for _, piece := range pieces(text) {
		list = append(list, at(event{"type": kind + ".delta", "delta": piece}))
	}
	return append(list,
		at(event{"type": kind + ".done", name: text}),
		at(event{"type": "response.content_part.done", "part": p}))
}

func callEvents(i int, it callItem) []event {
	var list []event
	for _, piece := range pieces(it.Arguments) {
		list = append(list, event{
			"type": "response.function_call_arguments.delta", "item_id": it.ID, "output_index": i, "delta": piece,
		})
	}
	return append(list, event{
		"type": "response.function_call_arguments.done", "item_id": it.ID, "output_index": i, "name": it.Name,
		"arguments": it.Arguments,
	})
}

func inputEvents(i int, it customItem) []event {
	var list []event
	for _, piece := range pieces(it.Input) {
		list = append(list, event{
			"type": "response.custom_tool_call_input.delta", "item_id": it.ID, "output_index": i, "delta": piece,
		})
	}
	return append(list, event{
		"type": "response.custom_tool_call_input.done", "item_id": it.ID, "output_index": i, "input": it.Input,
	})
}

// hostedEvents are those of what the server does itself.
func hostedEvents(i int, id, kind string) []event {
	return []event{
		{"type": "response." + kind + ".in_progress", "item_id": id, "output_index": i},
		{"type": "response." + kind + ".completed", "item_id": id, "output_index": i},
	}
}

func reasoningEvents(i int, it reasoningItem) []event {
	text := it.Summary[0].Text
	at := func(e event) event {
		e["item_id"], e["output_index"], e["summary_index"] = it.ID, i, 0
		return e
	}
	list := []event{at(event{"type": "response.reasoning_summary_part.added", "part": summaryPart{"summary_text", ""}})}
	for _, piece := range pieces(text) {
		list = append(list, at(event{"type": "response.reasoning_summary_text.delta", "delta": piece}))
	}
	return append(list,
		at(event{"type": "response.reasoning_summary_text.done", "text": text}),
		at(event{"type": "response.reasoning_summary_part.done", "part": summaryPart{"summary_text", text}}))
}

// pieces cuts a text after each space, as a model streams it.
func pieces(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// frame writes the event as it goes over the wire.
func (e event) frame() ([]byte, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(data)+64)
	out = append(out, "event: "...)
	out = append(out, e["type"].(string)...)
	out = append(out, "\ndata: "...)
	out = append(out, data...)
	return append(out, "\n\n"...), nil
}
