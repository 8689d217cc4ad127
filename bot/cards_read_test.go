package bot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/agent/rawtool"
	"countersign/approvals"
	"countersign/internal/visible"
)

// readCard reads the arguments back from what stands on a card: the proof that different arguments look different.
func readCard(t interface{ Fatalf(string, ...any) }, r *approvals.Request, blocks []seenBlock) string {
	names := map[string]bool{"arguments": true}
	all, _ := membersOf(r.Arguments)
	for _, m := range all {
		names[m.name] = true
	}
	values := map[string]json.RawMessage{}
	boxed, note, box := "", "", ""
	flush := func() {
		if boxed != "" {
			values[boxed] = readBox(t, note, box)
		}
		boxed, box = "", ""
	}
	for _, block := range blocks {
		elements, _ := block["elements"].([]any)
		for _, element := range elements {
			e := element.(map[string]any)
			parts, _ := e["elements"].([]any)
			if e["type"] == "rich_text_preformatted" {
				box += parts[0].(map[string]any)["text"].(string)
				continue
			}
			flush()
			texts := make([]string, len(parts))
			for i, p := range parts {
				texts[i], _ = p.(map[string]any)["text"].(string)
			}
			for i, p := range parts {
				style, _ := p.(map[string]any)["style"].(map[string]any)
				switch {
				case style["bold"] != true || !names[texts[i]] || i+1 >= len(texts):
				case texts[i+1] == "  " && i+2 < len(texts):
					if _, twice := values[texts[i]]; !twice {
						values[texts[i]] = readRow(t, texts[i+2])
					}
				case i == 0 && strings.HasPrefix(texts[i+1], " ("):
					boxed, note = texts[i], texts[i+1]
				}
			}
		}
	}
	flush()
	if whole, ok := values["arguments"]; ok && len(values) == 1 {
		var b bytes.Buffer
		if json.Compact(&b, whole) == nil {
			return b.String()
		}
	}
	raw, err := json.Marshal(values)
	if err != nil {
		t.Fatalf("%v", err)
	}
	canonical, err := rawtool.Canonical(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return string(canonical)
}

func readRow(t interface{ Fatalf(string, ...any) }, text string) json.RawMessage {
	text = unvisible(t, text)
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	raw, _ := json.Marshal(text)
	return raw
}

func readBox(t interface{ Fatalf(string, ...any) }, note, text string) json.RawMessage {
	text = unvisible(t, strings.ReplaceAll(text, visible.Tab, "\t"))
	switch {
	case strings.Contains(note, "characters of JSON"):
		return json.RawMessage(text)
	case strings.Contains(note, "one to a number"):
		var list []string
		for line := range strings.SplitSeq(text, "\n") {
			number := fmt.Sprint(len(list)+1) + " "
			if rest, ok := strings.CutPrefix(line, number); ok {
				list = append(list, rest)
			} else {
				list[len(list)-1] += "\n" + strings.TrimPrefix(line, strings.Repeat(" ", len(fmt.Sprint(len(list)))+1))
			}
		}
		raw, _ := json.Marshal(list)
		return raw
	case strings.Contains(note, "with a line break at the end"):
		text += "\n"
	}
	raw, _ := json.Marshal(text)
	return raw
}

// cardShowsAll fails unless all that a decision is bound to can be read back from a card, or stands on it by its name.
func cardShowsAll(t interface{ Fatalf(string, ...any) }, r *approvals.Request, blocks []seenBlock) {
	want, err := rawtool.Canonical(r.Arguments)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if got := readCard(t, r, blocks); got != string(want) {
		t.Fatalf("the arguments read back as\n%q, and are\n%q", got, want)
	}
	var all strings.Builder
	var walk func(v any)
	walk = func(v any) { // in order
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if text, ok := v["text"].(string); ok {
				all.WriteString(text)
			}
			if inner, is := v["elements"]; is {
				walk(inner)
				all.WriteByte('\n') // what stands in different paragraphs is one text for nobody
			}
		}
	}
	for _, b := range blocks {
		walk(b["elements"])
	}
	shown := unvisible(t, strings.ReplaceAll(all.String(), `\u{…}`, ""))
	where, claims := boundTo(r.Tool)
	if r.Tool.Kind == agent.KindHTTP { // the names of headers are in the details
		where.lines = where.lines[:min(1, len(where.lines))]
	}
	parts := append(append([]string{}, where.lines...), claims.lines...)
	for _, fact := range r.Facts {
		parts = append(parts, factWords(fact))
	}
	for _, part := range parts {
		if !strings.Contains(shown, part) {
			t.Fatalf("the card does not show %q", part)
		}
	}
}

// TestDifferentArgumentsLookDifferent reads back what stands on cards for values that could be taken for others.
func TestDifferentArgumentsLookDifferent(t *testing.T) {
	t.Parallel()
	tricky := rapid.SampledFrom([]any{
		"250", 250, "", " ", "true", true, nil, "null", `"x"`, "[1]", []int{1}, "{}", map[string]any{}, "a\nb", "a\n",
		"a",
		"a ", " a", "a  b", "to  Acme", "x\namount  1", "-1", -1, 1e21, "1e21", "•••", "••• (3 characters)",
		"\t", "⇥", "ˑ",
		"а", "a", "א 1", strings.Repeat("long ", 40), strings.Repeat("long ", 40) + "\n", `\u{41}`, "A", "[", "\"",
		map[string]any{"a": []any{"b", map[string]any{"c": "d\ne"}}}, []any{"one", "two"},
	})
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"amount", "to", "memo", "a", "script", "patch", "x y", "arguments", "",
		}), 0, 5, rapid.ID[string]).Draw(t, "names")
		args := map[string]any{}
		for _, name := range names {
			if rapid.Bool().Draw(t, "hostile") {
				args[name] = hostile().Draw(t, "text")
			} else {
				args[name] = tricky.Draw(t, "value")
			}
		}
		kind := rapid.SampledFrom(everyKind).Draw(t, "kind")
		r := of(approvals.ToolSnapshot{Name: "t", Kind: kind}, args)
		if rapid.Bool().Draw(t, "ordered") {
			r.Order = names
		}
		c := newCard(r)
		if !c.whole {
			return
		}
		if _, odd := args["arguments"]; odd && len(args) == 1 { // a name that the whole has where it is no row
			return
		}
		cardShowsAll(t, r, decoded(t, c.blocks))
	})
	for _, kind := range []agent.ToolKind{agent.KindShell} {
		r := of(approvals.ToolSnapshot{Name: "t", Kind: kind}, map[string]any{
			"argv": []string{"git", "commit", "-m", "one\n5 two", "  x"},
		})
		cardShowsAll(t, r, decoded(t, newCard(r).blocks))
	}
}
