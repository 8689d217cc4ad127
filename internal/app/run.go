package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"countersign/agent"
	"countersign/internal/catalog"
	"countersign/internal/control"
	"countersign/internal/headroom"
	"countersign/internal/lineage"
	"countersign/internal/traces"
	"countersign/store/boltstore"
)

// The bounds of a start and of an end.
const (
	startTimeout = 5 * time.Second        // for Slack to say what it thinks of a token
	drainTimeout = 5 * time.Second        // for what is under way when the program is told to stop
	toolDrain    = 3 * time.Second        // for tools that run then
	traceDrain   = 800 * time.Millisecond // for the traces that are left, when all else has ended
)

// Run runs the bot until ctx ends. Tools are the Go functions that the agents file may name; logs go to stderr. An
// error that wraps ErrConfig is one that a person mends.
func Run(ctx context.Context, cfg *Config, tools []agent.Tool, stderr io.Writer) error {
	mark, unmarked := lineage.Set() // before anything is started
	defer headroom.Keep()()
	if err := cfg.CheckRun(); err != nil {
		return errors.Join(err, unusableAgents(cfg, tools))
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // from now on: before the bot is ready it must not end it
	defer signal.Stop(hangup)
	s := &server{cfg: cfg, log: cfg.Logger(stderr), metrics: newMetrics(), mark: mark, hangup: hangup}
	s.warnOfDescendants(unmarked)
	servers := catalog.NewServers(BuildVersion().Version, s.log)
	defer servers.Close()
	var err error
	if s.traces, err = traces.New(ctx, cfg.traces, BuildVersion().Version, s.log); err != nil {
		return Misconfigured(err)
	}
	s.parts = catalog.Config{Functions: tools, Model: newModels(cfg, s.log, s.metrics).model, Servers: servers}
	if err := s.open(ctx); err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) { // it was told to stop, and this is what that cut off
			s.log.Info("stopped before it was ready")
			return nil
		}
		return err
	}
	err = s.serve(ctx)
	if closed := s.store.Close(); errors.Is(closed, boltstore.ErrGone) { // which nobody else has said
		err = errors.Join(err, closed)
	}
	return err
}

// unusableAgents says what is wrong with the agents file, where the environment alone keeps the bot from starting: one
// start names everything.
func unusableAgents(cfg *Config, tools []agent.Tool) error {
	servers := catalog.NewServers(BuildVersion().Version, slog.New(slog.DiscardHandler)) // none is contacted
	defer servers.Close()
	_, err := LoadCatalog(cfg, catalog.Config{Functions: tools, Model: catalog.NoModel, Servers: servers})
	return err
}

// serve runs the parts until ctx ends or one of them does, and then for as long as draining takes.
func (s *server) serve(ctx context.Context) error {
	g, running := errgroup.WithContext(ctx)
	part := func(name string, run func(context.Context) error) {
		g.Go(func() error {
			err := run(running)
			if err == nil && running.Err() == nil {
				return fmt.Errorf("%s has ended by itself", name)
			}
			return err
		})
	}
	part("the bot", s.bot.Run)
	part("the worker", s.worker.Run)
	part("the listener", s.serveHTTP)
	if s.metricsListener != nil {
		part("the metrics", s.serveMetrics)
	}
	part("the trail", s.trail.follow)
	part("reloading", s.reloadOnSignal)
	part("the readiness log", s.sayWhenReady)
	if s.checkpoints != nil {
		part("the checkpoints", s.checkpoints.Run)
	}
	if s.socket != nil {
		part("the control socket", func(ctx context.Context) error {
			return (&control.Server{Desk: s.desk(), Judge: s.mark.Judge, Logger: s.log}).Serve(ctx, s.socket)
		})
	}
	ended := make(chan error, 1)
	go func() {
		err := g.Wait()
		s.finishCheckpoints(ctx)
		s.trail.finish(ctx)
		s.flushTraces(ctx)
		ended <- err
	}()
	return s.wait(ctx, running, ended)
}

// flushTraces sends the traces that are left when everything has ended. A collector that does not answer holds nothing
// up for long.
func (s *server) flushTraces(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceDrain)
	defer cancel()
	s.traces.Close(ctx)
}

// wait gives the parts drainTimeout once they are told to stop, by ctx or because one of them has failed.
func (s *server) wait(ctx, running context.Context, ended <-chan error) error {
	select {
	case err := <-ended:
		return s.stopped(err)
	case <-running.Done():
	}
	s.log.Info("stopping")
	select {
	case err := <-ended:
		return s.stopped(err)
	case <-time.After(drainTimeout):
		late := fmt.Errorf("not everything ended within %s; what was cut off goes on with the next start", drainTimeout)
		if why := context.Cause(running); why != context.Cause(ctx) { // a part has failed: nobody else says with what
			return errors.Join(explainSlack(why), late)
		}
		return late
	}
}

func (s *server) stopped(err error) error {
	if err == nil {
		s.log.Info("stopped")
	}
	return explainSlack(err)
}
