package control

import (
	"encoding/json"
	"fmt"
	"net/http"

	"countersign/approvals"
)

// runsAnswer is the answer to GET /v1/runs.
type runsAnswer struct {
	Runs  []*approvals.Run `json:"runs"`
	More  bool             `json:"more"`
	Error *failure         `json:"error,omitempty"`
}

// runAnswer is the answer to GET /v1/runs/ID.
type runAnswer struct {
	Run   *approvals.RunRecord `json:"run,omitempty"`
	Error *failure             `json:"error,omitempty"`
}

// cancelAnswer is the run as it stands, also when it had ended before.
type cancelAnswer struct {
	Run   *approvals.Run `json:"run,omitempty"`
	Error *failure       `json:"error,omitempty"`
}

type retryAnswer struct {
	Receipt approvals.Receipt `json:"receipt"`
	Error   *failure          `json:"error,omitempty"`
}

func (s *Server) runs(w http.ResponseWriter, r *http.Request) {
	var answer runsAnswer
	q, err := readRunQuery(r.URL.Query())
	if err == nil {
		after, limit := readCursor(r.URL.Query())
		answer.Runs, answer.More, err = s.Desk.Runs(r.Context(), q, after, limit)
	}
	answer.Error = newFailure(err)
	s.answer(w, answer)
}

func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	rec, err := s.Desk.Run(r.Context(), approvals.RunID(r.PathValue("id")))
	s.answer(w, runAnswer{rec, newFailure(err)})
}

func (s *Server) cancelRun(w http.ResponseWriter, r *http.Request) {
	var v approvals.Cancellation
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&v); err != nil {
		err = fmt.Errorf("%w: cancellation cannot be read", approvals.ErrInvalid)
		s.answer(w, cancelAnswer{Error: newFailure(err)})
		return
	}
	run, err := s.Desk.CancelRun(r.Context(), v)
	s.answer(w, cancelAnswer{run, newFailure(err)})
}

func (s *Server) retryRun(w http.ResponseWriter, r *http.Request) {
	var v approvals.RunRetry
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&v); err != nil {
		s.answer(w, retryAnswer{Error: newFailure(fmt.Errorf("%w: retry cannot be read", approvals.ErrInvalid))})
		return
	}
	receipt, err := s.Desk.RetryRun(r.Context(), v)
	s.answer(w, retryAnswer{receipt, newFailure(err)})
}
