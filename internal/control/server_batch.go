package control

import (
	"encoding/json"
	"fmt"
	"net/http"

	"countersign/approvals"
)

// batchAnswer is the answer to POST /v1/batches.
type batchAnswer struct {
	Answers []itemAnswer `json:"answers"`
	Error   *failure     `json:"error,omitempty"`
}

// itemAnswer is an approvals.BatchAnswer on its way through the socket.
type itemAnswer struct {
	ID      approvals.RequestID `json:"id"`
	Request *approvals.Request  `json:"request,omitempty"`
	Masked  bool                `json:"masked,omitempty"` // Request.Masked
	Error   *failure            `json:"error,omitempty"`
}

func (s *Server) decideAll(w http.ResponseWriter, r *http.Request) {
	var b approvals.Batch
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&b); err != nil {
		s.answer(w, batchAnswer{Error: newFailure(fmt.Errorf("%w: batch cannot be read", approvals.ErrInvalid))})
		return
	}
	all, err := s.Desk.DecideAll(r.Context(), b)
	answer := batchAnswer{Error: newFailure(err)}
	for _, a := range all {
		item := itemAnswer{ID: a.ID, Error: newFailure(a.Err)}
		item.Request, item.Masked = masked(a.Request)
		answer.Answers = append(answer.Answers, item)
	}
	s.answer(w, answer)
}
