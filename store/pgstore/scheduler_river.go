package pgstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"countersign/approvals"
)

// reminder is the job that River keeps: it has whoever fetches it look at the jobs with these keys, or at all that are
// due when there are none. It is over when they have been claimed or wait for a slot; no handler runs in it.
type reminder struct {
	Keys []string `json:"keys,omitempty"`
}

const (
	reminderKind  = "countersign_jobs"
	reminderQueue = "countersign_jobs"

	// reminderTimeout bounds one look at the table, not the work that follows from it.
	reminderTimeout = time.Minute
	// rescueAfter is when River repeats a reminder that was fetched by a process which then died.
	rescueAfter = 2 * time.Minute
	// fetchPause is the least time between two fetches of reminders, pollEvery the most.
	fetchPause = 20 * time.Millisecond
	pollEvery  = time.Second
	// fetchedAtOnce is how many reminders a replica looks after at once. They take milliseconds.
	fetchedAtOnce = 500
	// keptReminders is how long River keeps reminders that are done. It looks for them every 30 seconds.
	keptReminders = time.Second
	// longestHeard is the length of the longest name of a schema under which River listens: those of its channels begin
	// with it.
	longestHeard = 46
	// maxRemindedKeys bounds the keys of one reminder. Of more jobs it says only that there are some.
	maxRemindedKeys = 32
)

// Kind is the name of these jobs in River's table.
func (reminder) Kind() string { return reminderKind }

func reminderOf(keys []jobKey) (r reminder) {
	if len(keys) > maxRemindedKeys {
		return r
	}
	for _, k := range keys {
		parts := make([]string, 3)
		for i, part := range []string{string(k.ws), string(k.kind), k.id} {
			parts[i] = base64.RawURLEncoding.EncodeToString([]byte(part))
		}
		r.Keys = append(r.Keys, strings.Join(parts, "."))
	}
	return r
}

// keys returns what reminderOf was given; none says that all jobs are to be looked at.
func (r reminder) keys() (keys []jobKey) {
	for _, text := range r.Keys {
		parts := strings.Split(text, ".")
		if len(parts) != 3 {
			return nil
		}
		for i := range parts {
			data, err := base64.RawURLEncoding.DecodeString(parts[i])
			if err != nil {
				return nil
			}
			parts[i] = string(data)
		}
		keys = append(keys, jobKey{approvals.WorkspaceID(parts[0]), approvals.JobKind(parts[1]), parts[2]})
	}
	return keys
}

// This is what River's InsertTx writes, without reading the row back, and in the round trip that the transaction makes
// anyway. TestReminderRow compares the two. River's UniqueOpts are not for us: a reminder that is being looked after
// would swallow the next one.
const sqlRemind = `insert into river_job (args, kind, max_attempts, queue) values ($1::jsonb, $2, $3, $4)`

// reminderArgs are the arguments of sqlRemind: one reminder of all the jobs.
func reminderArgs(keys []jobKey) ([]any, error) {
	args, err := json.Marshal(reminderOf(keys))
	return []any{string(args), reminderKind, river.MaxAttemptsDefault, reminderQueue}, err
}

// reminded is what a reminder has the scheduler look at. done is closed when that has been done.
type reminded struct {
	keys []jobKey
	all  bool
	done chan struct{}
}

// reminderWorker passes reminders on to the scheduler.
type reminderWorker struct {
	river.WorkerDefaults[reminder]
	to chan<- reminded
}

func (w *reminderWorker) Work(ctx context.Context, j *river.Job[reminder]) error {
	r := reminded{keys: j.Args.keys(), done: make(chan struct{})}
	r.all = len(r.keys) == 0
	select {
	case w.to <- r:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// quiet passes on what an operator should know of what River says, and the same message once a minute: while the
// database cannot be reached River says so every second. When ctx has ended, which ends River, it passes on nothing:
// River, ended while it begins to listen, reports the connection that it closes itself as lost.
func quiet(ctx context.Context, log *slog.Logger) *slog.Logger {
	return slog.New(warnings{log.Handler(), ctx.Done(), new(sync.Map)})
}

const saidAgain = time.Minute

type warnings struct {
	slog.Handler
	ended <-chan struct{}
	said  *sync.Map // of each message, when
}

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	select {
	case <-w.ended:
		return nil
	default:
	}
	if before, ok := w.said.Load(r.Message); ok && r.Time.Sub(before.(time.Time)) < saidAgain {
		return nil
	}
	w.said.Store(r.Message, r.Time)
	return w.Handler.Handle(ctx, r)
}

func (w warnings) WithAttrs(a []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(a), w.ended, w.said}
}
func (w warnings) WithGroup(name string) slog.Handler {
	return warnings{w.Handler.WithGroup(name), w.ended, w.said}
}

