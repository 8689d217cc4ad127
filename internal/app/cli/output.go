package cli

import (
	"encoding/json"
	"io"

	"countersign/internal/visible"
)

// newEncoder encodes for a terminal: texts of others in it have no effect there. The values stay the same.
func newEncoder(w io.Writer) *json.Encoder { return json.NewEncoder(visibleJSON{w}) }

// visibleJSON is handed whole values by an Encoder.
type visibleJSON struct{ io.Writer }

func (v visibleJSON) Write(p []byte) (int, error) {
	if _, err := v.Writer.Write(visible.JSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
