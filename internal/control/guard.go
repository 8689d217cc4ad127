package control

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"

	"countersign/internal/lineage"
)

// verdictKey is where the context of a connection has why it may not speak, if it may not.
type verdictKey struct{}

// judged looks at the process that has made a connection, while it waits for the answer.
func (s *Server) judged(ctx context.Context, conn net.Conn) context.Context {
	err, pid := lineage.ErrUnknown, 0
	if c, ok := conn.(*peerConn); ok {
		err, pid = s.Judge(c.peer), c.peer.PID
	}
	if err == nil {
		return ctx
	}
	s.Logger.Warn("control connection refused", "pid", pid, "error", err)
	return context.WithValue(ctx, verdictKey{}, err)
}

// guard refuses everything to whoever may not speak. What a tool has started reads nothing here either: the store holds
// the conversations of all channels.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err, refused := r.Context().Value(verdictKey{}).(error)
		if !refused {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		answer := result{Error: newFailure(fmt.Errorf("%w: %w", ErrNoOperator, err))}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			s.Logger.Warn("control answer not delivered", "error", err)
		}
	})
}
