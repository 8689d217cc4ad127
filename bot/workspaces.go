package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/agent/trace"
	"countersign/approvals"
)

// Installations keeps where the app is installed; approvals.Installations does.
type Installations interface {
	Install(ctx context.Context, in approvals.Installation) (*approvals.Installation, error)
	End(ctx context.Context, ws approvals.WorkspaceID, token approvals.BotToken, why string) error
	Stop(ctx context.Context, ws approvals.WorkspaceID) (int, error)
	Of(ctx context.Context, ws approvals.WorkspaceID) (*approvals.Installation, error)
	All(ctx context.Context) ([]*approvals.Installation, error)
}

// WorkspacesConfig says what Workspaces works with. All fields but Logger are required.
type WorkspacesConfig struct {
	Clients       *Clients
	Installations Installations
	// Known are the installations at the start, also those that have ended.
	Known         []*approvals.Installation
	Service       Service
	SigningSecret string // SLACK_SIGNING_SECRET
	OAuth         OAuth
	// Serves reports whether the app may be installed in the workspace; nil: it may be in all.
	Serves       func(approvals.WorkspaceID) bool
	DefaultAgent string
	// SharedAnswers is as in Config.
	SharedAnswers func() bool
	Prompts       func(agent string) []Prompt // as Config.Prompts
	Alone         bool                        // as Config.Alone; may be false
	Tracer        trace.Tracer                // as Config.Tracer
	Logger        *slog.Logger
}

// Workspaces is the bot of an app that is installed in several workspaces, in HTTP mode. It has a Bot, with a Client of
// its own, for each of them: what Slack hands over and what is to be shown finds its Bot here, once, by its workspace,
// and no Bot knows of another. People install the app by themselves, at PathInstall.
type Workspaces struct {
	cfg     WorkspacesConfig
	log     *slog.Logger
	front   *Bot // takes requests in; it belongs to no workspace
	install *installer
	hooks   *hookSender
	ready   readiness

	changing sync.Mutex // held while an installation begins or ends

	mu      sync.Mutex
	ctx     context.Context // bots run in it; nil before Run and when that ends
	bots    map[approvals.WorkspaceID]*resident
	gone    map[approvals.WorkspaceID]Absence
	running sync.WaitGroup
}

// resident is the Bot of a workspace.
type resident struct {
	*Bot
	botUser string
	token   approvals.BotToken
	since   time.Time          // of the installation, on the store's clock
	end     context.CancelFunc // of its Run; nil before that
}

// Absence is a workspace in which the app was installed.
type Absence struct {
	Workspace approvals.WorkspaceID
	Since     time.Time
	Why       string // in Slack's word
}

var _ approvals.Notifier = (*Workspaces)(nil)

// NewWorkspaces checks the configuration and returns the bots of the workspaces in which the app is installed. It makes
// no request.
func NewWorkspaces(cfg WorkspacesConfig) (*Workspaces, error) {
	switch {
	case cfg.Clients == nil || cfg.Installations == nil || cfg.Service == nil:
		return nil, errors.New("bot: Clients, Installations or Service is missing")
	case cfg.DefaultAgent == "":
		return nil, errors.New("bot: DefaultAgent is missing")
	case cfg.SigningSecret == "":
		return nil, errors.New("bot: SLACK_SIGNING_SECRET is not set; HTTP mode needs it")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Workspaces{
		cfg: cfg, log: cfg.Logger, bots: map[approvals.WorkspaceID]*resident{},
		gone: map[approvals.WorkspaceID]Absence{},
	}
	w.front = &Bot{mode: ModeHTTP, secret: cfg.SigningSecret, log: cfg.Logger, intake: w.take}
	api, err := url.Parse(cfg.Clients.cfg.APIURL)
	if err != nil {
		return nil, fmt.Errorf("bot: %w", err)
	}
	w.hooks = newHookSender(cfg.Clients.cfg.HTTPClient, api)
	if w.install, err = newInstaller(cfg.OAuth, cfg.Clients.cfg, w.adopt, cfg.Logger); err != nil {
		return nil, err
	}
	w.install.serves = cfg.Serves
	for _, i := range cfg.Known {
		if !i.Live() {
			w.gone[i.Workspace] = Absence{i.Workspace, i.Ended, i.Why}
			continue
		}
		c, err := cfg.Clients.client(i.Workspace)
		if err != nil {
			return nil, err
		}
		if w.bots[i.Workspace], err = w.bot(i, c); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// bot returns the bot of a workspace, which does not run yet.
func (w *Workspaces) bot(i *approvals.Installation, c *Client) (*resident, error) {
	b, err := New(Config{
		Client: c, Service: w.cfg.Service, Mode: ModeHTTP, SigningSecret: w.cfg.SigningSecret,
		DefaultAgent: w.cfg.DefaultAgent, Logger: w.log.With("workspace", i.Workspace), Alone: w.cfg.Alone,
		SharedAnswers: w.cfg.SharedAnswers,
		Prompts:       w.cfg.Prompts, Tracer: w.cfg.Tracer,
	})
	if err != nil {
		return nil, err
	}
	return &resident{Bot: b, botUser: i.BotUser, token: i.Token, since: i.Installed}, nil
}

// Handler serves Slack's requests as Bot.Handler does, for all workspaces, and the pages of the installation.
func (w *Workspaces) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathInstall, w.install.begin)
	mux.HandleFunc("GET "+PathOAuth, w.install.finish)
	mux.Handle("/slack/", w.front.Handler())
	return mux
}

// Ready is as Bot.Ready.
func (w *Workspaces) Ready() <-chan struct{} { return w.ready.channel() }

// Absent lists the workspaces in which the app was installed and is not any more.
func (w *Workspaces) Absent() []Absence {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []Absence
	for _, a := range w.gone {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Absence) int { return strings.Compare(string(a.Workspace), string(b.Workspace)) })
	return all
}

