package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"countersign/approvals"
	"countersign/bot"
)

// surface is what the server needs of Slack: a bot.Bot in one workspace, bot.Workspaces in several.
type surface interface {
	approvals.Notifier
	approvals.Reader
	approvals.Watcher
	approvals.Follower
	Run(ctx context.Context) error
	Ready() <-chan struct{}
	Handler() http.Handler
}

// readInstallations reads from the store where the app is installed, if it is one for several workspaces.
func (s *server) readInstallations(ctx context.Context) error {
	if !s.cfg.Installs() {
		return nil
	}
	var err error
	s.clients, s.known, err = installed(ctx, s.cfg, s.store, s.log)
	s.directory = s.clients
	return err
}

// installed reads from the store where the app is installed, and returns the clients of all who have it.
func installed(
	ctx context.Context, cfg *Config, st approvals.Store, log *slog.Logger,
) (*bot.Clients, []*approvals.Installation, error) {
	known, err := approvals.NewInstallations(st, log).All(ctx)
	if err != nil {
		return nil, nil, err
	}
	clients, err := bot.NewClients(bot.ClientConfig{
		APIURL: cfg.SlackAPIURL, Logger: log, Replicas: func() int { return replicas(st) },
	}, known)
	return clients, known, err
}

// InstalledDirectory knows the people of all workspaces in which the store says that the app is installed.
func InstalledDirectory(
	ctx context.Context, cfg *Config, st approvals.Store, log *slog.Logger,
) (approvals.Directory, error) {
	clients, _, err := installed(ctx, cfg, st, log)
	return clients, err
}

// newBot returns the bot of the workspace, or those of all in which the app is installed.
func (s *server) newBot(agent string) (surface, error) {
	if !s.cfg.Installs() {
		return bot.New(bot.Config{
			Client: s.client, Service: s.service, Mode: bot.Mode(s.cfg.SlackMode), AppToken: s.cfg.AppToken.Reveal(),
			SigningSecret: s.cfg.SigningSecret.Reveal(), DefaultAgent: agent, Logger: s.log,
			SharedAnswers: s.sharedAnswers, Prompts: s.prompts, Alone: !s.shared(), Tracer: s.traces.Tracer(),
		})
	}
	if len(s.live.current.Load().File.Workspaces) == 0 {
		s.log.Warn("whoever Slack lets install the app runs these agents: the agents file names no workspaces")
	}
	return bot.NewWorkspaces(bot.WorkspacesConfig{
		Clients: s.clients, Installations: approvals.NewInstallations(s.store, s.log), Known: s.known,
		Service: s.service, SigningSecret: s.cfg.SigningSecret.Reveal(), DefaultAgent: agent, Logger: s.log,
		Prompts: s.prompts, OAuth: s.cfg.oauth(), Alone: !s.shared(), SharedAnswers: s.sharedAnswers,
		Tracer: s.traces.Tracer(),
		Serves: func(ws approvals.WorkspaceID) bool { return s.live.current.Load().Serves(ws) },
	})
}

// sharedAnswers is shared_channel_answers of the agents file in force.
func (s *server) sharedAnswers() bool { return s.live.current.Load().File.SharedAnswers }

// oauth is how the app proves who it is when it is installed.
func (c *Config) oauth() bot.OAuth {
	return bot.OAuth{ClientID: c.ClientID, ClientSecret: c.ClientSecret.Reveal(), PublicURL: c.CallbackURL()}
}

// checkOAuth asks Slack whether the app's id and secret are good.
func checkOAuth(ctx context.Context, cfg *Config) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return explainSlack(cfg.oauth().Check(ctx, bot.ClientConfig{APIURL: cfg.SlackAPIURL}))
}

// CheckInstalls asks Slack whether the app's id and secret are good, and says how the app is installed.
func CheckInstalls(ctx context.Context, cfg *Config) (string, error) {
	if err := checkOAuth(ctx, cfg); err != nil {
		return "", err
	}
	return fmt.Sprintf("several workspaces: people install the app at %s; its redirect URL is %s; "+
		"the app's id and secret are good", cfg.CallbackURL()+bot.PathInstall, cfg.CallbackURL()+bot.PathOAuth), nil
}

// workspaces are those in which the bot works now.
func (s *server) workspaces() []approvals.WorkspaceID {
	if s.clients == nil {
		return []approvals.WorkspaceID{s.workspace}
	}
	return s.clients.Workspaces()
}

// where names them for the log.
func (s *server) where() string {
	var ids []string
	for _, ws := range s.workspaces() {
		ids = append(ids, string(ws))
	}
	if ids == nil {
		return "none yet: install the app at " + s.cfg.CallbackURL() + bot.PathInstall
	}
	return strings.Join(ids, ",")
}

// sayAbsent adds to the readiness the workspaces that the app was removed from.
func (s *server) sayAbsent(w io.Writer) {
	several, ok := s.bot.(*bot.Workspaces)
	if !ok {
		return
	}
	for _, a := range several.Absent() {
		fmt.Fprintf(w, "not installed in %s since %s: %s\n", a.Workspace, a.Since.UTC().Format(time.RFC3339), a.Why)
	}
}
