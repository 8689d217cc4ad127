package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"countersign/approvals"
)

// exportRequests streams the requests of a time. An error cuts the connection, so that a part is never taken for the
// whole.
func (s *Server) exportRequests(w http.ResponseWriter, r *http.Request) {
	var window [2]time.Time
	what := approvals.RequestExport{Progress: telling(w, r)}
	for i, name := range []string{paramSince, paramUntil} {
		var err error
		if value := r.URL.Query().Get(name); value != "" {
			window[i], err = readInstant(name, value)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	what.From, what.To = window[0], window[1]
	w.Header().Set("Content-Type", "application/jsonl")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // raw JSON in it stays as it is
	s.stream(s.Desk.ExportRequests(r.Context(), what, func(x *approvals.ExportedRequest) error { return e.Encode(x) }))
}

// ExportRequests is part of Desk.
func (l *Local) ExportRequests(
	ctx context.Context, what approvals.RequestExport, fn func(*approvals.ExportedRequest) error,
) error {
	return approvals.ExportRequests(ctx, l.Store, what, fn)
}

// ExportRequests is part of Desk.
func (c *Client) ExportRequests(
	ctx context.Context, what approvals.RequestExport, fn func(*approvals.ExportedRequest) error,
) error {
	window := url.Values{paramSince: {instant(what.From)}, paramUntil: {instant(what.To)}}
	if what.Progress != nil {
		window.Set(paramProgress, "1")
	}
	r, err := c.open(ctx, http.MethodGet, "/v1/audit/requests?"+window.Encode(), nil)
	if err != nil {
		return err
	}
	defer r.Close()
	for d := json.NewDecoder(r); ; {
		var x struct {
			progressLine
			approvals.ExportedRequest
		}
		switch err := d.Decode(&x); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the bot broke off; its log says why: %w", err)
		case x.Read > 0:
			what.Progress(x.Read)
			continue
		}
		if err := fn(&x.ExportedRequest); err != nil {
			return err
		}
	}
}
