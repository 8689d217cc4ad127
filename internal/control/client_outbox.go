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

// DeadLetters is part of Desk.
func (c *Client) DeadLetters(ctx context.Context, after Cursor, limit int) (
	page []*DeadLetter, more bool, err error,
) {
	var answer lettersAnswer
	path := "/v1/outbox/dead?" + after.on(url.Values{}, limit).Encode()
	if err := c.call(ctx, http.MethodGet, path, nil, &answer); err != nil {
		return nil, false, err
	}
	return answer.Letters, answer.More, answer.Error.err()
}

// Replay is part of Desk.
func (c *Client) Replay(ctx context.Context, ids ...approvals.NotificationID) (
	replayed []approvals.NotificationID, err error,
) {
	body, err := json.Marshal(replayQuestion{ids})
	if err != nil {
		return nil, fmt.Errorf("replay dead letters: %w", err)
	}
	var answer replayAnswer
	err = c.call(ctx, http.MethodPost, "/v1/outbox/replay", body, &answer)
	if lost, ok := errors.AsType[*lostError](err); ok {
		return nil, fmt.Errorf("%w; whether they are back in the outbox is not known: list the dead letters", lost)
	}
	if err != nil {
		return nil, err
	}
	return answer.Replayed, answer.Error.err()
}
