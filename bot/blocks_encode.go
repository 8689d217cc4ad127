package bot

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/slack-go/slack"
)

// encodeBlocks returns blocks as Slack takes them: byte for byte what json.Marshal makes of them, in less than half the
// time. Cards are encoded whenever somebody answers.
func encodeBlocks(blocks []slack.Block) (json.RawMessage, error) {
	w := blockWriter{out: make([]byte, 0, 4<<10)}
	writeList(&w, blocks, w.block)
	if w.err != nil {
		return nil, fmt.Errorf("encode blocks: %w", w.err)
	}
	return w.out, nil
}

// blockWriter writes blocks as JSON. What it does not know it leaves to json.Marshal.
type blockWriter struct {
	out []byte
	err error
}

// writeList writes the elements of a list.
func writeList[T any](w *blockWriter, all []T, one func(T)) {
	if all == nil {
		w.out = append(w.out, "null"...)
		return
	}
	w.out = append(w.out, '[')
	for i, v := range all {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		one(v)
	}
	w.out = append(w.out, ']')
}

// other writes a value of a type that is not written here.
func (w *blockWriter) other(v any) {
	raw, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.out = append(w.out, raw...)
}

func (w *blockWriter) block(block slack.Block) {
	switch b := block.(type) {
	case *slack.HeaderBlock:
		w.header(b)
	case *slack.RichTextBlock:
		w.richText(b)
	case *slack.ActionBlock:
		w.actions(b)
	case *slack.ContextBlock:
		w.context(b)
	case *slack.DividerBlock:
		w.divider(b)
	default:
		w.other(block)
	}
}

func (w *blockWriter) header(b *slack.HeaderBlock) {
	w.begin("type", string(b.Type))
	if b.Text != nil {
		w.key("text")
		w.text(b.Text)
	}
	w.optional("block_id", b.BlockID)
	if b.Level != 0 {
		w.number("level", int64(b.Level))
	}
	w.end()
}

func (w *blockWriter) richText(b *slack.RichTextBlock) {
	w.begin("type", string(b.Type))
	w.optional("block_id", b.BlockID)
	w.key("elements")
	writeList(w, b.Elements, w.richElement)
	w.end()
}

func (w *blockWriter) richElement(element slack.RichTextElement) {
	switch e := element.(type) {
	case *slack.RichTextSection:
		w.begin("type", string(e.Type))
		w.key("elements")
		writeList(w, e.Elements, w.span)
	case *slack.RichTextQuote:
		w.begin("type", string(e.Type))
		w.key("elements")
		writeList(w, e.Elements, w.span)
		if e.Border != 0 {
			w.number("border", int64(e.Border))
		}
	case *slack.RichTextPreformatted:
		w.begin("type", string(e.Type))
		w.key("elements")
		writeList(w, e.Elements, w.span)
		w.number("border", int64(e.Border))
		w.optional("language", e.Language)
	default:
		w.other(element)
		return
	}
	w.end()
}

// span writes a part of a line.
func (w *blockWriter) span(element slack.RichTextSectionElement) {
	switch e := element.(type) {
	case *slack.RichTextSectionTextElement:
		w.begin("type", string(e.Type))
		w.value("text", e.Text)
		w.style(e.Style)
	case *slack.RichTextSectionUserElement:
		if e.FromLLM != nil {
			w.other(element)
			return
		}
		w.begin("type", string(e.Type))
		w.value("user_id", e.UserID)
		w.style(e.Style)
	case *slack.RichTextSectionDateElement:
		w.begin("type", string(e.Type))
		w.number("timestamp", int64(e.Timestamp))
		w.value("format", e.Format)
		w.optional("timezone", e.Timezone)
		w.pointer("url", e.URL)
		w.pointer("fallback", e.Fallback)
		w.style(e.Style)
	default:
		w.other(element)
		return
	}
	w.end()
}

func (w *blockWriter) style(s *slack.RichTextSectionTextStyle) {
	if s == nil {
		return
	}
	w.key("style")
	w.out = append(w.out, '{')
	for _, of := range [...]struct {
		name string
		on   bool
	}{
		{"bold", s.Bold}, {"italic", s.Italic}, {"strike", s.Strike}, {"code", s.Code}, {"underline", s.Underline},
		{"highlight", s.Highlight}, {"client_highlight", s.ClientHighlight}, {"unlink", s.Unlink},
	} {
		if of.on {
			w.key(of.name)
			w.out = append(w.out, "true"...)
		}
	}
	w.end()
}

func (w *blockWriter) actions(b *slack.ActionBlock) {
	if b.Elements == nil {
		w.other(b)
		return
	}
	w.begin("type", string(b.Type))
	w.optional("block_id", b.BlockID)
	w.key("elements")
	writeList(w, b.Elements.ElementSet, w.element)
	w.end()
}

