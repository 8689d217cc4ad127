package app

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"countersign/approvals"
	"countersign/bot"
)

// checkpointDrain is how long the checkpoints of the end may take, when all else has ended.
const checkpointDrain = 800 * time.Millisecond

// newCheckpoints returns what makes checkpoints of the audit trail; nil where none are asked for.
func (s *server) newCheckpoints() (*approvals.CheckpointWriter, error) {
	if s.cfg.AuditKey == "" {
		return nil, nil
	}
	key, err := s.cfg.signingKey()
	if err != nil {
		return nil, Misconfigured(fmt.Errorf("COUNTERSIGN_AUDIT_KEY: %w", err))
	}
	var sink approvals.CheckpointSink = newCheckpointFolder(s.cfg.AuditCheckpoints)
	if channel := s.cfg.checkpointChannel(); channel != "" {
		sink = &bot.CheckpointChannel{Client: s.client, Channel: channel}
	}
	return &approvals.CheckpointWriter{
		Store: s.store, Key: key, Sink: sink, Logger: s.log, Kept: newCheckpointMetrics(s.metrics.registry).kept,
	}, nil
}

// finishCheckpoints makes the checkpoints of the end. A sink that does not answer holds nothing up for long.
func (s *server) finishCheckpoints(ctx context.Context) {
	if s.checkpoints == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkpointDrain)
	defer cancel()
	s.checkpoints.Finish(ctx)
}

// folderPatience is how long a folder may take for a checkpoint before that counts as not kept.
const folderPatience = 30 * time.Second

// checkpointFolder appends checkpoints to a file for each workspace. The folder is never made, nor is what is in the
// files ever read.
type checkpointFolder struct {
	path string
	busy chan struct{} // holds an element while something is written
}

func newCheckpointFolder(path string) *checkpointFolder {
	return &checkpointFolder{path, make(chan struct{}, 1)}
}

// KeepCheckpoint is part of approvals.CheckpointSink. The folder of another machine may never answer, and nothing ends
// a write that hangs: it is left to itself then, until the folder answers or the process ends, and the next one waits
// for it.
func (d *checkpointFolder) KeepCheckpoint(ctx context.Context, c *approvals.Checkpoint) error {
	line, err := c.Line()
	if err != nil {
		return err
	}
	name := filepath.Join(d.path, "checkpoints-"+url.PathEscape(string(c.Workspace))+".jsonl")
	ctx, cancel := context.WithTimeout(ctx, folderPatience)
	defer cancel()
	select {
	case d.busy <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%s has not answered since the last try: %w", d.path, ctx.Err())
	}
	written := make(chan error, 1)
	go func() {
		err := d.write(name, line)
		<-d.busy
		written <- err
	}()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%s does not answer: %w", d.path, ctx.Err())
	}
}

// write returns when the line is on the disk.
func (d *checkpointFolder) write(name string, line []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	// The line break before it ends a line that was broken off, as when the disk was full.
	if _, err := f.Write(append(append([]byte{'\n'}, line...), '\n')); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return d.sync()
}

// sync makes the name of a new file last.
func (d *checkpointFolder) sync() error {
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// checkpointMetrics say whether checkpoints are kept, and since when the newest one is.
type checkpointMetrics struct {
	tries  *prometheus.CounterVec
	newest *prometheus.GaugeVec
}

func newCheckpointMetrics(r prometheus.Registerer) *checkpointMetrics {
	m := &checkpointMetrics{
		tries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "countersign_audit_checkpoints_total",
			Help: "Signed checkpoints of the audit trail by outcome; one that was not kept is tried again.",
		}, []string{"outcome"}),
		newest: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "countersign_audit_checkpoint_timestamp_seconds",
			Help: "When the newest checkpoint of the audit trail that was kept was made.",
		}, []string{"workspace"}),
	}
	for _, word := range []string{"kept", "failed"} {
		m.tries.WithLabelValues(word)
	}
	r.MustRegister(m.tries, m.newest)
	return m
}

func (m *checkpointMetrics) kept(c *approvals.Checkpoint, err error) {
	if err != nil {
		m.tries.WithLabelValues("failed").Inc()
		return
	}
	m.tries.WithLabelValues("kept").Inc()
	m.newest.WithLabelValues(string(c.Workspace)).Set(float64(c.At.UnixNano()) / 1e9)
}
