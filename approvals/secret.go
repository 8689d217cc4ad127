package approvals

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/agent"
)

// Secret arguments are those that agent.Tool.Secret names. Their values are kept, bound into digests and given to the
// tool as all others are; people are shown a mask instead, with the length of the value. Everything that is shown or
// printed of a request goes through Request.Mask; Service.Reveal alone hands out values, and says so in the audit
// trail.

// maskMark begins every mask.
const maskMark = "•••"

// mask says of a canonical value what people may know: its type, if it is no text, and how long it is. The length of a
// truth value would tell it.
func mask(value json.RawMessage) string {
	kind := ""
	switch value[0] {
	case '"':
		var text string
		if json.Unmarshal(value, &text) == nil {
			return fmt.Sprintf("%s (%s)", maskMark, characters(utf8.RuneCountInString(text)))
		}
	case '{':
		kind = "object"
	case '[':
		kind = "array"
	case 't', 'f':
		return maskMark + " (boolean)"
	case 'n':
		return maskMark + " (null)"
	default:
		kind = "number"
	}
	return fmt.Sprintf("%s (%s, %s)", maskMark, kind, characters(utf8.RuneCount(value)))
}

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return fmt.Sprintf("%d characters", n)
}

// replaceMembers returns the canonical object with what with says in place of the values of the named members. ok is
// false for what is no object.
func replaceMembers(
	object json.RawMessage, names []string, with func(name string, value json.RawMessage) string,
) (replaced string, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return "", false
	}
	var b strings.Builder
	done := 0
	for dec.More() {
		token, err := dec.Token()
		name, isText := token.(string)
		var value json.RawMessage
		if err != nil || !isText || dec.Decode(&value) != nil || len(value) == 0 {
			return "", false
		}
		if slices.Contains(names, name) {
			end := int(dec.InputOffset())
			b.Write(object[done : end-len(value)])
			b.WriteString(with(name, value))
			done = end
		}
	}
	b.Write(object[done:])
	return b.String(), true
}

// quotedMask is a mask as a JSON text. It needs no escapes.
func quotedMask(text string) string { return `"` + text + `"` }

// maskMembers masks the named members of canonical arguments; what cannot be taken apart is masked whole.
func maskMembers(object json.RawMessage, names []string) json.RawMessage {
	if len(object) == 0 {
		return object
	}
	masked, ok := replaceMembers(object, names, func(_ string, value json.RawMessage) string {
		return quotedMask(mask(value))
	})
	if !ok {
		return json.RawMessage(quotedMask(mask(object)))
	}
	return json.RawMessage(masked)
}

// Mask returns the request as people may be shown it: r itself where nothing is secret, else a copy in which a JSON
// text such as "••• (12 characters)" stands for each value of the arguments that Secret names, and without Explanation.
// In a masked request such a text under a name of Secret is always a mask, and under any other name never one.
func (r *Request) Mask() *Request {
	if len(r.Secret) == 0 || r.Masked {
		return r
	}
	m := *r
	m.RequestHead, m.Masked, m.Explanation = *r.RequestHead.Mask(), true, nil
	for i := range m.Decisions {
		m.Decisions[i].Reason = r.ShownReason(&m.Decisions[i])
	}
	m.Arguments, m.Original = maskMembers(r.Arguments, r.Secret), r.maskOriginal()
	m.Fields = slices.Clone(r.Fields)
	for i := range m.Fields {
		if f := &m.Fields[i]; slices.Contains(r.Secret, f.Name) && len(f.Proposal) > 0 {
			f.Proposal = json.RawMessage(quotedMask(mask(f.Proposal)))
		}
	}
	return &m
}

// Mask is Request.Mask for a head: decisions hold what people have filled in.
func (r *RequestHead) Mask() *RequestHead {
	if len(r.Secret) == 0 {
		return r
	}
	m := *r
	m.Decisions = slices.Clone(r.Decisions)
	for i := range m.Decisions {
		d := &m.Decisions[i]
		d.Input, d.Arguments = maskMembers(d.Input, r.Secret), maskMembers(d.Arguments, r.Secret)
	}
	return &m
}

