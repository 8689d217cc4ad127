package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/approvals"
	"countersign/bot"
	"countersign/internal/agentsfile"
	"countersign/internal/catalog"
)

// CheckSlack asks Slack whether the tokens and scopes are good, which workspace they are for, and whether the user
// groups of the agents file exist.
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
	ws, err := workspace(ctx, client)
	if err != nil {
		return "", err
	}
	return ws, checkGroups(ctx, client, ws, c.File)
}

// checkGroups asks Slack for each user group that the file names, and returns what is wrong with the file: a group that
// does not exist has nobody in it, and what it alone may answer is never asked.
func checkGroups(ctx context.Context, client *bot.Client, ws approvals.WorkspaceID, f *agentsfile.File) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var wrong agentsfile.Problems
	for _, group := range f.Groups() {
		_, err := client.Members(ctx, ws, group.Value, time.Time{})
		switch {
		case errors.Is(err, approvals.ErrNotFound):
			wrong = append(wrong, &agentsfile.Problem{
				Position: group.Position,
				Message:  fmt.Sprintf("the workspace has no user group %s, or it is disabled", group),
			})
		case err != nil:
			return explainSlack(err)
		}
	}
	if wrong == nil {
		return nil
	}
	return Misconfigured(wrong)
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
	one, ok := s.bot.(*bot.Bot)
	if !ok { // each workspace is asked about its own once the bot runs
		return checkOAuth(ctx, s.cfg)
	}
	err := one.Check(ctx)
	if scopes, ok := errors.AsType[*bot.ScopeError](err); ok {
		s.log.Error("the Slack app lacks scopes; what needs them will not work", "missing", scopes.Missing)
		return nil
	}
	return explainSlack(err)
}
