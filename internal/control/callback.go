package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"countersign/approvals"
)

// callbackAnswer is the answer to POST /v1/callbacks, whose body is an approvals.CallbackIssue.
type callbackAnswer struct {
	Callback *approvals.CallbackAddress `json:"callback,omitempty"`
	Error    *failure                   `json:"error,omitempty"`
}

func (s *Server) issueCallback(w http.ResponseWriter, r *http.Request) {
	var q approvals.CallbackIssue
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&q); err != nil {
		err := fmt.Errorf("%w: the wish for a callback cannot be read", approvals.ErrInvalid)
		s.answer(w, callbackAnswer{Error: newFailure(err)})
		return
	}
	at, err := s.Desk.IssueCallback(r.Context(), q)
	s.answer(w, callbackAnswer{&at, newFailure(err)})
}

// IssueCallback is part of Desk. When the bot's answer gets lost the token is lost too: another one is to be made.
func (c *Client) IssueCallback(ctx context.Context, in approvals.CallbackIssue) (approvals.CallbackAddress, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return approvals.CallbackAddress{}, fmt.Errorf("ask for a callback: %w", err)
	}
	var answer callbackAnswer
	err = c.call(ctx, http.MethodPost, "/v1/callbacks", body, &answer)
	if lost, ok := errors.AsType[*lostError](err); ok {
		return approvals.CallbackAddress{}, fmt.Errorf("%w; ask for another token, which replaces the lost one", lost)
	}
	if err == nil {
		err = answer.Error.err()
	}
	if err == nil && (answer.Callback == nil || answer.Callback.Token == "") {
		err = fmt.Errorf("ask for a callback: the bot names none; %w", errOtherVersion)
	}
	if err != nil {
		return approvals.CallbackAddress{}, err
	}
	return *answer.Callback, nil
}
