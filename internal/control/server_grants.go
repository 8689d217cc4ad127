package control

import (
	"encoding/json"
	"fmt"
	"net/http"

	"countersign/approvals"
)

// grantsAnswer is the answer to GET /v1/grants.
type grantsAnswer struct {
	Grants []*approvals.GrantView `json:"grants"`
	More   bool                   `json:"more"`
	Error  *failure               `json:"error,omitempty"`
}

// revokeQuestion is the body of POST /v1/grants/revoke.
type revokeQuestion struct {
	Grant  approvals.GrantID `json:"grant"`
	Reason string            `json:"reason,omitempty"`
}

// revokeAnswer is the grant as it stands, also when it was revoked before.
type revokeAnswer struct {
	Grant *approvals.Grant `json:"grant,omitempty"`
	Error *failure         `json:"error,omitempty"`
}

func (s *Server) grants(w http.ResponseWriter, r *http.Request) {
	after, limit := readCursor(r.URL.Query())
	page, more, err := s.Desk.Grants(r.Context(), after, limit)
	s.answer(w, grantsAnswer{page, more, newFailure(err)})
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	var q revokeQuestion
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&q); err != nil {
		s.answer(w, revokeAnswer{Error: newFailure(fmt.Errorf("%w: revocation cannot be read", approvals.ErrInvalid))})
		return
	}
	g, err := s.Desk.RevokeGrant(r.Context(), q.Grant, q.Reason)
	s.answer(w, revokeAnswer{g, newFailure(err)})
}
