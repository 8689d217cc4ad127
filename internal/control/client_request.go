package control

import (
	"context"
	"net/http"
	"net/url"

	"countersign/approvals"
)

// Request is part of Desk.
func (c *Client) Request(ctx context.Context, id approvals.RequestID) (*approvals.Request, error) {
	var answer result
	path := "/v1/requests/" + url.PathEscape(string(id)) + "?" + secretKey + "=" + secretMasked
	if err := c.call(ctx, http.MethodGet, path, nil, &answer); err != nil {
		return nil, err
	}
	return received(answer.Request, answer.Masked), answer.Error.err()
}