// Run takes in what people do in all workspaces until ctx ends, and returns nil once everything it started is gone.
// That the app was removed from a workspace is no reason to return.
func (w *Workspaces) Run(ctx context.Context) error {
	w.mu.Lock()
	w.ctx = ctx
	for ws, r := range w.bots {
		w.start(r)
		w.running.Go(func() { w.inspect(ctx, ws, r) })
	}
	for ws := range w.gone {
		w.running.Go(func() { w.stop(ctx, ws) }) // what an earlier start has not ended
	}
	w.mu.Unlock()
	if !w.cfg.Alone {
		w.running.Go(func() { w.follow(ctx) })
	}
	w.ready.set(true)
	<-ctx.Done()
	w.ready.set(false)
	w.mu.Lock()
	w.ctx = nil
	w.mu.Unlock()
	w.running.Wait()
	return nil
}

// start runs a bot, unless Run has not begun. w.mu is held.
func (w *Workspaces) start(r *resident) {
	if w.ctx == nil {
		return
	}
	ctx, end := context.WithCancel(w.ctx)
	r.end = end
	w.running.Go(func() {
		defer end()
		if err := r.Bot.Run(ctx); err != nil {
			r.log.Error("the bot of a workspace has ended", "error", err)
		}
	})
	<-r.begun // Run waits for nobody before that
}

// resident returns the bot of the workspace; nil: the app is not installed there.
func (w *Workspaces) resident(ws approvals.WorkspaceID) *resident {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bots[ws]
}

// replace makes r the bot of the workspace and returns the one before, which still runs. nil stands for none.
func (w *Workspaces) replace(ws approvals.WorkspaceID, r *resident) (before *resident) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before = w.bots[ws]
	if r == nil {
		delete(w.bots, ws)
		w.cfg.Clients.put(ws, nil)
		return before
	}
	if r.end == nil {
		w.start(r)
	}
	w.bots[ws] = r
	w.cfg.Clients.put(ws, r.client)
	return before
}

// retire ends a bot that was replaced; nil: there was none.
func (r *resident) retire() {
	if r != nil && r.end != nil {
		r.end()
	}
}

// adopt records an installation and has its bot work from now on. The bot is there before the record: what could not be
// delivered goes on at once.
func (w *Workspaces) adopt(ctx context.Context, in approvals.Installation) error {
	ws := approvals.InstalledIn(in.Enterprise, in.Team)
	in.Workspace = ws
	c, err := w.cfg.Clients.make(&in)
	if err != nil {
		return err
	}
	r, err := w.bot(&in, c)
	if err != nil {
		return err
	}
	w.changing.Lock()
	defer w.changing.Unlock()
	before := w.replace(ws, r)
	made, err := w.cfg.Installations.Install(ctx, in)
	if err != nil {
		w.replace(ws, before)
		r.retire()
		return err
	}
	w.mu.Lock()
	r.since = made.Installed
	delete(w.gone, ws)
	w.mu.Unlock()
	before.retire()
	w.log.Info("the app was installed", "workspace", ws)
	return nil
}

// Notify shows a notification in its workspace; see approvals.Notifier. Nothing can be shown where the app is not
// installed: installing it again puts that back into the outbox.
func (w *Workspaces) Notify(ctx context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	r := w.known(ctx, n.Workspace)
	if r == nil {
		return approvals.Delivery{}, unreachable(fmt.Errorf("notify %s: %s: %w", n.ID, n.Workspace, ErrNotInstalled))
	}
	d, err := r.Notify(ctx, n)
	if word, _ := refusal(err); dead(word) && w.ended(ctx, n.Workspace, r, word) == nil {
		return approvals.Delivery{}, unreachable(fmt.Errorf("notify %s: %s: %w", n.ID, n.Workspace, ErrNotInstalled))
	}
	return d, err
}

// dead reports whether Slack's word means that the token will never be good again.
func dead(word string) bool { return word == "account_inactive" || word == "token_revoked" }

