package control

import (
	"encoding/json"
	"net/http"
)

// paramProgress is the parameter of a request that reads much: set, the lines of its answer are mixed with such as say
// how much has been read.
const paramProgress = "progress"

// progressLine is such a line.
type progressLine struct {
	Read int `json:"read,omitempty"` // records so far
}

// telling returns what writes such lines; nil: the client has not asked for them.
func telling(w http.ResponseWriter, r *http.Request) func(read int) {
	if r.URL.Query().Get(paramProgress) == "" {
		return nil
	}
	e, flush := json.NewEncoder(w), http.NewResponseController(w)
	return func(read int) {
		if e.Encode(progressLine{read}) == nil {
			_ = flush.Flush() // a client that has gone ends the request's context
		}
	}
}
