package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"syscall"

	"countersign/approvals"
	"countersign/bot"
	"countersign/internal/catalog"
	"countersign/internal/lineage"
	"countersign/internal/traces"
)

// server is the running bot: all parts, wired.
type server struct {
	cfg     *Config
	log     *slog.Logger
	metrics *metrics
	parts   catalog.Config   // what every catalog is made with
	mark    *lineage.Mark    // of what tools start
	hangup  <-chan os.Signal // SIGHUP
	traces  *traces.Provider // nil: none

	client    *bot.Client           // nil: several workspaces
	workspace approvals.WorkspaceID // empty: several
	known     []*approvals.Installation
	clients   *bot.Clients        // of several workspaces; nil: one
	directory approvals.Directory // client or clients
	store     approvals.Store
	live      *live
	service   *service
	bot       surface
	worker    *approvals.Worker
	socket    net.Listener // the operator's
	listener  net.Listener // COUNTERSIGN_LISTEN
	trail     *trail
	outage    outage
	newer     newer

	metricsListener net.Listener // COUNTERSIGN_METRICS_LISTEN; nil: none

	checkpoints *approvals.CheckpointWriter // nil: none are made
}

// open makes the parts, in the order in which a mistake is cheapest to find: the file, the token, the addresses, the
// store. The store is last, because opening it may bring it to a format that the program before this one refuses.
func (s *server) open(ctx context.Context) error {
	first, err := LoadCatalog(s.cfg, s.parts)
	if err != nil {
		return err
	}
	if err := s.connect(ctx); err != nil {
		if errors.Is(err, ErrConfig) {
			err = Misconfigured(errors.Join(s.refused(ctx, first, err), s.unusableStore(ctx)))
		}
		return err
	}
	if err := s.tryListening(); err != nil {
		return err
	}
	if err := s.openStore(ctx); err != nil {
		return err
	}
	err = s.readInstallations(ctx)
	if err == nil {
		err = s.assemble(ctx, first)
	}
	if err != nil {
		s.store.Close()
		return err
	}
	s.log.Info("starting", "workspace", s.where(), "store", s.cfg.StorePlace().String(), "agents", s.cfg.Agents,
		"sha256", hex.EncodeToString(first.File.Digest[:]), "mode", s.cfg.SlackMode)
	return nil
}

// connect asks Slack who the bot is. A refused token ends the start.
func (s *server) connect(ctx context.Context) error {
	if s.cfg.Installs() {
		return nil
	}
	var err error
	s.client, err = bot.NewClient(bot.ClientConfig{
		Token: s.cfg.BotToken.Reveal(), APIURL: s.cfg.SlackAPIURL, Logger: s.log,
		Replicas: func() int { return replicas(s.store) }, // which is opened later
	})
	if err != nil {
		return Misconfigured(err)
	}
	s.directory = s.client
	s.workspace, err = workspace(ctx, s.client)
	return err
}

// refused asks Slack about all tokens when it has refused the first: one start names everything.
func (s *server) refused(ctx context.Context, c *catalog.Catalog, first error) error {
	if _, err := CheckSlack(ctx, s.cfg, c); errors.Is(err, ErrConfig) {
		return err
	}
	return first
}

// assemble wires service, bot and worker, and opens the sockets.
func (s *server) assemble(ctx context.Context, first *catalog.Catalog) error {
	s.live = &live{}
	if err := s.adopt(first); err != nil {
		return err
	}
	// All but Submit stays with this service: it reads the catalog in force through live.
	s.service = &service{
		Service: s.live.current.Load().submitter(s.workspace), live: s.live, metrics: s.metrics, newer: &s.newer,
	}
	var err error
	if s.bot, err = s.newBot(first.File.DefaultAgent); err != nil {
		return Misconfigured(err)
	}
	s.metrics.registry.MustRegister(hears(s.bot.Ready))
	s.worker, err = approvals.NewWorker(approvals.WorkerConfig{
		Store: s.store, Agents: s.live, Policy: s.live, Directory: s.directory, Limits: first.Limits(),
		Notifier: measuredNotifier{s.bot, s.metrics}, Drain: toolDrain, Logger: s.log, Tracer: s.traces.Tracer(),
		Triggers: s.live, PublicURL: s.cfg.CallbackURL(), Retention: s.live.Retention,
		Reader: s.bot, Requesters: s.live.Requesters,
		Watcher: s.bot, Follower: s.bot,
		Sealed: s.sealed, Newer: s.newer.note,
	})
	if err != nil {
		return err
	}
	if err := s.checkSlack(ctx); err != nil {
		return err
	}
	if s.trail, err = newTrail(context.WithoutCancel(ctx), s.store, s.log, s.shared()); err != nil {
		return err
	}
	s.trail.expect(first)
	s.metrics.registry.MustRegister(s.trail)
	s.measureStore()
	if s.checkpoints, err = s.newCheckpoints(); err != nil {
		return err
	}
	return s.listen()
}

