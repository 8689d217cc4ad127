package openaimodel

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"

	"countersign/agent"
)

// responsesAPI speaks the Responses API.
type responsesAPI struct {
	model   string
	summary string // what summaries of reasoning are asked for
	pieces  pieceCache
	// plain is set once the server has refused to encrypt reasoning, which models without reasoning do.
	plain atomic.Bool
	// loose is set once it has refused a choice at the top of a schema.
	loose atomic.Bool
}

func (*responsesAPI) name() string { return "Responses API" }

func (*responsesAPI) path() string { return "responses" }

// adapt leaves out what the server has refused: the encryption of reasoning, choices at the top of schemas.
func (a *responsesAPI) adapt(e *Error) bool {
	if e.Status != http.StatusBadRequest {
		return false
	}
	if e.refusesChoice() {
		a.loose.Store(true)
		return true
	}
	refused := e.param == "include" || strings.HasPrefix(e.param, "include[") ||
		strings.Contains(strings.ToLower(e.said), "encrypted content is not supported")
	if refused {
		a.plain.Store(true)
	}
	return refused
}

// refusesChoice reports whether the server objects to a choice at the top of a function's schema.
func (e *Error) refusesChoice() bool {
	return e.Code == "invalid_function_parameters" && strings.Contains(e.said, "top level")
}

func (a *responsesAPI) tool(t *agent.ToolDefinition) ([]byte, error) {
	loose, way := a.loose.Load(), byte('a')
	if loose {
		way = 'l'
	}
	return a.pieces.get(toolKey(t, way), func() ([]byte, error) { return encodeTool(t, loose) })
}

// writeOutput writes what the answer must look like.
func (a *responsesAPI) writeOutput(b *bytes.Buffer, o *agent.OutputSchema) error {
	if o == nil {
		return nil
	}
	encoded, err := a.pieces.get(outputKey(o), func() ([]byte, error) { return encodeOutput(o) })
	if err != nil {
		return err
	}
	b.WriteString(`,"text":{"format":{"type":"json_schema",`)
	b.Write(encoded)
	b.WriteString(`}}`)
	return nil
}
