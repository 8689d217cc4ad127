package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"countersign/approvals"
	"countersign/internal/filepages"
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

// noAnswer is what probes and people are told of a store that does not answer; the log has why.
const noAnswer = "the store does not answer"

// health says whether the process can do its work, for who would start it again: whether the store's file answers. A
// database that is gone comes back by itself, and another start would not bring it: that is for ready to say.
func (s *server) health(w http.ResponseWriter, r *http.Request) {
	switch err := s.storeAnswers(r.Context()); {
	case err == nil:
		fmt.Fprintln(w, "ok")
	case s.shared():
		fmt.Fprintln(w, "ok, but "+noAnswer)
	default:
		s.log.Error("store does not answer", "error", err)
		http.Error(w, noAnswer, http.StatusServiceUnavailable)
	}
}

// ready says whether the bot hears Slack and has its store.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.bot.Ready():
	default:
		http.Error(w, "not connected to Slack, or Slack refuses the bot token", http.StatusServiceUnavailable)
		return
	}
	err := s.storeAnswers(r.Context())
	if errors.Is(err, approvals.ErrNewer) {
		http.Error(w, "a newer version of the program has taken over the store: upgrade this replica",
			http.StatusServiceUnavailable)
		return
	}
	s.outage.note(s.log, err)
	if err != nil {
		http.Error(w, noAnswer, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
	s.newer.say(w)
	s.sayAbsent(w)
}

// outage notes when the store ceases to answer, and when it answers again.
type outage struct {
	mu    sync.Mutex
	since time.Time // zero: it answers
}

func (o *outage) note(log *slog.Logger, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err != nil && o.since.IsZero():
		o.since = time.Now()
		log.Error("ALERT: the store does not answer; nothing is recorded until it does", "error", err)
	case err == nil && !o.since.IsZero():
		log.Info("the store answers again", "after", time.Since(o.since).Round(time.Millisecond))
		o.since = time.Time{}
	}
}

// sayWhenReady logs the moment from which the bot hears Slack.
func (s *server) sayWhenReady(ctx context.Context) error {
	select {
	case <-s.bot.Ready():
		s.log.Info("ready")
		if err := filepages.Release(); err != nil {
			s.log.Debug("memory that the start needed is not given back", "error", err)
		}
	case <-ctx.Done():
	}
	<-ctx.Done()
	return nil
}
