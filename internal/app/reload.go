package app

import (
	"context"
	"encoding/hex"
	"errors"

	"countersign/internal/agentsfile"
)

// reloadOnSignal reads the agents file again at every SIGHUP.
func (s *server) reloadOnSignal(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.hangup:
			s.reload()
		}
	}
}

// reload puts the file in force, or leaves everything as it is and says so.
func (s *server) reload() {
	before := s.live.current.Load()
	next, err := LoadCatalog(s.cfg, s.parts)
	if err == nil {
		err = s.adopt(next)
	}
	if err != nil {
		s.parts.Servers.Retire(before.Catalog)
		s.metrics.reloads.WithLabelValues(reloadRefused).Inc()
		s.log.Error("ALERT: the agents file was not reloaded; the one read before stays in force",
			"problems", problemLines(err))
		return
	}
	s.trail.expect(next)
	s.parts.Servers.Retire(next)
	s.metrics.reloads.WithLabelValues(reloaded).Inc()
	if next.Limits().PendingPerPerson != before.Limits().PendingPerPerson {
		s.log.Warn("limits.pending_per_person takes effect at the next start")
	}
	s.log.Info("agents file reloaded", "sha256", hex.EncodeToString(next.File.Digest[:]))
}

func problemLines(err error) []string {
	problems, ok := errors.AsType[agentsfile.Problems](err)
	if !ok {
		return []string{err.Error()}
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Error()
	}
	return lines
}