// takeRemoval hands over the event that says that the app was removed, or its token revoked. The bot itself could not
// say who it is any more.
func (w *Workspaces) takeRemoval(ws approvals.WorkspaceID, r *resident, p eventPayload, back receipts) {
	if p.Event.Type == "tokens_revoked" && !slices.Contains(p.Event.Tokens.Bot, r.botUser) {
		w.front.acknowledge(back, nil)
		return
	}
	d := delivery{what: "event " + p.Event.Type, handle: func(ctx context.Context) (answer, error) {
		return answer{}, w.removed(ctx, ws, r, p)
	}}
	if err := r.work.add("removal", func(ctx context.Context) { r.serve(ctx, d, back) }); err != nil {
		r.log.Warn("a delivery was not taken", "what", d.what, "reason", err)
		back.refuse(err)
	}
}

// removed finds out what has become of the app. Slack repeats events, and one may arrive when the app has been
// installed again: so the token is tried. That it is of no use any more is recorded before the event is acknowledged.
func (w *Workspaces) removed(ctx context.Context, ws approvals.WorkspaceID, r *resident, p eventPayload) error {
	_, err := r.client.authTest(ctx)
	var refused *TokenError
	switch {
	case errors.As(err, &refused) && !suspended(refused.Word):
		return w.ended(ctx, ws, r, p.Event.Type)
	case err != nil:
		return fmt.Errorf("%s: is the token still good: %w", p.Event.Type, err)
	}
	w.mu.Lock()
	since := r.since
	w.mu.Unlock()
	if time.Unix(p.EventTime, 0).Before(since) {
		r.log.Info("an old event says that the app was removed; it has been installed again since",
			"event", p.Event.Type)
		return nil
	}
	return fmt.Errorf("%s: the token is still good; waiting for Slack to say so again", p.Event.Type)
}

// ended records that the app is not in the workspace any more, and lets its bot go and its runs stop.
func (w *Workspaces) ended(ctx context.Context, ws approvals.WorkspaceID, r *resident, why string) error {
	w.changing.Lock()
	defer w.changing.Unlock()
	if w.resident(ws) != r {
		return nil // it has been recorded, or the app was installed again
	}
	err := w.cfg.Installations.End(ctx, ws, r.token, why)
	if errors.Is(err, approvals.ErrConflict) {
		err = w.newest(ctx, ws, r)
	}
	if err != nil {
		return err
	}
	w.leave(ws, Absence{ws, time.Now(), why})
	r.retire()
	w.log.Error("the app was removed from a workspace or its token revoked; its runs are stopped, "+
		"other workspaces go on", "workspace", ws, "why", why)
	return nil
}

// stop ends the runs of a workspace without the app. What fails is repeated until ctx ends.
func (w *Workspaces) stop(ctx context.Context, ws approvals.WorkspaceID) {
	for {
		n, err := w.cfg.Installations.Stop(ctx, ws)
		if n > 0 {
			w.log.Warn("runs were stopped: the app is not installed in their workspace any more",
				"workspace", ws, "runs", n)
		}
		if err == nil || errors.Is(err, approvals.ErrClosed) {
			return
		}
		w.log.Error("runs of a workspace without the app could not be stopped", "workspace", ws, "error", err)
		if !sleep(ctx, stopAgain) {
			return
		}
	}
}

// stopAgain is how long after a failure the runs of a workspace are stopped again.
const stopAgain = 5 * time.Second

// inspect finds out at the start whether the app is still where it was installed, and what it may do there.
func (w *Workspaces) inspect(ctx context.Context, ws approvals.WorkspaceID, r *resident) {
	id, err := r.client.identify(ctx)
	var refused *TokenError
	switch {
	case ctx.Err() != nil:
	case errors.As(err, &refused) && dead(refused.Word):
		if err := w.ended(ctx, ws, r, refused.Word); err != nil {
			r.log.Error("a workspace without the app could not be recorded", "error", err)
		}
	case err != nil:
		r.log.Error("a workspace cannot be reached with its token", "error", err)
	default:
		if err := missingScopes(id.scopes); err != nil {
			r.log.Error("the installation lacks scopes; what needs them will not work", "missing", err)
		}
	}
}

var errNobodyReads = &approvals.UnreadableError{Why: wordsAppGone}

// Thread is approvals.Reader, of the run's workspace.
func (w *Workspaces) Thread(
	ctx context.Context, ws approvals.WorkspaceID, place approvals.Place, since time.Time,
) ([]approvals.Remark, error) {
	r := w.resident(ws)
	if r == nil {
		return nil, errNobodyReads
	}
	return r.Thread(ctx, ws, place, since)
}

// ReadFile is approvals.Reader, of the run's workspace.
func (w *Workspaces) ReadFile(
	ctx context.Context, ws approvals.WorkspaceID, f approvals.File, most int,
) (string, error) {
	r := w.resident(ws)
	if r == nil {
		return "", errNobodyReads
	}
	return r.ReadFile(ctx, ws, f, most)
}

// Follow is approvals.Follower: the bot of the run's workspace shows runs while they are under way.
func (w *Workspaces) Follow(f approvals.FollowedRun, feed *approvals.Feed) bool {
	r := w.resident(f.Workspace)
	return r != nil && r.Follow(f, feed)
}

// Watch is approvals.Watcher: the bot of the run's workspace shows what runs do.
func (w *Workspaces) Watch(a approvals.Activity) {
	if r := w.resident(a.Workspace); r != nil {
		r.Watch(a)
	}
}
