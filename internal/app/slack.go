package app

import (
	"context"
	"errors"

	"countersign/approvals"
	"countersign/bot"
	"countersign/internal/catalog"
)

// CheckSlack asks Slack whether the tokens and scopes are good, and which workspace they are for.
func CheckSlack(ctx context.Context, cfg *Config, c *catalog.Catalog) (approvals.WorkspaceID, error) {
	client, err := bot.NewClient(bot.ClientConfig{Token: cfg.BotToken.Reveal(), APIURL: cfg.SlackAPIURL})
	if err != nil {
		return "", Misconfigured(err)
	}
	b, err := bot.New(bot.Config{
		Client: client, Service: &approvals.Service{}, Mode: bot.Mode(cfg.SlackMode), AppToken: cfg.AppToken.Reveal(),
		SigningSecret: cfg.SigningSecret.Reveal(), DefaultAgent: c.File.DefaultAgent,
	})
	if err != nil {
		return "", Misconfigured(err)
	}
	if err := b.Check(ctx); err != nil {
		return "", explainSlack(err)
	}
	return workspace(ctx, client)
}

// workspace asks Slack which workspace the bot token is for.
func workspace(ctx context.Context, client *bot.Client) (approvals.WorkspaceID, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ws, err := client.Workspace(ctx)
	return ws, explainSlack(err)
}

// checkSlack asks Slack about the tokens. Missing scopes are said and not fatal: what needs them does not work.
func (s *server) checkSlack(ctx context.Context) error {
	err := s.bot.Check(ctx)
	if scopes, ok := errors.AsType[*bot.ScopeError](err); ok {
		s.log.Error("the Slack app lacks scopes; what needs them will not work", "missing", scopes.Missing)
		return nil
	}
	return explainSlack(err)
}
