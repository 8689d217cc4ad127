package control

import (
	"fmt"
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

// The parameter of GET /v1/requests/{id} with which a command says that it takes masks for what they are.
const (
	secretKey    = "secret"
	secretMasked = "masked"
)

// errTakesMasks is what a command of an older version is told instead of a request with secret values: it would judge
// by the masks as if they were values.
var errTakesMasks = fmt.Errorf("%w: this request has secret values, which are not given out; use the command of the "+
	"bot's version, or ask with ?"+secretKey+"="+secretMasked, approvals.ErrInvalid)

func (s *Server) request(w http.ResponseWriter, r *http.Request) {
	answer := standing(s.Desk.Request(r.Context(), approvals.RequestID(r.PathValue("id"))))
	if answer.Masked && r.URL.Query().Get(secretKey) != secretMasked {
		answer = result{Error: newFailure(errTakesMasks)}
	}
	s.answer(w, answer)
}
