package control

import (
	"encoding/json"
	"fmt"
	"net/http"

	"countersign/approvals"
)

// review is the body of POST /v1/reviews.
type review struct {
	Workspace approvals.WorkspaceID `json:"workspace"`
	Request   approvals.RequestID   `json:"request"`
	approvals.Review
}

func (s *Server) review(w http.ResponseWriter, r *http.Request) {
	var v review
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&v); err != nil {
		s.answer(w, result{Error: newFailure(fmt.Errorf("%w: review cannot be read", approvals.ErrInvalid))})
		return
	}
	s.answer(w, standing(s.Desk.Review(r.Context(), v.Workspace, v.Request, v.Review)))
}
