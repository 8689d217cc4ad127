package app

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spf13/cobra"

	"countersign/approvals"
	"countersign/bot"
	"countersign/internal/agentsfile"
	"countersign/internal/control"
	"countersign/store"
)

type runCommand struct{}

// command is the command line's view of it.
func (c *runCommand) command(l *commandLine) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the bot (what happens without a command)",
		Long: `Run the bot.

Reads the environment and the agents file, checks the Slack token, and runs until SIGTERM or an interrupt.
SIGHUP reads the agents file again.`,
		Example: "  SLACK_BOT_TOKEN=xoxb-… SLACK_APP_TOKEN=xapp-… OPENAI_API_KEY=sk-… countersign run",
		Args:    none,
		RunE:    l.run(c.Run),
	}
	return cmd
}

// The bounds of a start and of an end.
const (
	startTimeout = 5 * time.Second // for Slack to say what it thinks of a token
	drainTimeout = 5 * time.Second // for what is under way when the program is told to stop
	toolDrain    = 3 * time.Second // for tools that run then
)

// headroom is how much more than twice of what is in use the heap may hold before it is collected. What the bot keeps is
// a few megabytes: without it, a collection would come after every four of them, dozens of times a second under load.
const headroom = 16 << 20

// Run runs the bot until ctx ends.
func (c *runCommand) Run(ctx context.Context, p *Program) error {
	// The collector goes by what is allocated. This is, but as nobody touches it, the system gives no memory for it.
	ballast := make([]byte, headroom)
	defer runtime.KeepAlive(ballast)
	cfg, err := ReadConfig()
	if err != nil {
		return err
	}
	if err := cfg.CheckRun(); err != nil {
		return err
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // from now on: before the bot is ready it must not end it
	defer signal.Stop(hangup)
	s := &server{program: p, cfg: cfg, log: newLogger(cfg, p.Stderr), metrics: newMetrics(), hangup: hangup}
	s.mcp = newMCPServers(s.log)
	defer s.mcp.closeAll()
	if err := s.open(ctx); err != nil {
		return err
	}
	defer s.store.Close()
	return s.serve(ctx)
}

// server is the running bot: all parts, wired.
type server struct {
	program *Program
	cfg     *Config
	log     *slog.Logger
	metrics *metrics
	mcp     *mcpServers
	hangup  <-chan os.Signal // SIGHUP

	client    *bot.Client
	workspace approvals.WorkspaceID
	store     approvals.Store
	front     *front
	bot       *bot.Bot
	worker    *approvals.Worker
	socket    net.Listener // the operator's
	listener  net.Listener // COUNTERSIGN_LISTEN
}

// open makes the parts, in the order in which a mistake is cheapest to find: the file, the token, the store.
func (s *server) open(ctx context.Context) error {
	first, err := s.loadCatalog()
	if err != nil {
		return err
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	if s.store, err = store.Open(ctx, s.cfg.Store.Reveal(), store.Config{Logger: s.log}); err != nil {
		return explainStore(err)
	}
	if err := s.assemble(ctx, first); err != nil {
		s.store.Close()
		return err
	}
	s.log.Info("starting", "workspace", s.workspace, "store", s.cfg.StorePath(), "agents", s.cfg.Agents, "sha256",
		hex.EncodeToString(first.file.Digest[:]), "mode", s.cfg.SlackMode)
	return nil
}

// loadCatalog reads the agents file.
func (s *server) loadCatalog() (*catalog, error) {
	return s.program.loadCatalog(s.cfg, newModels(s.cfg, s.log, s.metrics).model, s.mcp)
}

// connect asks Slack who the bot is. A refused token ends the start.
func (s *server) connect(ctx context.Context) error {
	var err error
	s.client, err = bot.NewClient(bot.ClientConfig{Token: s.cfg.BotToken.Reveal(), APIURL: s.cfg.SlackAPIURL, Logger: s.log})
	if err != nil {
		return misconfigured(err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if s.workspace, err = s.client.Workspace(ctx); err != nil {
		return explainSlack(err)
	}
	return nil
}

// assemble wires service, bot and worker, and opens the sockets.
func (s *server) assemble(ctx context.Context, first *catalog) error {
	s.front = &front{live: &live{}, metrics: s.metrics}
	if err := s.adopt(first); err != nil {
		return err
	}
	var err error
	s.bot, err = bot.New(bot.Config{
		Client: s.client, Service: s.front, Mode: bot.Mode(s.cfg.SlackMode), AppToken: s.cfg.AppToken.Reveal(),
		SigningSecret: s.cfg.SigningSecret.Reveal(), DefaultAgent: first.file.DefaultAgent, Logger: s.log,
	})
	if err != nil {
		return misconfigured(err)
	}
	s.worker, err = approvals.NewWorker(approvals.WorkerConfig{
		Store: s.store, Agents: s.front, Notifier: measuredNotifier{s.bot, s.metrics}, Policy: s.front, Directory: s.client,
		Limits: first.limits(), Drain: toolDrain, Logger: s.log,
	})
	if err != nil {
		return err
	}
	if err := s.checkSlack(ctx); err != nil {
		return err
	}
	t, err := newTrail(context.WithoutCancel(ctx), s.store, s.log)
	if err != nil {
		return err
	}
	s.metrics.registry.MustRegister(t)
	return s.listen()
}

func (s *server) listen() error {
	var err error
	if s.listener, err = net.Listen("tcp", s.cfg.Listen); err != nil {
		return fmt.Errorf("COUNTERSIGN_LISTEN: %w", err)
	}
	// Without the control socket the bot still does its work; commands then say why they cannot.
	if s.socket, err = control.Listen(s.cfg.StorePath(), s.log); err != nil {
		s.log.Warn("commands cannot reach the running bot", "error", err)
	}
	return nil
}

// adopt puts a catalog in force.
func (s *server) adopt(c *catalog) error {
	service, err := approvals.NewService(approvals.ServiceConfig{
		Store: s.store, Policy: s.front, Directory: s.client, Agents: s.front, Requesters: c.requesters(s.workspace),
		Limits: c.limits(), Logger: s.log,
	})
	if err != nil {
		return err
	}
	s.front.current.Store(c)
	s.front.service.Store(service)
	return nil
}

// serve runs the parts until ctx ends or one of them does, and then for as long as draining takes.
func (s *server) serve(ctx context.Context) error {
	g, running := errgroup.WithContext(ctx)
	part := func(name string, run func(context.Context) error) {
		g.Go(func() error {
			err := run(running)
			if err == nil && running.Err() == nil {
				return fmt.Errorf("%s has ended by itself", name)
			}
			return err
		})
	}
	part("the bot", s.bot.Run)
	part("the worker", s.worker.Run)
	part("the listener", s.serveHTTP)
	part("reloading", s.reloadOnSignal)
	part("the readiness log", s.sayWhenReady)
	if s.socket != nil {
		part("the control socket", func(ctx context.Context) error {
			return control.Serve(ctx, s.socket, &control.Local{Store: s.store, Decider: s.front}, s.log)
		})
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Wait() }()
	return s.wait(running, ended)
}

// wait gives the parts drainTimeout once they are told to stop.
func (s *server) wait(running context.Context, ended <-chan error) error {
	select {
	case err := <-ended:
		return s.stopped(err)
	case <-running.Done():
	}
	s.log.Info("stopping")
	select {
	case err := <-ended:
		return s.stopped(err)
	case <-time.After(drainTimeout):
		return fmt.Errorf("not everything ended within %s; what was cut off goes on with the next start", drainTimeout)
	}
}

func (s *server) stopped(err error) error {
	if err == nil {
		s.log.Info("stopped")
	}
	return explainSlack(err)
}

// loadCatalog reads the agents file and makes it ready.
func (p *Program) loadCatalog(cfg *Config, model modelMaker, servers *mcpServers) (*catalog, error) {
	file, err := agentsfile.Read(cfg.Agents, lookupEnv)
	if err != nil {
		return nil, misconfigured(explainFile(err))
	}
	c, err := (&builder{functions: p.Tools, model: model, servers: servers}).build(file)
	if err != nil {
		return nil, misconfigured(err)
	}
	return c, nil
}
