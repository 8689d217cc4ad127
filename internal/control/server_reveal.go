package control

import (
	"encoding/json"
	"fmt"
	"net/http"

	"countersign/approvals"
)

// reveal answers POST /v1/revelations, whose body is an approvals.RevealIn.
func (s *Server) reveal(w http.ResponseWriter, r *http.Request) {
	var in approvals.RevealIn
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&in); err != nil {
		s.answer(w, result{Error: newFailure(fmt.Errorf("%w: question cannot be read", approvals.ErrInvalid))})
		return
	}
	req, err := s.Desk.Reveal(r.Context(), in)
	s.answer(w, result{Request: req, Error: newFailure(err)})
}
