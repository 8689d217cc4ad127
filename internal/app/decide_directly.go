package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"countersign/approvals"
	"countersign/bot"
	"countersign/internal/control"
	"countersign/store"
)

// openDeciding opens the store itself, for an answer while the bot does not run. The rules are the same, so it needs
// the agents file for the policy, and Slack to say who the person is.
func (p *Program) openDeciding(ctx context.Context, c *Config) (control.Desk, func(), error) {
	if _, err := os.Stat(c.StorePath()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, misconfigured(fmt.Errorf("there is no store at %s; COUNTERSIGN_STORE says where it is", c.StorePath()))
	}
	log := newLogger(c, p.Stderr)
	rules, err := p.loadCatalog(c, withoutModel, newMCPServers(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, nil, err
	}
	directory, err := bot.NewClient(bot.ClientConfig{Token: c.BotToken.Reveal(), APIURL: c.SlackAPIURL, Logger: log})
	if err != nil {
		return nil, nil, misconfigured(fmt.Errorf("the bot does not run, so this command must ask Slack itself: %w", err))
	}
	st, err := store.Open(ctx, c.Store.Reveal(), store.Config{Logger: log})
	if err != nil {
		return nil, nil, explainStore(err)
	}
	service, err := approvals.NewService(approvals.ServiceConfig{
		Store: st, Policy: rules, Directory: directory, Agents: rules, Limits: rules.limits(), Logger: log,
	})
	if err != nil {
		st.Close()
		return nil, nil, err
	}
	return &control.Local{Store: st, Decider: service}, func() { st.Close() }, nil
}
