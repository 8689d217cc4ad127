package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"countersign/agent/internal/redact"
)

// Server is an MCP server, and the connection to it. It is safe for concurrent use.
type Server struct {
	*declared
	id     []string // what decisions are bound to
	redact *strings.Replacer
	hidden *redact.Output // what models do not read

	running sync.WaitGroup // all goroutines that were started for the server

	mu      sync.Mutex
	closed  bool
	cancels map[*context.CancelCauseFunc]struct{} // of what is under way

	// turn is held by whoever connects or lists; what follows belongs to them.
	turn      chan struct{}
	session   *session
	current   *listing
	listings  atomic.Int64    // how many were begun; may be read by everybody
	told      map[string]bool // what was logged about the current listing
	failures  int             // attempts since the last listing
	notBefore time.Time       // of the next attempt to connect
	failure   error           // of the last
}

// NewServer checks the declaration and contacts nobody. Its error wraps [agent.ErrConfig] and names the field.
func NewServer(cfg ServerConfig) (*Server, error) {
	d, err := cfg.check()
	if err != nil {
		return nil, err
	}
	s := &Server{
		declared: d, id: d.identity(), redact: d.secrets(), hidden: d.credentials(), turn: make(chan struct{}, 1),
	}
	s.cancels = make(map[*context.CancelCauseFunc]struct{})
	return s, nil
}

// Name is the server's label.
func (s *Server) Name() string { return s.declared.Name }

var (
	errClosed      = errors.New("the connection was closed")
	errBroken      = errors.New("the connection broke")
	errCallTimeout = errors.New("the server did not answer in time")
)

// Close ends what is under way, the connection, and a server that was started here together with what it started. It
// returns when all of that is gone, within a few seconds. Nothing works afterwards.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	for cancel := range s.cancels {
		(*cancel)(errClosed)
	}
	s.mu.Unlock()
	s.turn <- struct{}{} // whoever has it has just been told to stop
	if s.session != nil {
		_ = s.session.client.Close() // that it could not say goodbye is no failure of ours
		s.session, s.current = nil, nil
	}
	<-s.turn
	s.running.Wait()
	return nil
}

// enter begins something that Close ends. The caller calls the function it returns.
func (s *Server) enter(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		cancel(errClosed)
		return nil, nil, fmt.Errorf("mcp server %q: %w", s.Name(), errClosed)
	}
	s.cancels[&cancel] = struct{}{}
	return ctx, func() {
		s.mu.Lock()
		delete(s.cancels, &cancel)
		s.mu.Unlock()
		cancel(nil)
	}, nil
}

// tools returns what the server offers: the last listing if it will do and nothing speaks against it, else a new one.
func (s *Server) tools(ctx context.Context, willDo func(*listing) bool) (*listing, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, s.wrong(ctx, "connect", context.Cause(ctx))
	}
	if l := s.current; l != nil && !l.session.broken.Load() && l.changed == l.session.changed.Load() && willDo(l) {
		return l, nil
	}
	return s.refresh(ctx)
}

// refresh lists the tools, over a new connection when there is none or when the one there is turns out to be broken.
func (s *Server) refresh(ctx context.Context) (*listing, error) {
	for {
		connected := s.session != nil && !s.session.broken.Load()
		if !connected {
			if err := s.connect(ctx); err != nil {
				return nil, err
			}
		}
		l, err := s.list(ctx, s.session)
		if err == nil {
			s.failures, s.current = 0, l
			return l, nil
		}
		if _, lost := errors.AsType[*lostError](err); !lost || ctx.Err() != nil {
			return nil, s.wrong(ctx, "list its tools", err)
		}
		s.retire(s.session)
		if !connected {
			return nil, s.failed("list its tools", err)
		}
	}
}

// connect makes the connection, unless that failed a moment ago.
func (s *Server) connect(ctx context.Context) error {
	if s.session != nil {
		s.retire(s.session)
	}
	if wait := time.Until(s.notBefore); wait > 0 {
		return fmt.Errorf("%w; the next attempt is made in %s", s.failure, wait.Round(100*time.Millisecond))
	}
	sess, err := s.dial(ctx)
	switch {
	case err == nil:
		s.session = sess
		return nil
	case ctx.Err() != nil:
		return s.wrong(ctx, "connect", context.Cause(ctx))
	}
	return s.failed("connect", err)
}

const (
	minBackoff = time.Second
	maxBackoff = 30 * time.Second
)

// failed notes a failure; for a while nothing is attempted then. The time doubles with each failure in a row.
func (s *Server) failed(doing string, err error) error {
	s.failure = s.unusable(doing, err)
	s.notBefore = time.Now().Add(min(minBackoff<<min(s.failures, 10), maxBackoff))
	s.failures++
	s.Logger.Warn("an MCP server cannot be used", "error", s.failure)
	return s.failure
}

// retire gives a session up: calls that are under way on it may end.
func (s *Server) retire(sess *session) {
	sess.broken.Store(true)
	s.session, s.current = nil, nil
	s.running.Go(func() { _ = sess.client.Close() })
}

// wrong says what could not be done with which server. When the context has ended, that is why.
func (s *Server) wrong(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("mcp server %q: %s: %w", s.Name(), doing, context.Cause(ctx))
	}
	return s.unusable(doing, err)
}

// unusable says what to look at. The texts of servers and of the library do not go further than they are cleaned of
// secrets, and that one of them timed out or was cancelled is not said of the caller's context.
func (s *Server) unusable(doing string, err error) error {
	look := "check that the server runs, its url and its headers"
	if s.transport == stdio {
		look = "check its command and environment"
	}
	return fmt.Errorf("mcp server %q (%s): %s: %s; %s", s.Name(), s.where(), doing, s.say(err.Error()), look)
}