// The variables that say where the bot listens.
const (
	listenVariable        = "COUNTERSIGN_LISTEN"
	metricsListenVariable = "COUNTERSIGN_METRICS_LISTEN"
)

// tryListening returns the error that listen would return, and listens nowhere: until the store is open, which may take
// its time, whoever balances load among replicas should find nobody here.
func (s *server) tryListening() error {
	if err := s.openListeners(); err != nil {
		return err
	}
	return s.closeListeners()
}

// openListeners opens both addresses, or none.
func (s *server) openListeners() (err error) {
	if s.listener, err = listenOn(listenVariable, s.cfg.Listen); err != nil {
		return err
	}
	if s.cfg.MetricsListen != "" {
		if s.metricsListener, err = listenOn(metricsListenVariable, s.cfg.MetricsListen); err != nil {
			s.listener.Close()
		}
	}
	return err
}

func (s *server) closeListeners() error {
	err := s.listener.Close()
	if s.metricsListener != nil {
		err = errors.Join(err, s.metricsListener.Close())
	}
	return err
}

// listenOn opens the address of a variable. One that this user may not have, a person mends; one that is taken, or not
// there yet, may be free a little later.
func listenOn(variable, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %w; stop what listens there, or set the variable to another address", variable, err)
	case errors.Is(err, fs.ErrPermission):
		return nil, Misconfigured(fmt.Errorf("%s: %w; ports below 1024 may be the superuser's: set the variable to a "+
			"higher one", variable, err))
	}
	return nil, fmt.Errorf("%s: %w", variable, err)
}

func (s *server) listen() error {
	err := s.openListeners()
	if err != nil {
		return err
	}
	// Without the control socket the bot still does its work; commands then say why they cannot.
	if err = s.listenControl(); err != nil {
		s.log.Warn("commands cannot reach the running bot", "error", err)
	}
	return nil
}

// adopt puts a catalog in force.
func (s *server) adopt(c *catalog.Catalog) error {
	for _, u := range c.Unmatched() {
		s.log.Warn("a policy of the agents file holds for no call: no agent has the tool that it is for",
			"policy", u.Policy, "tool", u.Tool, "near", u.Near)
	}
	cfg := approvals.ServiceConfig{
		Store: s.store, Policy: s.live, Directory: s.directory, Agents: s.live, Requesters: c.Requesters(s.workspace),
		Limits: c.Limits(), Logger: s.log, PublicURL: s.cfg.CallbackURL(), Tracer: s.traces.Tracer(),
	}
	one, err := approvals.NewService(cfg)
	if err != nil {
		return err
	}
	submitter := func(approvals.WorkspaceID) *approvals.Service { return one }
	if s.cfg.Installs() { // whoever may start runs is named by the ids of each workspace
		submitter = func(ws approvals.WorkspaceID) *approvals.Service {
			cfg.Requesters = c.Requesters(ws)
			in, _ := approvals.NewService(cfg) // nothing is missing, as above
			return in
		}
	}
	s.live.current.Store(&inForce{c, submitter})
	return nil
}

// warnOfDescendants says what is not protected from the processes that tools start.
func (s *server) warnOfDescendants(unmarked error) {
	if unmarked != nil {
		s.log.Warn("what a tool leaves behind may decide: once the tool has ended or the bot was started again, "+
			"it cannot be told from an operator at the control socket or with the store's file", "error", unmarked)
	}
	if s.mark.Inherited() {
		s.log.Warn("this bot was started by a tool of another bot: commands beside it are refused")
	}
}
