package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/bot"
	"countersign/internal/invariant"
)

// errDead is what everything outside says to a process that is gone.
var errDead = fmt.Errorf("the process is dead: %w", approvals.ErrClosed)

// replica is one process: everything it has in memory. All it does outside passes its gate.
type replica struct {
	world   *world
	name    string
	store   approvals.Store
	handler http.Handler
	ended   chan struct{}
	kill    context.CancelFunc

	dead   atomic.Bool
	doomed atomic.Bool // it will be killed, and another one started in its place
	mu     sync.Mutex
	fuse   int           // how often it passes its gate before it dies; 0: it does not
	frozen chan struct{} // closed when it thaws; nil: it is not frozen
}

// pass is called before and behind everything that a process does to the world outside.
func (p *replica) pass() error {
	p.mu.Lock()
	if p.fuse > 0 {
		if p.fuse--; p.fuse == 0 {
			p.world.note("death of " + p.name)
			p.dead.Store(true)
			p.kill()
		}
	}
	frozen := p.frozen
	p.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	if p.dead.Load() {
		return errDead
	}
	return nil
}

// dieAfter has the process die when it has passed its gate n times.
func (p *replica) dieAfter(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fuse = n
}

// freeze stops the process as SIGSTOP does, and thaw lets it go on.
func (p *replica) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

func (p *replica) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

// die ends the process at once.
func (p *replica) die() {
	p.dead.Store(true)
	p.kill()
	p.thaw()
}

// gated is the store of a process.
type gated struct {
	approvals.Store
	of *replica
}

func (g gated) View(ctx context.Context, fn func(approvals.Tx) error) error {
	if err := g.of.pass(); err != nil {
		return err
	}
	return g.Store.View(ctx, fn)
}

func (g gated) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	if err := g.of.pass(); err != nil {
		return err
	}
	err := g.Store.Update(ctx, fn)
	if dead := g.of.pass(); dead != nil {
		return dead
	}
	return err
}

// UncertainSince implements approvals.Clock.
func (g gated) UncertainSince() time.Time { return g.Store.(approvals.Clock).UncertainSince() }

// ways is the network between a process and Slack, as far as the process is there.
type ways struct {
	of   *replica
	wire *wire
}

func (w ways) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := w.of.pass(); err != nil {
		return nil, err
	}
	resp, err := w.wire.RoundTrip(req)
	if dead := w.of.pass(); dead != nil {
		return nil, dead
	}
	return resp, err
}

// witness is the service of a process, which notes what people are told is taken.
type witness struct {
	*approvals.Service
	of *replica
}

func (w witness) DecideOn(
	ctx context.Context, seen *approvals.Request, d approvals.Decision,
) (*approvals.Request, error) {
	r, err := w.Service.DecideOn(ctx, seen, d)
	if err == nil && !w.of.dead.Load() {
		w.of.world.click(invariant.Click{Request: d.Request, By: d.By, Verdict: d.Verdict})
	}
	return r, err
}

// Respond implements agent.Model for the agents of a process.
func (p *replica) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	if err := p.pass(); err != nil {
		return nil, err
	}
	resp, err := p.world.respond(ctx, req)
	if dead := p.pass(); dead != nil {
		return nil, dead
	}
	return resp, err
}

// invoke carries out a tool.
func (p *replica) invoke(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
	if err := p.pass(); err != nil {
		return agent.ToolOutput{}, err
	}
	out, err := p.world.carryOut(ctx, c)
	if p.world.dice.fault("killed in a tool", 100) { // the moment that matters most, and that few crashes hit
		p.world.doom(p, 1)
	}
	if dead := p.pass(); dead != nil {
		return agent.ToolOutput{}, dead
	}
	return out, err
}

// boot starts a process on the store.
func (w *world) boot(name string) *replica {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	p := &replica{world: w, name: name, ended: make(chan struct{}), kill: cancel}
	p.store = gated{w.data.Open(), p}
	log := slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelWarn})).With("replica", name)
	client, err := bot.NewClient(bot.ClientConfig{Token: w.slack.Config().BotToken, APIURL: w.slack.APIURL(),
		HTTPClient: &http.Client{Timeout: 10 * time.Second, Transport: ways{p, w.toSlack}}, Logger: log})
	w.must(err)
	agents := agentsOf{p}
	service, err := approvals.NewService(approvals.ServiceConfig{Store: p.store, Policy: w, Directory: client,
		Agents: agents, Requesters: approvals.Approvers{ChannelMembers: true}, Logger: log})
	w.must(err)
	b, err := bot.New(bot.Config{Client: client, Service: witness{service, p}, Mode: bot.ModeHTTP,
		SigningSecret: w.slack.Config().SigningSecret, DefaultAgent: "ops", Logger: log})
	w.must(err)
	worker, err := approvals.NewWorker(approvals.WorkerConfig{Store: p.store, Agents: agents, Notifier: b, Policy: w,
		Directory: client, Logger: log, Watcher: b})
	w.must(err)
	p.handler = b.Handler()
	go func() {
		defer close(p.ended)
		var both sync.WaitGroup
		for _, run := range []func(context.Context) error{b.Run, worker.Run} {
			both.Go(func() {
				if err := run(ctx); err != nil && !p.dead.Load() && !errors.Is(err, approvals.ErrClosed) {
					w.t.Errorf("replica %s ended: %v", name, err)
				}
			})
		}
		both.Wait()
		p.store.Close()
	}()
	return p
}

// agentsOf knows the agents as a process runs them.
type agentsOf struct{ *replica }

// Agent implements approvals.Agents.
func (a agentsOf) Agent(string) (approvals.AgentConfig, error) {
	return approvals.AgentConfig{Agent: &agent.Agent{Name: "ops", Model: a.replica, Tools: tools(a.invoke)}}, nil
}
