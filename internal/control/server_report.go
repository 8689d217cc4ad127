package control

import (
	"encoding/json"
	"net/http"
	"net/url"

	"countersign/approvals"
	"countersign/internal/report"
)

// reportAnswer is a line of the answer to GET /v1/report: how many records were read so far, and at the end the report
// or what went wrong.
type reportAnswer struct {
	Read   int            `json:"read,omitempty"`
	Report *report.Report `json:"report,omitempty"`
	Error  *failure       `json:"error,omitempty"`
}

// The parameters of GET /v1/report.
const paramFrom, paramTo = "from", "to"

// values is the query as parameters.
func (q *ReportQuery) values() url.Values {
	v := url.Values{paramFrom: {instant(q.Window.From)}, paramTo: {instant(q.Window.To)}}
	if q.Workspace != "" {
		v.Set(paramWorkspace, string(q.Workspace))
	}
	return v
}

// readReportQuery is the inverse of values.
func readReportQuery(v url.Values) (q ReportQuery, err error) {
	q.Workspace = approvals.WorkspaceID(v.Get(paramWorkspace))
	if q.Window.From, err = readInstant(paramFrom, v.Get(paramFrom)); err != nil {
		return q, err
	}
	q.Window.To, err = readInstant(paramTo, v.Get(paramTo))
	return q, err
}

// report makes the report where the store is, and says meanwhile how far it is.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/jsonl")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	flush := http.NewResponseController(w)
	q, err := readReportQuery(r.URL.Query())
	var made *report.Report
	if err == nil {
		made, err = s.Desk.Report(r.Context(), q, func(read int) {
			if e.Encode(reportAnswer{Read: read}) == nil {
				_ = flush.Flush() // a client that has gone ends the request's context
			}
		})
	}
	if err := e.Encode(reportAnswer{Report: made, Error: newFailure(err)}); err != nil {
		s.Logger.Warn("control answer not delivered", "error", err)
	}
}
