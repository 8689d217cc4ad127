package slackdev

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// CloudConfig describes an app that can be installed in several workspaces.
type CloudConfig struct {
	Addr         string // listen address; empty means a free port on 127.0.0.1
	ClientID     string // default "111.222"
	ClientSecret string // default "dev-client-secret"
	// RedirectURLs are those of the app's page OAuth & Permissions.
	RedirectURLs []string
	Scopes       []string // bot scopes that the app may ask for; nil: any
	// Workspaces are served side by side, and the app is installed in none of them. Their ids differ; ids of people and
	// channels may be the same, as Slack promises no more than that they are unique within a workspace
	// (docs.slack.dev/reference/objects/user-object, team_id). The bot tokens are made by installing.
	Workspaces []Config
	CodeLife   time.Duration // default 10 minutes
	Logger     *slog.Logger
}

// Cloud is Slack with several workspaces at one address, and one app that is installed with OAuth. The workspaces have
// no page; tests act through their methods.
type Cloud struct {
	cfg    CloudConfig
	ln     net.Listener
	server *http.Server
	all    []*Workspace
	wg     sync.WaitGroup

	mu    sync.Mutex
	codes map[string]*oauthCode
	made  int // bot tokens
}

// StartCloud serves the workspaces until Close.
func StartCloud(cfg CloudConfig) (*Cloud, error) {
	setDefault(&cfg.Addr, "127.0.0.1:0")
	setDefault(&cfg.ClientID, "111.222")
	setDefault(&cfg.ClientSecret, "dev-client-secret")
	setDefault(&cfg.CodeLife, 10*time.Minute)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	ln, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("slackdev listen: %w", err)
	}
	c := &Cloud{cfg: cfg, ln: ln, codes: map[string]*oauthCode{}}
	for _, one := range cfg.Workspaces {
		one = one.withDefaults()
		if err := one.validate(); err != nil || c.Workspace(one.Team.ID) != nil {
			ln.Close()
			return nil, fmt.Errorf("slackdev config: workspace %q: %w", one.Team.ID, errors.Join(err, errTwice))
		}
		w := newWorkspace(one, ln)
		w.token, w.removed = "", true
		c.all = append(c.all, w)
	}
	c.server = &http.Server{
		Handler: c.routes(), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
	}
	c.wg.Go(func() {
		if err := c.server.Serve(ln); err != http.ErrServerClosed {
			cfg.Logger.Error("slackdev server", "error", err)
		}
	})
	return c, nil
}

var errTwice = errors.New("unusable, or its id is used twice")

// Workspace returns the workspace with the id; nil: there is none.
func (c *Cloud) Workspace(team string) *Workspace {
	for _, w := range c.all {
		if w.cfg.Team.ID == team {
			return w
		}
	}
	return nil
}

// URL is the address of the server; it ends in a slash.
func (c *Cloud) URL() string { return "http://" + c.ln.Addr().String() + "/" }

// APIURL is the base of the Web API; it ends in /api/.
func (c *Cloud) APIURL() string { return c.URL() + "api/" }

// SetRequestURL is Workspace.SetRequestURL for the app, in all workspaces.
func (c *Cloud) SetRequestURL(ctx context.Context, urls RequestURLs) error {
	for _, w := range c.all {
		if err := w.SetRequestURL(ctx, urls); err != nil {
			return err
		}
	}
	return nil
}

// Close stops the server and all workspaces.
func (c *Cloud) Close() error {
	err := c.server.Close()
	for _, w := range c.all {
		err = errors.Join(err, w.Close())
	}
	c.wg.Wait()
	return err
}

// routes hands each request to the workspace that its token, or response URL, is of.
func (c *Cloud) routes() http.Handler {
	table := methods()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/oauth.v2.access", c.serveAccess)
	mux.HandleFunc("GET /oauth/v2/authorize", c.serveAuthorize)
	mux.HandleFunc("/api/{method}", func(rw http.ResponseWriter, r *http.Request) {
		a, err := readArgs(rw, r)
		c.ofToken(a.token).serveArgs(rw, r, a, err, table)
	})
	mux.HandleFunc("POST /hooks/{id}", func(rw http.ResponseWriter, r *http.Request) {
		c.ofResponseURL(r.PathValue("id")).serveResponseURL(rw, r)
	})
	return mux
}

// ofToken returns the workspace of a token. A token that is nobody's is refused by the first as by any other.
func (c *Cloud) ofToken(token string) *Workspace {
	for _, w := range c.all {
		w.mu.Lock()
		found := token != "" && token == w.token
		w.mu.Unlock()
		if found {
			return w
		}
	}
	return c.all[0]
}

func (c *Cloud) ofResponseURL(id string) *Workspace {
	for _, w := range c.all {
		w.mu.Lock()
		_, found := w.responses[id]
		w.mu.Unlock()
		if found {
			return w
		}
	}
	return c.all[0]
}

// Uninstall removes the app from the workspace, as its administrator does: the bot token is of no use from now on
// (account_inactive, github.com/slackapi/bolt-python/issues/1029), and the app is told with app_uninstalled and
// tokens_revoked, in no certain order (docs.slack.dev/reference/events/tokens_revoked).
func (w *Workspace) Uninstall() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.emit("app_uninstalled", map[string]any{"type": "app_uninstalled", "event_ts": w.ids.ts()}, false)
	w.emit("tokens_revoked", map[string]any{
		"type": "tokens_revoked", "event_ts": w.ids.ts(),
		"tokens": map[string]any{"oauth": []string{}, "bot": []string{w.cfg.App.BotUserID}},
	}, false)
	w.removed = true
	w.touch()
}

// BotToken is the bot token in force; empty before the app was installed.
func (w *Workspace) BotToken() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.token
}
