package mcptoolset

import (
	"encoding/json"
	"errors"
	"fmt"

	"countersign/agent/internal/jsonschema"
	"countersign/agent/internal/strictjson"
)

// Bounds of what a server may say about a tool.
const (
	maxToolName    = 1 << 10
	maxTitle       = 1 << 10
	maxDescription = 4 << 10
	maxSchema      = 64 << 10
	maxToolDepth   = 256
)

// Hint is what a server says about a tool: "true", "false", or "" when it says nothing.
type Hint string

// True reports whether the server says so.
func (h Hint) True() bool { return h == "true" }

// Annotations are what a server says about the behaviour of a tool. They are claims.
type Annotations struct {
	Title           string
	ReadOnlyHint    Hint // it changes nothing
	DestructiveHint Hint // it may do more than add something
	IdempotentHint  Hint // calling it again with the same arguments changes nothing more
	OpenWorldHint   Hint // it deals with more than a closed set of things
}

// readOnly reports whether a server says that a tool changes nothing, and does not say the opposite too.
func (a *Annotations) readOnly() bool { return a.ReadOnlyHint.True() && !a.DestructiveHint.True() }

// fits reports whether a tool is one of those that change nothing, or one of the others. One with hints that contradict
// each other is neither.
func (a *Annotations) fits(readOnly bool) bool {
	return readOnly && a.readOnly() || !readOnly && !a.ReadOnlyHint.True()
}

// definition is what a server says about a tool. Two definitions are the same when they are equal.
type definition struct {
	name, title, description, schema string
	annotations                      Annotations
}

// listed is a tool that can be used.
type listed struct {
	definition
	validate func(json.RawMessage) error
}

// binding lists what decisions are bound to beside name, description and schema. The order is fixed.
func (d *definition) binding() []string {
	a := d.annotations
	return []string{
		"tool=" + d.name, "title=" + d.title, "annotations.title=" + a.Title,
		"readOnlyHint=" + string(a.ReadOnlyHint), "destructiveHint=" + string(a.DestructiveHint),
		"idempotentHint=" + string(a.IdempotentHint), "openWorldHint=" + string(a.OpenWorldHint),
	}
}

// parseTool reads a tool as it came. With an error there is at most a name.
func parseTool(raw json.RawMessage) (listed, error) {
	var members map[string]json.RawMessage // the names of members count exactly as written
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return listed{}, errors.New("it is not an object")
	}
	var t listed
	if err := readText(members, "name", maxToolName, &t.name); err != nil {
		return listed{}, err
	} else if t.name == "" {
		return listed{}, errors.New("it has no name")
	}
	fail := func(err error) (listed, error) { return listed{definition: definition{name: t.name}}, err }
	if err := strictjson.Unique(raw, maxToolDepth); err != nil {
		return fail(err)
	}
	if err := readText(members, "title", maxTitle, &t.title); err != nil {
		return fail(err)
	}
	if err := readText(members, "description", maxDescription, &t.description); err != nil {
		return fail(err)
	}
	if err := readAnnotations(members["annotations"], &t.annotations); err != nil {
		return fail(err)
	}
	if taskOnly(members["execution"]) {
		return fail(errors.New("it can only be called as a task, which is not possible here"))
	}
	if err := readSchema(members["inputSchema"], &t); err != nil {
		return fail(err)
	}
	return t, nil
}

func readText(members map[string]json.RawMessage, name string, limit int, to *string) error {
	raw, ok := members[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("its %s is not a text", name)
	}
	if len(*to) > limit {
		*to = ""
		return fmt.Errorf("its %s is longer than %d bytes", name, limit)
	}
	return nil
}

func readAnnotations(raw json.RawMessage, to *Annotations) error {
	if len(raw) == 0 {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return errors.New("its annotations are not an object")
	}
	if err := readText(members, "title", maxTitle, &to.Title); err != nil {
		return err
	}
	for _, hint := range []struct {
		name string
		to   *Hint
	}{
		{"readOnlyHint", &to.ReadOnlyHint}, {"destructiveHint", &to.DestructiveHint},
		{"idempotentHint", &to.IdempotentHint}, {"openWorldHint", &to.OpenWorldHint},
	} {
		switch text := string(members[hint.name]); text {
		case "", "null":
		case "true", "false":
			*hint.to = Hint(text)
		default:
			return fmt.Errorf("its %s is neither true nor false", hint.name)
		}
	}
	return nil
}

// taskOnly reports whether a tool cannot be called for a result, only to begin something that is asked about later.
func taskOnly(execution json.RawMessage) bool {
	var e struct {
		TaskSupport string `json:"taskSupport"`
	}
	return json.Unmarshal(execution, &e) == nil && e.TaskSupport == "required"
}

func readSchema(raw json.RawMessage, t *listed) error {
	var head struct {
		Type any `json:"type"`
	}
	switch err := json.Unmarshal(raw, &head); {
	case len(raw) > maxSchema:
		return fmt.Errorf("its inputSchema is longer than %d bytes", maxSchema)
	case err != nil || head.Type != "object":
		return errors.New("its inputSchema is not a JSON Schema of type object")
	}
	schema, err := jsonschema.CompileForeign(raw)
	if err != nil {
		return fmt.Errorf("its inputSchema cannot be used: %w", err)
	}
	t.schema, t.validate = string(raw), schema.Validate
	return nil
}
