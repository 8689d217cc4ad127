package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/agent"
)

// What people are shown of a request beside the call itself is found out when it is asked, so that a card says the same
// whatever becomes of the tool: a headline, the requester's words, the names of the arguments in the order of the
// schema, the schema, and the call of the tool that was approved before. Nothing is bound to it.

// The bounds of what is kept for showing.
const (
	maxWords    = 200      // characters of what the requester wrote
	maxHeadline = 300      // characters of a headline
	maxBecause  = 1000     // characters of why the tool's gate asks
	maxSchema   = 16 << 10 // bytes of a schema
	maxOrder    = 64       // names of arguments
)

// Likeness is the call of the same tool that people approved last in the run, and how the one that is asked about
// differs from it.
type Likeness struct {
	Request RequestID `json:"request"`
	By      UserID    `json:"by"`
	At      time.Time `json:"at"`
	// Differs are the names of the arguments that are others now, in the order of the schema; empty: none is.
	Differs []string `json:"differs,omitempty"`
}

// present fills in what people are shown of r, which asks about the call for the first time. words is what the
// requester wrote, earlier are the requests of the run.
func (r *Request) present(
	ctx context.Context, tool *agent.Tool, call *agent.ToolCall, words string, earlier []*Request,
) {
	r.Words = ownWords(r.withoutSecrets(words))
	if tool != nil {
		r.Order = propertyOrder(tool.Parameters)
		if len(tool.Parameters) <= maxSchema {
			r.Schema = compact(tool.Parameters)
		}
	}
	r.retitle(tool, call)
	r.Because = whyAsked(ctx, tool, call)
	if r.Kind == agent.Confirm && r.Original == nil {
		r.Like = r.likeness(earlier)
	}
}

// compact returns raw JSON as a record holds it, without white space between its parts, whoever wrote it.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// whyAsked asks the tool why its gate asks. One that panics says nothing.
func whyAsked(ctx context.Context, tool *agent.Tool, call *agent.ToolCall) (words string) {
	if tool == nil || tool.Because == nil || tool.NeedsApproval == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			words = ""
		}
	}()
	own := *call
	own.Arguments = bytes.Clone(call.Arguments)
	return shortened(tool.Because(ctx, &own), maxBecause)
}

// retitle asks the tool for the headline of the call. It is not given secret values; one that panics has none.
func (r *Request) retitle(tool *agent.Tool, call *agent.ToolCall) {
	r.Headline = ""
	if tool == nil || tool.Headline == nil {
		return
	}
	defer func() {
		if recover() != nil {
			r.Headline = ""
		}
	}()
	own := *call
	own.Arguments = bytes.Clone(r.Mask().Arguments)
	r.Headline = shortened(tool.Headline(&own), maxHeadline)
}

// ownWords is what somebody wrote, on one line and cut.
func ownWords(words string) string {
	words = strings.Join(strings.Fields(words), " ")
	n := utf8.RuneCountInString(words)
	if n <= maxWords {
		return words
	}
	return string([]rune(words)[:maxWords]) + "… (" + characters(n) + ")"
}

// propertyOrder returns the names of a schema's properties in its order, the first of them where there are many.
func propertyOrder(schema json.RawMessage) (names []string) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil || len(s.Properties) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(s.Properties))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil
	}
	for dec.More() && len(names) < maxOrder {
		name, err := dec.Token()
		text, ok := name.(string)
		var skipped json.RawMessage
		if err != nil || !ok || dec.Decode(&skipped) != nil {
			return names
		}
		names = append(names, text)
	}
	return names
}

// likeness returns the call of the tool by the agent that was approved last and ran, or is to.
func (r *Request) likeness(earlier []*Request) *Likeness {
	var last *Request
	for _, o := range earlier {
		s := o.Settler()
		if s == nil || !o.about(r.Agent, r.Tool.Name, r.Definition) || o.Status != RequestApproved {
			continue
		}
		if last == nil || o.Settled.After(last.Settled) {
			last = o
		}
	}
	if last == nil {
		return nil
	}
	var was, is map[string]json.RawMessage
	if json.Unmarshal(last.Arguments, &was) != nil || json.Unmarshal(r.Arguments, &is) != nil {
		return nil
	}
	l := &Likeness{Request: last.ID, By: last.Settler().By, At: last.Settled}
	names := slices.Collect(maps.Keys(was))
	for name := range is {
		if _, both := was[name]; !both {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, r.byOrder)
	for _, name := range names {
		if !bytes.Equal(was[name], is[name]) {
			l.Differs = append(l.Differs, name)
		}
	}
	return l
}

// byOrder compares names of arguments by the order of the schema; those that it does not have come last, by name.
func (r *Request) byOrder(a, b string) int {
	at := func(name string) int {
		if i := slices.Index(r.Order, name); i >= 0 {
			return i
		}
		return len(r.Order)
	}
	if n := at(a) - at(b); n != 0 {
		return n
	}
	return strings.Compare(a, b)
}
