package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"countersign/approvals"
	"countersign/bot"
	"countersign/internal/app"
	"countersign/internal/catalog"
	"countersign/internal/control"
	"countersign/store"
)

// desk opens what commands work on: the bot's socket while it runs, else the store's file, for reading.
func (p *Program) desk(ctx context.Context) (control.Desk, error) {
	return open(ctx, p, func(*control.Config, *app.Config) {})
}

// writingDesk is a desk for changes that no policy judges.
func (p *Program) writingDesk(ctx context.Context) (control.Desk, error) {
	return open(ctx, p, func(c *control.Config, _ *app.Config) { c.Write = true })
}

// decidingDesk is a desk that records answers.
func (p *Program) decidingDesk(ctx context.Context) (control.Desk, error) {
	return open(ctx, p, func(c *control.Config, cfg *app.Config) {
		c.Rules = func() (control.Rules, error) { return p.rules(cfg) }
	})
}

// open opens a desk as the environment says, and as allow wants it while no bot runs.
func open(ctx context.Context, p *Program, allow func(*control.Config, *app.Config)) (control.Desk, error) {
	cfg, c, err := p.storeConfig()
	if err != nil {
		return nil, err
	}
	allow(&c, cfg)
	desk, err := control.Open(ctx, c)
	if errors.Is(err, store.ErrInUse) { // by a bot that cannot be asked: it is not to be stopped for that
		return nil, fmt.Errorf("%w; a bot that starts or ends now can be asked in a moment; one that could not make "+
			"its socket says so in its log", err)
	}
	return desk, explainStore(err)
}

// storeConfig says where the store is and what it is opened with, as the environment has it.
func (p *Program) storeConfig() (*app.Config, control.Config, error) {
	cfg, err := app.ReadConfig()
	if err != nil {
		return nil, control.Config{}, err
	}
	if err := cfg.Check(); err != nil {
		return nil, control.Config{}, err
	}
	keys, err := cfg.Keys()
	log := cfg.Logger(p.Stderr)
	trials := &app.Trials{Functions: p.Tools, Logger: log}
	return cfg, control.Config{
		URL: cfg.Store.Reveal(), Path: cfg.StorePath(), Logger: log, Keys: keys, Judge: trials.Judge,
	}, err
}

// explainStore adds to an error of working on the store what to do about it.
func explainStore(err error) error {
	if errors.Is(err, control.ErrNoStore) {
		return app.Misconfigured(fmt.Errorf("%w; COUNTERSIGN_STORE says where it is", err))
	}
	return app.ExplainStore(err)
}

// rules says what an answer is judged by while the bot does not run. They are the same as the bot's, so this needs the
// agents file for the policy, and Slack to say who the person is.
func (p *Program) rules(cfg *app.Config) (control.Rules, error) {
	servers := catalog.NewServers(app.BuildVersion().Version, slog.New(slog.DiscardHandler)) // none is contacted
	c, err := app.LoadCatalog(cfg, catalog.Config{Functions: p.Tools, Model: catalog.NoModel, Servers: servers})
	if err != nil {
		return control.Rules{}, err
	}
	log := cfg.Logger(p.Stderr)
	rules := control.Rules{RequestersOf: c.Requesters, ServiceConfig: approvals.ServiceConfig{
		Policy: c, Agents: c, Limits: c.Limits(), Logger: log, PublicURL: cfg.CallbackURL(),
	}}
	if cfg.Installs() {
		rules.DirectoryOf = func(ctx context.Context, st approvals.Store) (approvals.Directory, error) {
			return app.InstalledDirectory(ctx, cfg, st, log)
		}
		return rules, nil
	}
	rules.Directory, err = bot.NewClient(bot.ClientConfig{
		Token: cfg.BotToken.Reveal(), APIURL: cfg.SlackAPIURL, Logger: log,
	})
	if err != nil {
		err = app.Misconfigured(fmt.Errorf("the bot does not run, so this command must ask Slack itself: %w", err))
		return control.Rules{}, err
	}
	return rules, nil
}
