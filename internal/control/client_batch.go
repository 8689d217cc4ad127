package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"countersign/approvals"
)

// DecideAll is part of Desk. When the bot's answer gets lost the error is ErrOutcomeUnknown.
func (c *Client) DecideAll(ctx context.Context, b approvals.Batch) ([]approvals.BatchAnswer, error) {
	body, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("send batch: %w", err)
	}
	var answer batchAnswer
	err = c.call(ctx, http.MethodPost, "/v1/batches", body, &answer)
	if lost, ok := errors.AsType[*lostError](err); ok {
		return nil, fmt.Errorf("%w, and which of the decisions are recorded is not known; deciding again is safe: %w",
			ErrOutcomeUnknown, lost)
	}
	if err != nil {
		return nil, err
	}
	all := make([]approvals.BatchAnswer, len(answer.Answers))
	for i, a := range answer.Answers {
		all[i] = approvals.BatchAnswer{ID: a.ID, Request: received(a.Request, a.Masked), Err: a.Error.err()}
	}
	return all, answer.Error.err()
}
