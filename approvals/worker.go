package approvals

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"countersign/agent/trace"
)

// What a WorkerConfig leaves out.
const (
	defaultLease = 15 * time.Second
	defaultRenew = 5 * time.Second
	defaultDrain = 5 * time.Second
)

// WorkerConfig is what a Worker needs. Zero durations have defaults; Logger may be nil.
type WorkerConfig struct {
	Store     Store
	Agents    Agents
	Notifier  Notifier
	Policy    Policy
	Directory Directory
	Limits    Limits
	Lease     time.Duration // how long a claim holds without renewal; 15 s
	Renew     time.Duration // how often it is renewed; 5 s
	Drain     time.Duration // how long tools that run when the worker stops may go on; 5 s
	Logger    *slog.Logger
	Triggers  Triggers     // where external calls are sent; nil: nowhere
	PublicURL string       // where their results arrive, see ServiceConfig
	Tracer    trace.Tracer // follows the runs for a tracing system; nil: none
	// Retention says for how long records are kept, each time it is called; nil: for ever.
	Retention func() Retention
	// Requesters are the people who may start runs, which is asked each time: before a run starts, and of everybody
	// whose words a model is to read. nil: whoever has asked for a run may start it, and nobody else's words are read.
	Requesters func(WorkspaceID) Approvers
	// Reader reads threads and files for the models; nil: they read what is written to the bot alone.
	Reader  Reader
	Watcher Watcher // is told what runs do; nil: nobody is
	// Follower shows runs while they are under way; nil: nothing does.
	Follower Follower
	// Sealed is told of the audit entries that this worker has linked into a chain, in their order, once that is
	// committed: in a store that several processes use each entry is told to one of their workers, and to none when
	// that one ends meanwhile. It may be nil.
	Sealed func(ctx context.Context, entries []*AuditEntry)
	// Newer is told of every job that is left to others because only a newer version of this program can do it: what
	// it is about is ErrNewer. It may be nil.
	Newer func()
}

// Worker executes what is due: runs, deliveries and timers. Between jobs it keeps nothing in memory but the names of
// the leases it holds; any number of workers may share a store that several processes can open.
type Worker struct {
	store      Store
	agents     Agents
	notifier   Notifier
	policy     Policy
	directory  Directory
	limits     Limits
	lease      time.Duration
	renew      time.Duration
	drain      time.Duration
	log        *slog.Logger
	tracer     trace.Tracer
	triggers   Triggers
	publicURL  string
	retention  func() Retention
	reader     Reader
	requesters func(WorkspaceID) Approvers
	watcher    Watcher
	follower   Follower
	sealed     func(context.Context, []*AuditEntry)
	newer      func()
	start      string // names this start of the worker; the owner of a lease begins with it
	claims     claims // leases that are held now
	others     othersLeases
	deliverers chan struct{} // one element for each delivery under way
	beginning  beginning
	late       late
}

// NewWorker returns a Worker, or an error that names the missing field.
func NewWorker(cfg WorkerConfig) (*Worker, error) {
	for name, missing := range map[string]bool{
		"Store": cfg.Store == nil, "Agents": cfg.Agents == nil, "Notifier": cfg.Notifier == nil,
		"Policy": cfg.Policy == nil, "Directory": cfg.Directory == nil,
	} {
		if missing {
			return nil, fmt.Errorf("%w: worker without %s", ErrInvalid, name)
		}
	}
	w := &Worker{
		store: cfg.Store, agents: cfg.Agents, notifier: cfg.Notifier, policy: cfg.Policy, directory: cfg.Directory,
		limits: cfg.Limits,
		lease:  orDefault(cfg.Lease, defaultLease),
		renew:  orDefault(cfg.Renew, defaultRenew),
		drain:  orDefault(cfg.Drain, defaultDrain),
		log:    logger(cfg.Logger),
		tracer: cfg.Tracer, triggers: cfg.Triggers, publicURL: cfg.PublicURL,
		retention: cfg.Retention,
		reader:    cfg.Reader, requesters: cfg.Requesters, watcher: cfg.Watcher,
		follower: cfg.Follower, sealed: cfg.Sealed, newer: cfg.Newer,
		start: rand.Text(),

		deliverers: make(chan struct{}, deliverAtOnce),
		beginning:  newBeginning(),
		late:       late{runs: map[RunKey]struct{}{}},
	}
	if w.renew >= w.lease {
		return nil, fmt.Errorf("%w: worker renews a lease of %s only every %s", ErrInvalid, w.lease, w.renew)
	}
	return w, nil
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// Run executes jobs until ctx ends. Then nothing new begins, models are not called any more, running tools have
// WorkerConfig.Drain to finish, and Run returns; what was begun goes on with the next start.
func (w *Worker) Run(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.watch(watching)
	}()
	defer func() {
		stop()
		<-done
		w.sealLast(ctx)
	}()
	if err := w.store.Dispatch(ctx, w.handle); err != nil {
		return fmt.Errorf("work: %w", err)
	}
	return nil
}

var errPanic = errors.New("handler panicked")

// handle does one job. When that fails and was not merely put off, the log says why it will be repeated.
func (w *Worker) handle(ctx context.Context, job Job) error {
	err := w.do(ctx, job)
	if errors.Is(err, ErrNewer) && w.newer != nil {
		w.newer()
	}
	if _, later := errors.AsType[*RetryError](err); err != nil && !later && ctx.Err() == nil {
		w.log.WarnContext(ctx, "job failed and will be repeated",
			"kind", job.Kind, "id", job.ID, "attempts", job.Attempts+1, "error", err)
	}
	return err
}

// do does one job. A panic ends the run it happened in, or fails the job, and nothing else.
func (w *Worker) do(ctx context.Context, job Job) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		// The value may hold arguments; its type and the stack do not.
		w.log.ErrorContext(ctx, "handler panicked", "kind", job.Kind, "id", job.ID,
			"type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
		err = errPanic
		if job.Kind == JobRun {
			err = w.failAfterPanic(context.WithoutCancel(ctx), job)
		}
	}()
	switch job.Kind {
	case JobRun:
		leave, err := w.beginning.enter(ctx)
		if err != nil {
			return err
		}
		defer leave()
		return w.execute(ctx, job)
	case JobDeliver:
		return w.deliver(ctx, job)
	case JobTimer:
		return w.actOn(ctx, job)
	case JobTrigger:
		return w.sendTrigger(ctx, job)
	case JobCleanup:
		return w.cleanup(ctx, job)
	}
	return fmt.Errorf("job of the kind %q: %w", job.Kind, ErrNewer)
}
