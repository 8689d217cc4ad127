package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"countersign/approvals"
	"countersign/internal/lineage"
	"countersign/store"
	"countersign/store/seal"
)

var (
	// ErrNoStore is returned by Open when there is no store, neither a file nor a schema. None is made.
	ErrNoStore = errors.New("there is no store")
	// ErrFileOnly is returned for what is done with a store's file, when the store is a database.
	ErrFileOnly = errors.New("the store is a PostgreSQL database")
	// ErrNoOperator is returned to a process that a tool has started, or of which that cannot be ruled out.
	ErrNoOperator = errors.New("only an operator may do this")
)

// Config says which store to work on. All fields are needed but Rules and Judge.
type Config struct {
	// URL names the store as store.Open takes it, and Path is its file; empty: it is a database.
	URL, Path string
	// Rules says what answers are judged by while no bot runs. With a running bot it is not called: the bot judges.
	Rules func() (Rules, error)
	// Write is set for changes that need no rules. Without Rules and Write the store is opened for reading only.
	Write bool
	// Judge is Local.Judge. With a running bot it is not called.
	Judge func(ctx context.Context, t Trial, r *approvals.Request) (Judgement, error)
	// Keys encrypt the store's file; nil: it is plain. With a running bot they are not needed.
	Keys *seal.Keyring
	// Logger receives what the store has to say.
	Logger *slog.Logger
}

// Rules are what a Service needs; Store and Requesters are filled in.
type Rules struct {
	approvals.ServiceConfig
	// DirectoryOf returns what knows the people where the store says how to ask it; nil: Directory does.
	DirectoryOf func(ctx context.Context, st approvals.Store) (approvals.Directory, error)
	// RequestersOf says who may start runs in a workspace; nil: nobody.
	RequestersOf func(ws approvals.WorkspaceID) approvals.Approvers
}

// requesters are those of all workspaces of the store. Each counts in their own workspace alone.
func (r *Rules) requesters(ctx context.Context) (all approvals.Approvers, err error) {
	if r.RequestersOf == nil {
		return all, nil
	}
	found, err := workspaces(ctx, r.Store)
	for _, ws := range found {
		of := r.RequestersOf(ws)
		all.Users = append(all.Users, of.Users...)
		all.Groups, all.ChannelMembers = of.Groups, of.ChannelMembers // the same words in each
	}
	return all, err
}

// Open returns the desk of the bot that has the store open or, when none runs, one on the store itself. Errors:
// ErrNoStore, ErrNoOperator, and those of Rules and store.Open.
func Open(ctx context.Context, cfg Config) (Desk, error) {
	client, err := dial(ctx, cfg)
	if err == nil {
		return client, nil
	}
	if !errors.Is(err, ErrNotRunning) {
		return nil, err
	}
	if cfg.Path == "" {
		return openDatabase(ctx, cfg)
	}
	if _, err := os.Stat(cfg.Path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w at %s", ErrNoStore, cfg.Path)
	}
	return openFile(ctx, cfg)
}

// dial reaches the bot that works on the store, or one of its replicas.
func dial(ctx context.Context, cfg Config) (*Client, error) {
	if cfg.Path == "" {
		return DialShared(ctx, cfg.URL)
	}
	return Dial(ctx, cfg.Path)
}

// openDatabase opens the store beside the replicas that may work on it. Who has its credentials may do everything; what
// a tool has started has no right to them, and is shown nothing.
func openDatabase(ctx context.Context, cfg Config) (Desk, error) {
	if err := lineage.CheckSelf(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoOperator, err)
	}
	found, err := store.Examine(ctx, cfg.URL)
	switch {
	case err == nil && found.Version == 0:
		return nil, fmt.Errorf("%w in %s", ErrNoStore, found.Place)
	case errors.Is(err, store.ErrNoSchema):
		at, err := store.PlaceOf(cfg.URL)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w in %s", ErrNoStore, at)
	case store.Waits(err): // what else is wrong, opening it says
		return nil, err
	}
	if cfg.Rules == nil {
		return openStore(ctx, cfg, !cfg.Write)
	}
	return openDeciding(ctx, cfg)
}

// openFile opens the store while no bot runs. Only an operator's process may change it.
func openFile(ctx context.Context, cfg Config) (Desk, error) {
	if cfg.Rules == nil && !cfg.Write {
		return openStore(ctx, cfg, true)
	}
	if err := lineage.CheckSelf(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoOperator, err)
	}
	if cfg.Rules == nil {
		return openStore(ctx, cfg, false)
	}
	return openDeciding(ctx, cfg)
}

// openStore opens the store for what needs no rules.
func openStore(ctx context.Context, cfg Config, readOnly bool) (Desk, error) {
	st, err := store.Open(ctx, cfg.URL, store.Config{Logger: cfg.Logger, ReadOnly: readOnly, Keys: cfg.Keys})
	if err != nil {
		return nil, err
	}
	return &Local{Store: st, Via: cfg.via(), Judge: cfg.Judge}, nil
}

// via is the way of answers without a running bot.
func (c *Config) via() string {
	if c.Path == "" {
		return ViaDatabase
	}
	return Via
}

// openDeciding opens the store for an answer. The rules are gathered first: they may be wrong, and nobody else can open
// the store meanwhile.
func openDeciding(ctx context.Context, cfg Config) (Desk, error) {
	rules, err := cfg.Rules()
	if err != nil {
		return nil, err
	}
	rules.Store, err = store.Open(ctx, cfg.URL, store.Config{Logger: cfg.Logger, Keys: cfg.Keys})
	if err != nil {
		return nil, err
	}
	var service *approvals.Service
	if rules.DirectoryOf != nil {
		rules.Directory, err = rules.DirectoryOf(ctx, rules.Store)
	}
	if err == nil {
		rules.Requesters, err = rules.requesters(ctx)
	}
	if err == nil {
		service, err = approvals.NewService(rules.ServiceConfig)
	}
	if err != nil {
		rules.Store.Close()
		return nil, err
	}
	return &Local{Store: rules.Store, Decider: service, Via: cfg.via(), Judge: cfg.Judge}, nil
}