// maskOriginal masks what the model wrote. The mask of a value that people have changed since says so: the two may be
// of one length.
func (r *Request) maskOriginal() json.RawMessage {
	var is map[string]json.RawMessage
	if len(r.Original) == 0 || json.Unmarshal(r.Arguments, &is) != nil {
		return maskMembers(r.Original, r.Secret)
	}
	masked, ok := replaceMembers(r.Original, r.Secret, func(name string, value json.RawMessage) string {
		text := mask(value)
		if !bytes.Equal(value, is[name]) {
			text += ", changed since"
		}
		return quotedMask(text)
	})
	if !ok {
		return maskMembers(r.Original, r.Secret)
	}
	return json.RawMessage(masked)
}

// Shown returns the arguments as people read them: canonical JSON, with ••• (12 characters) for a secret value. A mask
// stands without quotes, which no JSON value does: what is a mask and what a value is never in doubt.
func (r *Request) Shown() string { return r.unquoted(r.Mask().Arguments) }

// ShownOriginal is Shown for what the model wrote, where people have changed or completed it.
func (r *Request) ShownOriginal() string { return r.unquoted(r.Mask().Original) }

// unquoted takes the quotes off the masks in a part of a masked request.
func (r *Request) unquoted(masked json.RawMessage) string {
	if len(r.Secret) == 0 || len(masked) == 0 {
		return string(masked)
	}
	text, ok := replaceMembers(masked, r.Secret, func(_ string, value json.RawMessage) string {
		return bare(value)
	})
	if !ok {
		return bare(masked)
	}
	return text
}

// bare is a masked value as people read it, without quotes.
func bare(masked json.RawMessage) string { return strings.Trim(string(masked), `"`) }

// FieldLines describe what people fill in, a line for each field.
func (r *Request) FieldLines() (lines []string) {
	for _, f := range r.Mask().Fields {
		if f.Proposal != nil && slices.Contains(r.Secret, f.Name) {
			lines = append(lines, f.describe(bare(f.Proposal)))
		} else {
			lines = append(lines, f.String())
		}
	}
	return lines
}

// ShownInput is what a person filled in with a decision about r, as people read it; empty for nothing.
func (r *RequestHead) ShownInput(d *Decision) string {
	masked, ok := replaceMembers(d.Input, r.Secret, func(_ string, value json.RawMessage) string { return mask(value) })
	if !ok && len(d.Input) > 0 {
		return mask(d.Input)
	}
	return masked
}

// ShownReason is what was said with a decision about r, as people read it: a system that has carried the call out was
// sent the secret values, and may repeat them in what it reports.
func (r *Request) ShownReason(d *Decision) string {
	if d.Via != ViaCallback {
		return d.Reason
	}
	return r.withoutSecrets(d.Reason)
}

// withoutSecrets takes the texts and numbers of secret arguments out of what somebody who was sent them has said, for
// showing it to people. What is shorter than three characters stays: it is in every sentence.
func (r *Request) withoutSecrets(text string) string {
	var has map[string]json.RawMessage
	if len(r.Secret) == 0 || json.Unmarshal(r.Arguments, &has) != nil {
		return text
	}
	var parts []string
	for _, name := range r.Secret {
		dec := json.NewDecoder(bytes.NewReader(has[name]))
		dec.UseNumber()
		for token, err := dec.Token(); err == nil; token, err = dec.Token() {
			if part := fmt.Sprint(token); len(part) >= 3 {
				parts = append(parts, part)
			}
		}
	}
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) }) // one may begin with another
	for _, part := range parts {
		text = strings.ReplaceAll(text, part, maskMark)
	}
	return text
}

// Withheld names the secret arguments that the call has, in the order of Secret: those whose values are not shown.
func (r *Request) Withheld() (names []string) {
	if len(r.Secret) == 0 {
		return nil
	}
	var has map[string]json.RawMessage
	if json.Unmarshal(r.Arguments, &has) != nil {
		return r.Secret
	}
	for _, name := range r.Secret {
		if _, ok := has[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

// secretsOf are the names of the arguments that people are not shown: those of the tool, and those that were secret
// when the same call was asked about before, where the tool is gone or has changed since.
func secretsOf(tool *agent.Tool, in agent.Interruption, earlier []*Request) []string {
	var names []string
	if tool != nil {
		names = slices.Clone(tool.Secret)
	}
	for _, r := range earlier {
		if r.Interruption != in.ID {
			continue
		}
		for _, name := range r.Secret {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
