package approvals

import (
	"context"
	"encoding/json"
	"fmt"
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
}

// inputFields are the fields of a question as a request holds them.
func inputFields(asked []agent.Field) (fields []InputField) {
	for _, f := range asked {
		fields = append(fields, InputField{
			Name: f.Name, Type: f.Type, Description: f.Description, Required: f.Required, Enum: f.Enum, Schema: f.Schema,
			Proposal: f.Proposal,
		})
	}
	return fields
}

// mayFillIn asks the policy about the completed call: whoever completes it must be somebody who could decide about it.
// That its gate may ask next, and whom, is not decided here.
func (g *gatherer) mayFillIn(ctx context.Context, completed *Request, by UserID, now time.Time) error {
	completed.Kind = agent.Confirm
	q, err := requirement(ctx, g.policy, completed)
	if err != nil {
		return err
	}
	g.right(ctx, by, &q)
	f := g.about(&completed.RequestHead)
	f.at.others = nil // filling in is not approving one's own words
	if err := f.mayAnswer(&q, by, now); err != nil {
		return fmt.Errorf("with these values: %w", err)
	}
	return nil
}
