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
)

// rules makes what answers are judged by. See control.Config.
type rules func(*app.Config) (approvals.ServiceConfig, error)

// desk opens what commands work on: the bot's socket while it runs, else the store's file. Without rules, which only a
// command that records an answer has, the file is opened for reading.
func (p *Program) desk(ctx context.Context, r rules) (control.Desk, error) {
	cfg, err := app.ReadConfig()
	if err != nil {
		return nil, err
	}
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	open := control.Config{URL: cfg.Store.Reveal(), Path: cfg.StorePath(), Logger: cfg.Logger(p.Stderr)}
	if r != nil {
		open.Rules = func() (approvals.ServiceConfig, error) { return r(cfg) }
	}
	desk, err := control.Open(ctx, open)
	if errors.Is(err, control.ErrNoStore) {
		return nil, app.Misconfigured(fmt.Errorf("%w; COUNTERSIGN_STORE says where it is", err))
	}
	return desk, app.ExplainStore(err)
}

// rules says what an answer is judged by while the bot does not run. They are the same as the bot's, so this needs the
// agents file for the policy, and Slack to say who the person is.
func (p *Program) rules(cfg *app.Config) (approvals.ServiceConfig, error) {
	servers := catalog.NewServers(app.BuildVersion().Version, slog.New(slog.DiscardHandler)) // none is contacted
	c, err := app.LoadCatalog(cfg, catalog.Config{Functions: p.Tools, Model: catalog.NoModel, Servers: servers})
	if err != nil {
		return approvals.ServiceConfig{}, err
	}
	log := cfg.Logger(p.Stderr)
	directory, err := bot.NewClient(bot.ClientConfig{
		Token: cfg.BotToken.Reveal(), APIURL: cfg.SlackAPIURL, Logger: log,
	})
	if err != nil {
		err = app.Misconfigured(fmt.Errorf("the bot does not run, so this command must ask Slack itself: %w", err))
		return approvals.ServiceConfig{}, err
	}
	return approvals.ServiceConfig{Policy: c, Directory: directory, Agents: c, Limits: c.Limits(), Logger: log}, nil
}
