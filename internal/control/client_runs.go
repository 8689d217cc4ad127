package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"countersign/approvals"
)

// Runs is part of Desk.
func (c *Client) Runs(ctx context.Context, q RunQuery, after Cursor, limit int) (
	page []*approvals.Run, more bool, err error,
) {
	var answer runsAnswer
	path := "/v1/runs?" + after.on(q.values(), limit).Encode()
	if err := c.call(ctx, http.MethodGet, path, nil, &answer); err != nil {
		return nil, false, err
	}
	return answer.Runs, answer.More, answer.Error.err()
}

// Run is part of Desk.
func (c *Client) Run(ctx context.Context, id approvals.RunID) (*approvals.RunRecord, error) {
	var answer runAnswer
	if err := c.call(ctx, http.MethodGet, "/v1/runs/"+url.PathEscape(string(id)), nil, &answer); err != nil {
		return nil, err
	}
	return answer.Run, answer.Error.err()
}

// CancelRun is part of Desk. When the bot's answer gets lost, cancelling again tells: approvals.ErrEnded comes with the
// run.
func (c *Client) CancelRun(ctx context.Context, v approvals.Cancellation) (*approvals.Run, error) {
	var answer cancelAnswer
	err := c.post(ctx, "/v1/runs/cancel", v, &answer)
	if lost, ok := errors.AsType[*lostError](err); ok {
		return nil, fmt.Errorf("%w; whether run %s is cancelled is not known: cancel it again", lost, v.Run)
	}
	if err != nil {
		return nil, err
	}
	return answer.Run, answer.Error.err()
}

// RetryRun is part of Desk. When the bot's answer gets lost, retrying again tells: a run is started again once.
func (c *Client) RetryRun(ctx context.Context, v approvals.RunRetry) (approvals.Receipt, error) {
	var answer retryAnswer
	err := c.post(ctx, "/v1/runs/retry", v, &answer)
	if lost, ok := errors.AsType[*lostError](err); ok {
		return approvals.Receipt{}, fmt.Errorf("%w; whether run %s was started again is not known: retry it again, "+
			"which starts it once at most", lost, v.Run)
	}
	if err != nil {
		return approvals.Receipt{}, err
	}
	return answer.Receipt, answer.Error.err()
}

// post sends a question and reads the answer.
func (c *Client) post(ctx context.Context, path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("ask the bot: %w", err)
	}
	return c.call(ctx, http.MethodPost, path, body, answer)
}
