package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"countersign/agent"
)

// InputField is a part of a call's arguments that people fill in or confirm.
type InputField struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"` // string, number, integer, boolean, array or object; empty: any
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	// Enum lists the texts that the field may have, when it may have no others.
	Enum   []string        `json:"enum,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"` // its JSON Schema as the tool has it
	// Proposal is what the model wrote, canonical; nil where it wrote nothing.
	Proposal json.RawMessage `json:"proposal,omitempty"`
	// Secret says that the proposal is the value of a secret argument; see Request.Mask.
	Secret bool `json:"secret,omitempty"`
}

// String describes the field on one line: its name, what may be filled in, and what the model proposes. Of a secret
// value it says only that there is one; Request.FieldLines says how long it is.
func (f InputField) String() string {
	if f.Secret && f.Proposal != nil {
		return f.describe(maskMark)
	}
	return f.describe(string(f.Proposal))
}

// describe is String with the proposal in these words; empty: there is none.
func (f InputField) describe(proposal string) string {
	kind := f.Type
	if kind == "" {
		kind = wordsAnyValue
	}
	if len(f.Enum) > 0 {
		kind = wordsOneOf(quoted(f.Enum))
	}
	text := f.Name + " (" + kind
	if f.Required {
		text += wordsFieldRequired
	}
	text += ")"
	if f.Description != "" {
		text += ": " + f.Description
	}
	if proposal != "" {
		text += wordsFieldsProposal + proposal
	}
	return text
}

func quoted(texts []string) string {
	var all []string
	for _, text := range texts {
		all = append(all, quote(text))
	}
	return strings.Join(all, ", ")
}

// inputFields are the fields of a question as a request holds them.
func inputFields(asked []agent.Field, secret []string) (fields []InputField) {
	for _, f := range asked {
		fields = append(fields, InputField{
			Name: f.Name, Type: f.Type, Description: f.Description, Required: f.Required, Enum: f.Enum,
			Schema: compact(f.Schema), Proposal: f.Proposal, Secret: slices.Contains(secret, f.Name),
		})
	}
	return fields
}

// filledIn returns the values of the input as the completed arguments have them, which are canonical. It refuses to
// leave a field empty that the tool requires: what a schema lets through as an empty text, nobody has filled in.
func filledIn(fields []InputField, input, completed json.RawMessage) (json.RawMessage, error) {
	var given, have map[string]json.RawMessage
	if json.Unmarshal(input, &given) != nil || json.Unmarshal(completed, &have) != nil {
		return nil, refuse(ErrInvalid, wordsInputNoObject)
	}
	for _, f := range fields {
		if f.Required && f.empty(have[f.Name]) {
			return nil, RuleField.refuse(ErrInvalid, f.Name, wordsMustBeFilledIn(f.Name))
		}
	}
	for name := range given {
		given[name] = have[name]
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(given); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// empty reports whether a value says nothing. An empty text does where the enum has it.
func (f *InputField) empty(value json.RawMessage) bool {
	if value == nil {
		return true
	}
	var text string
	return json.Unmarshal(value, &text) == nil && value[0] == '"' && strings.TrimSpace(text) == "" &&
		!slices.Contains(f.Enum, text)
}

// sameInput reports whether two inputs hold the same values.
func sameInput(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// mayFillIn asks the policy about the completed call: whoever completes it must be somebody who could decide about it,
// and filling in approves nothing of one's own. r is what asks for the values. Whether the gate asks people next is not
// known here.
func (g *gatherer) mayFillIn(ctx context.Context, r, completed *Request, v voter, now time.Time) error {
	completed.Kind = agent.Confirm
	q, err := g.requirement(ctx, completed)
	if err != nil {
		return err
	}
	g.rights(ctx, []UserID{v.by}, &q)
	if err := g.mayAnswer(r.terms(&q, now), v); err != nil {
		return fmt.Errorf("with these values: %w", err)
	}
	return nil
}

// completed returns the request whose answer completed the call of the effect, or nil.
func (x *execution) completed(e *agent.Effect) *Request {
	for _, r := range slices.Backward(x.requests) {
		if r.Kind == agent.FieldsRequired && r.Interruption == e.Interruption && r.Status == RequestApproved {
			return r
		}
	}
	return nil
}

// fillers are the people who stand behind the values with which the request was answered.
func (r *RequestHead) fillers() []UserID {
	if d := r.Settler(); d != nil && d.Verdict == ProvideInput {
		return d.voter().people()
	}
	return nil
}

// completion has the answer that completed the call allow it, where its gate asks nobody: what runs is what that answer
// was bound to. It lets the call start, so it lasts no longer than an approval, and not into a freeze.
func (p *permit) completion(ctx context.Context) {
	r := p.x.completed(&p.effect)
	if r == nil || p.denied != nil {
		return
	}
	p.authority.Request = r.ID
	d := r.Settler()
	if d == nil || !sameDigest(d.Bound, p.effect.Digest) {
		p.denied = fmt.Errorf("%w: request %s filled in another call", agent.ErrStale, r.ID)
		return
	}
	g := newGatherer(p.x.directory, p.x.policy, r.conversation(), time.Now()).asOf(p.x.clock.now())
	asked := p.question()
	asked.Editors = r.fillers()
	now, err := g.requirement(ctx, asked)
	if err != nil {
		p.denied = fmt.Errorf("%w: %w", agent.ErrStale, err)
		return
	}
	p.filler, p.filled, p.facts = d.voter(), &now, &g.facts
	for _, q := range r.demands(&now) {
		g.exceptions(ctx, q, p.filler.principal())
	}
}

// notCompleted records with the request that filled in a call, that the call is not run: r, which asked whether it may,
// has ended so.
func (c *txn) notCompleted(r *RequestHead) error {
	for id := r.Supersedes; id != ""; {
		o, err := c.request(id)
		if err != nil {
			return err
		}
		if o.Kind == agent.FieldsRequired && o.Status == RequestApproved {
			return c.neverRun(o, wordsCompletedUnapproved)
		}
		id = o.Supersedes
	}
	return nil
}
