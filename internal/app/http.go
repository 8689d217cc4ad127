package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"countersign/approvals"
)

// serveHTTP answers on COUNTERSIGN_LISTEN until ctx ends.
func (s *server) serveHTTP(ctx context.Context) error {
	s.log.Info("listening", "address", s.listener.Addr().String())
	return s.answer(ctx, "COUNTERSIGN_LISTEN", s.listener, s.routes())
}

// serveMetrics answers on COUNTERSIGN_METRICS_LISTEN until ctx ends.
func (s *server) serveMetrics(ctx context.Context) error {
	s.log.Info("listening for metrics", "address", s.metricsListener.Addr().String())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metricsPage())
	return s.answer(ctx, "COUNTERSIGN_METRICS_LISTEN", s.metricsListener, mux)
}

// answer serves what comes to the listener of the variable until ctx ends.
func (s *server) answer(ctx context.Context, variable string, l net.Listener, handler http.Handler) error {
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(closed)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout-time.Second)
		defer cancel()
		if srv.Shutdown(grace) != nil {
			srv.Close()
		}
	})
	err := srv.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		<-closed
		return nil
	}
	return fmt.Errorf("%s: %w", variable, err)
}

func (s *server) metricsPage() http.Handler {
	return promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{})
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /readyz", s.ready)
	if s.cfg.metricsBeside() {
		mux.Handle("GET /metrics", s.metricsPage())
	}
	s.routeCallbacks(mux)
	if s.cfg.SlackMode == modeHTTP {
		mux.Handle("/slack/", s.bot.Handler())
	}
	return mux
}

// health says whether the process can do its work: whether the store answers.
func (s *server) health(w http.ResponseWriter, r *http.Request) {
	if err := s.store.View(r.Context(), func(approvals.Tx) error { return nil }); err != nil {
		s.log.Error("store does not answer", "error", err)
		http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// ready says whether the bot hears Slack.
func (s *server) ready(w http.ResponseWriter, _ *http.Request) {
	select {
	case <-s.bot.Ready():
		fmt.Fprintln(w, "ready")
	default:
		http.Error(w, "not connected to Slack, or Slack refuses the bot token", http.StatusServiceUnavailable)
	}
}

// sayWhenReady logs the moment from which the bot hears Slack.
func (s *server) sayWhenReady(ctx context.Context) error {
	select {
	case <-s.bot.Ready():
		s.log.Info("ready")
	case <-ctx.Done():
	}
	<-ctx.Done()
	return nil
}
