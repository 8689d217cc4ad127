package agent

import (
	"bytes"
	"encoding/json"
	"fmt"

	"countersign/agent/internal/strictjson"
)

// maxContextData bounds RunContext.Data: it is written with every checkpoint.
const maxContextData = 64 << 10

// Data returns RunContext.Data as the run has it, canonical; nil: there is none. With it, whoever resumes the state can
// make RunContext.Value again.
func (s *RunState) Data() json.RawMessage {
	if s.empty() {
		return nil
	}
	return bytes.Clone(s.data)
}

// takeData takes the options' data into the state.
func (o *RunOptions) takeData(s *RunState) error {
	if o.Context == nil || o.Context.Data == nil {
		return nil
	}
	data, err := strictjson.Canonical(o.Context.Data)
	if err != nil {
		return fmt.Errorf("%w: RunContext.Data: %w", ErrConfig, err)
	}
	if n := max(len(data), len(o.Context.Data)); n > maxContextData {
		return fmt.Errorf("%w: RunContext.Data has %d bytes, and may have %d", ErrConfig, n, maxContextData)
	}
	s.data = data
	if string(data) == "null" {
		s.data = nil
	}
	return nil
}