func (w *blockWriter) element(element slack.BlockElement) {
	switch e := element.(type) {
	case *slack.ButtonBlockElement:
		if e.Type == "" || len(e.VisibleToUserIDs) > 0 {
			w.other(element)
			return
		}
		w.begin("type", string(e.Type))
		w.key("text")
		w.text(e.Text)
		w.optional("action_id", e.ActionID)
		w.optional("url", e.URL)
		w.optional("value", e.Value)
		w.confirm(e.Confirm)
		w.optional("style", string(e.Style))
		w.optional("accessibility_label", e.AccessibilityLabel)
		w.optional("agent_prompt", e.AgentPrompt)
		w.optional("agent_prompt_display", e.AgentPromptDisplay)
	case *slack.OverflowBlockElement:
		w.begin("type", string(e.Type))
		w.optional("action_id", e.ActionID)
		w.key("options")
		writeList(w, e.Options, w.option)
		w.confirm(e.Confirm)
	default:
		w.other(element)
		return
	}
	w.end()
}

func (w *blockWriter) option(o *slack.OptionBlockObject) {
	w.out = append(w.out, '{')
	w.key("text")
	w.text(o.Text)
	w.value("value", o.Value)
	if o.Description != nil {
		w.key("description")
		w.text(o.Description)
	}
	w.optional("url", o.URL)
	w.end()
}

func (w *blockWriter) confirm(c *slack.ConfirmationBlockObject) {
	if c == nil {
		return
	}
	w.key("confirm")
	w.out = append(w.out, '{')
	w.key("title")
	w.text(c.Title)
	w.key("text")
	w.text(c.Text)
	w.key("confirm")
	w.text(c.Confirm)
	if c.Deny != nil {
		w.key("deny")
		w.text(c.Deny)
	}
	w.optional("style", string(c.Style))
	w.end()
}

func (w *blockWriter) context(b *slack.ContextBlock) {
	w.begin("type", string(b.Type))
	w.optional("block_id", b.BlockID)
	w.key("elements")
	writeList(w, b.ContextElements.Elements, func(element slack.MixedElement) {
		if e, ok := element.(*slack.TextBlockObject); ok {
			w.text(e)
			return
		}
		w.other(element)
	})
	w.end()
}

func (w *blockWriter) divider(b *slack.DividerBlock) {
	w.begin("type", string(b.Type))
	w.optional("block_id", b.BlockID)
	w.end()
}

func (w *blockWriter) text(t *slack.TextBlockObject) {
	if t == nil {
		w.out = append(w.out, "null"...)
		return
	}
	w.begin("type", t.Type)
	w.value("text", t.Text)
	if t.Emoji != nil {
		w.key("emoji")
		w.out = strconv.AppendBool(w.out, *t.Emoji)
	}
	if t.Verbatim {
		w.key("verbatim")
		w.out = append(w.out, "true"...)
	}
	w.end()
}

// begin opens an object and writes its first member.
func (w *blockWriter) begin(name, value string) {
	w.out = append(w.out, '{')
	w.value(name, value)
}

func (w *blockWriter) end() { w.out = append(w.out, '}') }

// key begins a member of the object that is open.
func (w *blockWriter) key(name string) {
	if w.out[len(w.out)-1] != '{' {
		w.out = append(w.out, ',')
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, name...)
	w.out = append(w.out, '"', ':')
}

func (w *blockWriter) value(name, s string) {
	w.key(name)
	w.string(s)
}

// optional writes a member unless it is empty.
func (w *blockWriter) optional(name, s string) {
	if s != "" {
		w.value(name, s)
	}
}

func (w *blockWriter) pointer(name string, s *string) {
	if s != nil {
		w.value(name, *s)
	}
}

func (w *blockWriter) number(name string, n int64) {
	w.key(name)
	w.out = strconv.AppendInt(w.out, n, 10)
}

func (w *blockWriter) bool(name string, b bool) {
	w.key(name)
	w.out = strconv.AppendBool(w.out, b)
}

// string writes a string as json.Marshal does, to which it leaves what is rare.
func (w *blockWriter) string(s string) {
	const hex = "0123456789abcdef"
	before := len(w.out)
	w.out = append(w.out, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
				w.out = w.out[:before]
				w.other(s)
				return
			}
			i += size - 1
			continue
		}
		if !escaped[c] {
			continue
		}
		w.out = append(w.out, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			w.out = append(w.out, '\\', c)
		case '\n':
			w.out = append(w.out, '\\', 'n')
		case '\t':
			w.out = append(w.out, '\\', 't')
		case '\r':
			w.out = append(w.out, '\\', 'r')
		case '\b':
			w.out = append(w.out, '\\', 'b')
		case '\f':
			w.out = append(w.out, '\\', 'f')
		default:
			w.out = append(w.out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	w.out = append(w.out, s[start:]...)
	w.out = append(w.out, '"')
}

// escaped has the ASCII characters that json.Marshal escapes, also those that mean something in HTML.
var escaped = func() (set [utf8.RuneSelf]bool) {
	for c := range ' ' {
		set[c] = true
	}
	for _, c := range []byte(`"\<>&`) {
		set[c] = true
	}
	return set
}()
