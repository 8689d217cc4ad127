package bot

import (
	"encoding/json"
	"reflect"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	"pgregory.net/rapid"
)

// written are the types that blockWriter writes itself, by where they stand.
var written = struct {
	blocks, rich, spans, elements []any
}{
	blocks: []any{
		&slack.HeaderBlock{}, &slack.RichTextBlock{}, &slack.ActionBlock{}, &slack.ContextBlock{},
		&slack.DividerBlock{}, &slack.SectionBlock{},
	},
	rich: []any{
		&slack.RichTextSection{}, &slack.RichTextQuote{}, &slack.RichTextPreformatted{}, &slack.RichTextList{},
	},
	spans: []any{
		&slack.RichTextSectionTextElement{}, &slack.RichTextSectionUserElement{}, &slack.RichTextSectionDateElement{},
		&slack.RichTextSectionLinkElement{}, &slack.RichTextSectionChannelElement{},
	},
	elements: []any{
		&slack.ButtonBlockElement{}, &slack.OverflowBlockElement{}, &slack.DatePickerBlockElement{},
	},
}

// fill sets every field that v has, also those that later versions of the library add, to something or leaves it empty.
func fill(t *rapid.T, v reflect.Value, depth int) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "plain", "a \"b\" \\ <c> & d\n\t\r\b\f\x00\x7f", "caf\u00e9 \u2026 \u2028\u2029", "\xff", "a\xed\xa0\x80b",
	}))
	switch v.Kind() {
	case reflect.String:
		v.SetString(text.Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(rapid.IntRange(-1, 2).Draw(t, "number")))
	case reflect.Pointer:
		if depth > 0 && rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i), depth)
			}
		}
	case reflect.Slice:
		if rapid.IntRange(0, 4).Draw(t, "none") == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 0, 2))
		for range rapid.IntRange(0, 2).Draw(t, "elements") {
			e := reflect.New(v.Type().Elem()).Elem()
			if fill(t, e, depth); e.Kind() != reflect.Interface && e.Kind() != reflect.Pointer || !e.IsNil() {
				v.Set(reflect.Append(v, e))
			}
		}
	case reflect.Interface:
		var of []any
		switch v.Type() {
		case reflect.TypeFor[slack.Block]():
			of = written.blocks
		case reflect.TypeFor[slack.RichTextElement]():
			of = written.rich
		case reflect.TypeFor[slack.RichTextSectionElement]():
			of = written.spans
		case reflect.TypeFor[slack.BlockElement]():
			of = written.elements
		case reflect.TypeFor[slack.MixedElement]():
			of = []any{&slack.TextBlockObject{}, &slack.ImageBlockElement{}}
		}
		if len(of) > 0 && depth > 0 {
			v.Set(reflect.New(reflect.TypeOf(rapid.SampledFrom(of).Draw(t, "type")).Elem()))
			fill(t, v.Elem().Elem(), depth-1)
		}
	}
}

// What is written by hand is what the library's own encoding is, field by field.
func TestEncodeBlocks(t *testing.T) {
	t.Parallel()
	try := func(of any, within func(any) slack.Block) {
		name := reflect.TypeOf(of).Elem().Name()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				v := reflect.New(reflect.TypeOf(of).Elem())
				fill(t, v.Elem(), 6)
				blocks := []slack.Block{within(v.Interface())}
				want, wantErr := json.Marshal(blocks)
				got, err := encodeBlocks(blocks)
				if (err == nil) != (wantErr == nil) {
					t.Fatalf("error %v instead of %v", err, wantErr)
				}
				if diff := gocmp.Diff(string(want), string(got)); err == nil && diff != "" {
					t.Error(diff)
				}
			})
		})
	}
	for _, of := range written.blocks {
		try(of, func(v any) slack.Block { return v.(slack.Block) })
	}
	for _, of := range written.rich {
		try(of, func(v any) slack.Block { return slack.NewRichTextBlock("b", v.(slack.RichTextElement)) })
	}
	for _, of := range written.spans {
		try(of, func(v any) slack.Block {
			return slack.NewRichTextBlock("", slack.NewRichTextSection(v.(slack.RichTextSectionElement)))
		})
	}
	for _, of := range written.elements {
		try(of, func(v any) slack.Block { return slack.NewActionBlock("b", v.(slack.BlockElement)) })
	}
	for _, blocks := range [][]slack.Block{nil, {}, {slack.NewDividerBlock(), slack.NewDividerBlock()}} {
		want, _ := json.Marshal(blocks)
		if got, err := encodeBlocks(blocks); err != nil || string(got) != string(want) {
			t.Errorf("got %s, %v instead of %s", got, err, want)
		}
	}
}

func TestEncodeBlocksFails(t *testing.T) {
	t.Parallel()
	bad := slack.NewRichTextBlock("", &slack.RichTextUnknown{Raw: "{"})
	if raw, err := encodeBlocks([]slack.Block{bad}); err == nil {
		t.Errorf("blocks that are no JSON were encoded: %s", raw)
	}
}

func BenchmarkEncodeBlocks(b *testing.B) {
	blocks := newCard(transfer(`{"amount":250,"to":"Acme Ltd"}`)).blocks
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			_, _ = encodeBlocks(blocks)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		for b.Loop() {
			_, _ = json.Marshal(blocks)
		}
	})
}
