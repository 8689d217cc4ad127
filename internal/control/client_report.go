package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"countersign/internal/report"
)

// Report is part of Desk.
func (c *Client) Report(ctx context.Context, q ReportQuery, progress func(read int)) (*report.Report, error) {
	r, err := c.open(ctx, http.MethodGet, "/v1/report?"+q.values().Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for d := json.NewDecoder(r); ; {
		var answer reportAnswer
		if err := d.Decode(&answer); err != nil {
			return nil, fmt.Errorf("report: the bot broke off; its log says why: %w", err)
		}
		switch {
		case answer.Error != nil:
			return nil, answer.Error.err()
		case answer.Report == nil:
			progress(answer.Read)
		case !answer.Report.Window.From.Equal(q.Window.From) || !answer.Report.Window.To.Equal(q.Window.To):
			return nil, fmt.Errorf("ask the bot: its report is of another window; %w", errOtherVersion)
		default:
			return answer.Report, nil
		}
	}
}
