package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"countersign/approvals"
)

// Trial is an agents file that a recorded request is held against.
type Trial struct {
	Request approvals.RequestID `json:"request"`
	Name    string              `json:"name"` // of the file, as messages call it
	Text    string              `json:"text"`
	// Environment has what the file's ${NAME} stand for.
	Environment map[string]string `json:"environment,omitempty"`
}

// Judgement is what an agents file makes of a call: policycheck.Verdict.
type Judgement struct {
	Fate        string                `json:"fate"`
	Requirement approvals.Requirement `json:"requirement"`
	Why         string                `json:"why,omitempty"`
}

// maxTrial bounds a trial on its way through the socket: a file, and what it reads of the environment.
const maxTrial = 4 << 20

// judgementAnswer is the answer to POST /v1/judgements.
type judgementAnswer struct {
	Judgement *Judgement `json:"judgement,omitempty"`
	Error     *failure   `json:"error,omitempty"`
}

func (s *Server) judgement(w http.ResponseWriter, r *http.Request) {
	var t Trial
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxTrial)).Decode(&t); err != nil {
		err = fmt.Errorf("%w: agents file to be tried cannot be read", approvals.ErrInvalid)
		s.answer(w, judgementAnswer{Error: newFailure(err)})
		return
	}
	j, err := s.Desk.Judgement(r.Context(), t)
	if err != nil {
		s.answer(w, judgementAnswer{Error: newFailure(err)})
		return
	}
	s.answer(w, judgementAnswer{Judgement: &j})
}

// Judgement is part of Desk.
func (c *Client) Judgement(ctx context.Context, t Trial) (Judgement, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return Judgement{}, fmt.Errorf("send agents file: %w", err)
	}
	var answer judgementAnswer
	if err := c.call(ctx, http.MethodPost, "/v1/judgements", body, &answer); err != nil {
		return Judgement{}, fmt.Errorf("judge request %s: %w", t.Request, err)
	}
	if err := answer.Error.err(); err != nil {
		return Judgement{}, err
	}
	if answer.Judgement == nil {
		return Judgement{}, fmt.Errorf("judge request %s: the bot answers without a judgement; %w", t.Request,
			errOtherVersion)
	}
	return *answer.Judgement, nil
}

// Judgement is part of Desk.
func (l *Local) Judgement(ctx context.Context, t Trial) (Judgement, error) {
	r, err := l.recorded(ctx, t.Request)
	if err != nil {
		return Judgement{}, err
	}
	if l.Judge == nil {
		return Judgement{}, fmt.Errorf("judge request %s: %w: no agents file is tried here", t.Request,
			approvals.ErrInvalid)
	}
	j, err := l.Judge(ctx, t, r)
	if err != nil {
		return Judgement{}, fmt.Errorf("judge request %s: %w", t.Request, err)
	}
	return j, nil
}
