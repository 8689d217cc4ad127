package control

import (
	"encoding/json"
	"fmt"
	"net/http"

	"countersign/approvals"
)

// lettersAnswer is the answer to GET /v1/outbox/dead.
type lettersAnswer struct {
	Letters []*DeadLetter `json:"letters"`
	More    bool          `json:"more"`
	Error   *failure      `json:"error,omitempty"`
}

// replayQuestion is the body of POST /v1/outbox/replay.
type replayQuestion struct {
	IDs []approvals.NotificationID `json:"ids"`
}

// replayAnswer says which of the ids were dead letters and are back in the outbox, also when something went wrong then.
type replayAnswer struct {
	Replayed []approvals.NotificationID `json:"replayed"`
	Error    *failure                   `json:"error,omitempty"`
}

func (s *Server) letters(w http.ResponseWriter, r *http.Request) {
	after, limit := readCursor(r.URL.Query())
	page, more, err := s.Desk.DeadLetters(r.Context(), after, limit)
	s.answer(w, lettersAnswer{page, more, newFailure(err)})
}

func (s *Server) replay(w http.ResponseWriter, r *http.Request) {
	var q replayQuestion
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&q); err != nil {
		s.answer(w, replayAnswer{Error: newFailure(fmt.Errorf("%w: ids cannot be read", approvals.ErrInvalid))})
		return
	}
	replayed, err := s.Desk.Replay(r.Context(), q.IDs...)
	s.answer(w, replayAnswer{replayed, newFailure(err)})
}
