package argschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"countersign/agent/internal/oneline"
)

// maxDepth bounds the nesting of JSON that is read here.
const maxDepth = 256

// Unique reports an object that has a member twice, of which two readers could take different ones, and JSON that is
// nested too deeply.
func Unique(data json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	type level struct {
		members map[string]bool // nil for a list
		name    bool            // a member's name comes next
	}
	var stack []level
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("not JSON: %w", err)
		}
		if d, ok := token.(json.Delim); ok && (d == '}' || d == ']') {
			stack = stack[:len(stack)-1]
			continue
		}
		if n := len(stack) - 1; n >= 0 && stack[n].members != nil {
			if stack[n].name {
				name := token.(string)
				if stack[n].members[name] {
					return fmt.Errorf("the member %q is there twice in one object", oneline.Of(name, 100))
				}
				stack[n].members[name], stack[n].name = true, false
				continue
			}
			stack[n].name = true
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{members: make(map[string]bool), name: true})
		case json.Delim('['):
			stack = append(stack, level{})
		}
		if len(stack) > maxDepth {
			return errors.New("nested too deeply")
		}
	}
}
