package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"countersign/approvals"
)

// Reveal is part of Desk. When the bot's answer gets lost, it can be asked again: that is recorded again, too.
func (c *Client) Reveal(ctx context.Context, in approvals.RevealIn) (*approvals.Request, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("ask for secret values: %w", err)
	}
	var answer result
	if err := c.call(ctx, http.MethodPost, "/v1/revelations", body, &answer); err != nil {
		return nil, err
	}
	if err := answer.Error.err(); err != nil {
		return nil, err
	}
	if answer.Request == nil {
		return nil, fmt.Errorf("ask for secret values: the bot answers without a request; %w", errOtherVersion)
	}
	return answer.Request, nil
}
