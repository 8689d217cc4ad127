package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"countersign/agent/internal/shape"
)

// NewTool returns a function tool whose schema and validation come from the type In, which must be a struct.
//
// Properties are the struct's fields as encoding/json sees them. The tag doc:"…" describes a property to the model,
// enum:"a,b" lists the values a string may have. A pointer, omitempty or omitzero makes a property nullable: the schema
// still requires it, as providers' strict modes demand, and a call may say null or leave it out. Structs are closed:
// unknown properties are refused. Maps, any and types with their own UnmarshalJSON are allowed but make the schema one
// that strict modes do not take. What cannot be described (channels, functions, complex numbers, recursive types,
// time.Duration, …) makes a tool that every runner refuses with ErrConfig, naming the field.
//
// The function gets arguments that are valid under the schema. Its result is the output: a string as it is, a
// ToolOutput as it is, anything else as JSON. The caller may set further fields of the returned Tool, such as
// NeedsApproval. A tool made with a nil function has schema and validation and no Invoke: unless the caller sets that
// or External, every runner refuses it with ErrConfig.
func NewTool[In, Out any](name, description string, fn func(context.Context, In) (Out, error)) Tool {
	t := Tool{Name: name, Description: description, Kind: KindFunction}
	accepted, err := shape.Of(reflect.TypeFor[In]())
	if err != nil {
		t.err = err
		return t
	}
	t.Parameters = accepted.Schema()
	t.Validate = func(arguments json.RawMessage) error { return fits[In](accepted, arguments) }
	if fn == nil {
		return t
	}
	t.Invoke = func(ctx context.Context, call *ToolCall) (ToolOutput, error) {
		var in In
		if err := json.Unmarshal(call.Arguments, &in); err != nil {
			return ToolOutput{}, fmt.Errorf("arguments do not fit: %w", err)
		}
		out, err := fn(ctx, in)
		if err != nil {
			return ToolOutput{}, err
		}
		return outputOf(out), nil
	}
	return t
}

// fits checks arguments against the shape, and then by really decoding them, so that types that decode themselves
// have their say as well.
func fits[In any](s *shape.Shape, arguments json.RawMessage) error {
	if err := s.Check(arguments); err != nil {
		return err
	}
	var in In
	if err := json.Unmarshal(arguments, &in); err != nil {
		return fmt.Errorf("arguments do not fit: %w", err)
	}
	return nil
}

// outputOf returns a tool's result as the model reads it. A result that cannot be written is no failed call: the
// function has done its work, and the model must not believe otherwise.
func outputOf(out any) ToolOutput {
	switch v := out.(type) {
	case ToolOutput:
		return v
	case string:
		return ToolOutput{Text: v}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return ToolOutput{
			Text: fmt.Sprintf("The tool succeeded, but its result of type %T cannot be written as JSON.", out),
		}
	}
	return ToolOutput{Text: string(bytes.TrimSuffix(text.Bytes(), []byte("\n")))}
}
