package openaidev

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Config says what a server answers.
type Config struct {
	// Addr is where Start listens; empty means a free port on 127.0.0.1.
	Addr string
	// Script decides the answers. Without rules every answer is a fixed sentence.
	Script Script
	// APIKey is the only key accepted. Empty: any bearer token is.
	APIKey string
	// OnRequest, if set, is called for each request before it is answered, possibly from several goroutines at once.
	OnRequest func(Request)
	// Forget stops the recording of requests, for benchmarks.
	Forget bool
	// Pace is the pause between two events of a stream; zero streams as fast as the client reads.
	Pace time.Duration
}

// Server is a [Handler] that listens. Close it when done.
type Server struct {
	*Handler
	listener net.Listener
	http     *http.Server
	done     chan struct{}
}

// Start listens on cfg.Addr and serves in the background until Close.
func Start(cfg Config) (*Server, error) {
	h, err := NewHandler(cfg)
	if err != nil {
		return nil, err
	}
	addr := cfg.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("openai server: %w", err)
	}
	s := &Server{Handler: h, listener: l, done: make(chan struct{})}
	s.http = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go s.serve()
	return s, nil
}

func (s *Server) serve() {
	defer close(s.done)
	_ = s.http.Serve(s.listener)
}

// URL is what OPENAI_BASE_URL is set to; it ends in "/v1".
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/v1" }

// Close ends all connections, and requests that hang. It returns when the server listens no more.
func (s *Server) Close() error {
	s.Release()
	err := s.http.Close()
	<-s.done
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