// runRiver has River pass reminders on until ctx ends. While the database cannot be reached it tries again.
func runRiver(ctx context.Context, db *pgxpool.Pool, s *Store, to chan<- reminded) {
	for attempt := 0; ctx.Err() == nil; attempt++ {
		client, err := startRiver(ctx, db, s, to)
		if err == nil {
			<-client.Stopped()
			return
		}
		if ctx.Err() != nil {
			return
		}
		s.jobs.log.Warn("River does not start; jobs are found by the sweep", "error", err)
		timer := time.NewTimer(min(backOff(attempt), sweepEvery))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

func startRiver(
	ctx context.Context, db *pgxpool.Pool, s *Store, to chan<- reminded,
) (*river.Client[pgx.Tx], error) {
	schema, poll := s.schema, s.jobs.set.pollAlways
	switch {
	case len(schema) > longestHeard: // it is the session's all the same
		schema, poll = "", true
	case !poll:
		heard, err := notifies(ctx, db, s.schema)
		if err != nil {
			return nil, err
		}
		if poll = !heard; poll {
			s.jobs.log.Info("notifications do not arrive, as behind a pooler of transactions: "+
				"jobs of other replicas are looked for instead", "every", pollEvery)
		}
	}
	cfg := riverConfig(to)
	cfg.Schema, cfg.PollOnly, cfg.Logger = schema, poll, quiet(ctx, s.jobs.log)
	client, err := river.NewClient(riverpgxv5.New(db), cfg)
	if err != nil {
		return nil, err
	}
	return client, client.Start(ctx)
}

// riverConfig is what all of River's clients have in common. They rebuild no indexes, as they would each midnight: that
// waits for every transaction of the database, a backup among them, and breaks off after a while. Each time it would
// leave an index behind that is written to and never used. Nearly empty tables do without.
func riverConfig(to chan<- reminded) *river.Config {
	workers := river.NewWorkers()
	river.AddWorker(workers, &reminderWorker{to: to})
	return &river.Config{
		Queues:                      map[string]river.QueueConfig{reminderQueue: {MaxWorkers: fetchedAtOnce}},
		Workers:                     workers,
		FetchCooldown:               fetchPause,
		FetchPollInterval:           pollEvery,
		JobTimeout:                  reminderTimeout,
		RescueStuckJobsAfter:        rescueAfter,
		ReindexerIndexNames:         []string{},
		CompletedJobRetentionPeriod: keptReminders,
		CancelledJobRetentionPeriod: time.Hour,
		DiscardedJobRetentionPeriod: 24 * time.Hour,
	}
}

// notifyPatience is how long a notification may take that is sent to find out whether any arrive.
const notifyPatience = 3 * time.Second

// notifies reports whether a notification reaches those who listen. It does not where a pooler lends out connections
// for one transaction each, such as pgbouncer's transaction mode.
func notifies(ctx context.Context, db *pgxpool.Pool, schema string) (bool, error) {
	listener, err := db.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer listener.Release()
	channel := pgx.Identifier{schema + ".probe"}.Sanitize()
	if _, err := listener.Exec(ctx, "listen "+channel); err != nil {
		return false, err
	}
	defer func() { // where that fails the connection is closed, and listens no more either
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		_, _ = listener.Exec(ending, "unlisten "+channel)
	}()
	if _, err := db.Exec(ctx, "select pg_notify($1, '')", schema+".probe"); err != nil {
		return false, err
	}
	waiting, cancel := context.WithTimeout(ctx, notifyPatience)
	defer cancel()
	_, err = listener.Conn().WaitForNotification(waiting)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	return err == nil, err
}

// tellOthers sends the notification on which River's clients fetch reminders.
func tellOthers(ctx context.Context, db *pgxpool.Pool, schema string) error {
	payload, _ := json.Marshal(map[string]string{"queue": reminderQueue})
	_, err := db.Exec(ctx, "select pg_notify($1, $2)", schema+".river_insert", string(payload))
	return err
}
