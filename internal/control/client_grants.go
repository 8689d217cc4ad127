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

// Grants is part of Desk.
func (c *Client) Grants(ctx context.Context, after Cursor, limit int) (
	page []*approvals.GrantView, more bool, err error,
) {
	var answer grantsAnswer
	path := "/v1/grants?" + after.on(url.Values{}, limit).Encode()
	if err := c.call(ctx, http.MethodGet, path, nil, &answer); err != nil {
		return nil, false, err
	}
	return answer.Grants, answer.More, answer.Error.err()
}

// RevokeGrant is part of Desk. When the bot's answer gets lost, revoking again tells: approvals.ErrConflict comes with
// the grant.
func (c *Client) RevokeGrant(ctx context.Context, id approvals.GrantID, reason string) (*approvals.Grant, error) {
	body, err := json.Marshal(revokeQuestion{id, reason})
	if err != nil {
		return nil, fmt.Errorf("revoke grant %s: %w", id, err)
	}
	var answer revokeAnswer
	err = c.call(ctx, http.MethodPost, "/v1/grants/revoke", body, &answer)
	if lost, ok := errors.AsType[*lostError](err); ok {
		return nil, fmt.Errorf("%w; whether grant %s is revoked is not known: revoke it again", lost, id)
	}
	if err != nil {
		return nil, err
	}
	return answer.Grant, answer.Error.err()
}
