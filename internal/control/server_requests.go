package control

import (
	"net/http"

	"countersign/approvals"
)

// requestsAnswer is the answer to GET /v1/requests.
type requestsAnswer struct {
	Requests []*approvals.RequestHead `json:"requests"`
	More     bool                     `json:"more"`
	Error    *failure                 `json:"error,omitempty"`
}

func (s *Server) requests(w http.ResponseWriter, r *http.Request) {
	var answer requestsAnswer
	q, err := readQuery(r.URL.Query())
	if err == nil {
		after, limit := readCursor(r.URL.Query())
		answer.Requests, answer.More, err = s.Desk.Requests(r.Context(), q, after, limit)
	}
	answer.Error = newFailure(err)
	s.answer(w, answer)
}
