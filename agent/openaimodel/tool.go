package openaimodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"countersign/agent"
)

// noParameters is the schema of a tool without one.
const noParameters = `{"type":"object","properties":{},"required":[],"additionalProperties":false}`

// maxCachedTools bounds the cache; an agent has a few dozen tools.
const maxCachedTools = 1024

// toolCache remembers tools in the form they are sent in. The same ones are sent in every turn, and finding out whether
// a schema is strict costs more than the rest of the request.
type toolCache struct {
	mu      sync.Mutex
	encoded map[string][]byte
}

// encode returns the tool as the API wants it. The schema in it is the author's, byte for byte.
func (c *toolCache) encode(t *agent.ToolDefinition) ([]byte, error) {
	key := make([]byte, 0, 1024)
	key = append(append(key, t.Name...), 0)
	key = append(append(key, t.Description...), 0)
	key = append(key, t.Parameters...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if b, ok := c.encoded[string(key)]; ok {
		return b, nil
	}
	b, err := encodeTool(t)
	if err != nil {
		return nil, err
	}
	if c.encoded == nil || len(c.encoded) >= maxCachedTools {
		c.encoded = make(map[string][]byte)
	}
	c.encoded[string(key)] = b
	return b, nil
}

func encodeTool(t *agent.ToolDefinition) ([]byte, error) {
	schema := t.Parameters
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = json.RawMessage(noParameters)
	}
	if !json.Valid(schema) {
		return nil, fmt.Errorf("%w: tool %s: its parameters are not JSON", agent.ErrConfig, t.Name)
	}
	name, err := json.Marshal(t.Name)
	if err != nil {
		return nil, err
	}
	description, err := json.Marshal(t.Description)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":"function","name":%s,`, name)
	if t.Description != "" {
		fmt.Fprintf(&b, `"description":%s,`, description)
	}
	fmt.Fprintf(&b, `"strict":%t,"parameters":%s}`, Strict(schema), schema)
	return b.Bytes(), nil
}
