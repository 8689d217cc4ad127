package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"countersign/approvals"
	"countersign/internal/lineage"
)

// Server offers a desk on the socket. All fields are needed.
type Server struct {
	// Desk does the work.
	Desk Desk
	// Judge returns nil for a process that an operator has started; see lineage.Mark. Others are told the error, and
	// nothing else.
	Judge func(*lineage.Peer) error
	// Logger receives what operators should know.
	Logger *slog.Logger
}

// Serve answers on a listener of Listen until ctx ends, and then for as long as answers under way take, at most two
// seconds.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s.guard(s.routes()),
		ConnContext:       s.judged,
		ReadHeaderTimeout: 5 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), slog.LevelWarn),
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if srv.Shutdown(grace) != nil {
			srv.Close()
		}
	})
	err := srv.Serve(l)
	if !stop() {
		<-done
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("control socket: %w", err)
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/requests", s.requests)
	mux.HandleFunc("GET /v1/requests/{id}", s.request)
	mux.HandleFunc("POST /v1/judgements", s.judgement)
	mux.HandleFunc("POST /v1/decisions", s.decide)
	mux.HandleFunc("POST /v1/batches", s.decideAll)
	mux.HandleFunc("POST /v1/callbacks", s.issueCallback)
	mux.HandleFunc("POST /v1/reviews", s.review)
	mux.HandleFunc("POST /v1/revelations", s.reveal)
	mux.HandleFunc("GET /v1/audit/report", s.verify)
	mux.HandleFunc("POST /v1/audit/report", s.verifyAgainst)
	mux.HandleFunc("GET /v1/audit/entries", s.export)
	mux.HandleFunc("GET /v1/audit/requests", s.exportRequests)
	mux.HandleFunc("GET /v1/report", s.report)
	mux.HandleFunc("GET /v1/outbox/dead", s.letters)
	mux.HandleFunc("POST /v1/outbox/replay", s.replay)
	mux.HandleFunc("GET /v1/grants", s.grants)
	mux.HandleFunc("POST /v1/grants/revoke", s.revoke)
	mux.HandleFunc("GET /v1/runs", s.runs)
	mux.HandleFunc("GET /v1/runs/{id}", s.run)
	mux.HandleFunc("POST /v1/runs/cancel", s.cancelRun)
	mux.HandleFunc("POST /v1/runs/retry", s.retryRun)
	mux.HandleFunc("GET /v1/backup", s.backup)
	return mux
}

// result is the answer to everything that has one: the request as it stands, and what went wrong.
type result struct {
	Request *approvals.Request     `json:"request,omitempty"`
	Masked  bool                   `json:"masked,omitempty"` // Request.Masked
	Report  *approvals.AuditReport `json:"report,omitempty"`
	Error   *failure               `json:"error,omitempty"`
}

// standing is the answer of a request as it stands, without secret values.
func standing(r *approvals.Request, err error) result {
	answer := result{Error: newFailure(err)}
	answer.Request, answer.Masked = masked(r)
	return answer
}

// masked is the request as the socket gives it out, and whether values are left out of it.
func masked(r *approvals.Request) (*approvals.Request, bool) {
	if r == nil {
		return nil, false
	}
	r = r.Mask()
	return r, r.Masked
}

// received is the request that was sent: its masks are known as such. A bot of an older version sends values.
func received(r *approvals.Request, masked bool) *approvals.Request {
	if r == nil {
		return nil
	}
	r.Masked = masked
	return r.Mask()
}

func (s *Server) decide(w http.ResponseWriter, r *http.Request) {
	var d approvals.Decision
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&d); err != nil {
		s.answer(w, result{Error: newFailure(fmt.Errorf("%w: decision cannot be read", approvals.ErrInvalid))})
		return
	}
	s.answer(w, standing(s.Desk.Decide(r.Context(), d)))
}

// export streams the entries. An error cuts the connection, so that a part is never taken for the whole.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/jsonl")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	s.stream(s.Desk.ExportAudit(r.Context(), func(entry *approvals.AuditEntry) error { return e.Encode(entry) }))
}

func (s *Server) backup(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/octet-stream")
	s.stream(s.Desk.Backup(r.Context(), writer{w}))
}

// writer hides what else a ResponseWriter can do: a store's copy is written in order.
type writer struct{ io.Writer }

func (s *Server) stream(err error) {
	if err != nil {
		s.Logger.Error("control stream broken off", "error", err)
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // raw JSON in it stays as it is
	if err := e.Encode(v); err != nil {
		s.Logger.Warn("control answer not delivered", "error", err)
	}
}
