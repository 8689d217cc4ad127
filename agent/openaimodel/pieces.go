package openaimodel

import (
	"strconv"
	"sync"

	"countersign/agent"
)

// maxCachedPieces bounds the cache; an agent has a few dozen tools.
const maxCachedPieces = 1024

// pieceCache remembers tools and output schemas in the form they are sent in. The same ones are sent in every turn, and
// finding out whether a schema is strict costs more than the rest of the request.
type pieceCache struct {
	mu      sync.Mutex
	encoded map[string][]byte
}

// get returns the piece with the key, made by encode when it is not there yet.
func (c *pieceCache) get(key []byte, encode func() ([]byte, error)) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b, ok := c.encoded[string(key)]; ok {
		return b, nil
	}
	b, err := encode()
	if err != nil {
		return nil, err
	}
	if c.encoded == nil || len(c.encoded) >= maxCachedPieces {
		c.encoded = make(map[string][]byte)
	}
	c.encoded[string(key)] = b
	return b, nil
}

// toolKey is the key of a tool, which is written in one of several ways.
func toolKey(t *agent.ToolDefinition, way byte) []byte {
	key := append(make([]byte, 0, 1024), 't')
	key = appendPart(key, string(t.Wire))
	key = appendPart(key, t.Name)
	key = appendPart(key, t.Description)
	key = appendPart(key, string(t.Parameters))
	return append(append(key, t.Hosted...), way)
}

func outputKey(o *agent.OutputSchema) []byte {
	key := append(make([]byte, 0, 1024), 'o')
	key = strconv.AppendBool(key, o.Strict)
	key = appendPart(key, o.Name)
	return append(key, o.Schema...)
}

// appendPart adds a text with its length, so that no two lists of texts share a key.
func appendPart(key []byte, part string) []byte {
	key = strconv.AppendInt(key, int64(len(part)), 10)
	return append(append(key, ':'), part...)
}
