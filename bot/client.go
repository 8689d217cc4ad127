package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"
	"golang.org/x/sync/singleflight"

	"countersign/approvals"
)

// ClientConfig says how to reach Slack's Web API.
type ClientConfig struct {
	// Token is the bot token (SLACK_BOT_TOKEN).
	Token string
	// APIURL is the base of the Web API and ends in a slash; empty means Slack's own (SLACK_API_URL).
	APIURL string
	// HTTPClient makes the requests. It must have a timeout; nil means one with ten seconds.
	HTTPClient *http.Client
	// Replicas is how many processes ask Slack about the same workspace just then, this one included: each takes its
	// share of what Slack answers in a minute. Nil: this one alone.
	Replicas func() int
	// Logger may be nil.
	Logger *slog.Logger
}

// Client calls Slack's Web API as the bot. It is an approvals.Directory, and safe for concurrent use.
type Client struct {
	token  string
	holder string // what has the token: the variable of the environment, or an installation
	apiURL string
	http   *http.Client
	api    *slack.Client
	log    *slog.Logger

	// What the directory remembers: people, the people of groups, the groups of people, what channels are, who is in
	// them, the first page of a person's conversations, and whether a person is in a channel where that page does not
	// tell.
	people   *cache[approvals.Person]
	groups   *cache[[]string]
	groupsOf *cache[map[string][]string] // one answer, by user
	handles  *cache[map[string]string]   // of groups, one answer
	teams    *cache[[]string]            // the workspaces of an organisation, one answer
	channels *cache[approvals.Channel]
	members  *cache[[]string]
	places   *cache[conversations]
	presence *cache[bool]
	// Where many are asked about, they are learnt of by lists: crowd is that of the bot's own conversations, everybody
	// that of the people of the workspace, insides those of the people in channels. The calls are the questions about
	// one.
	crowd       *cache[conversations]
	everybody   *cache[struct{}]
	insides     *cache[inside]
	infoCalls   recentCalls
	personCalls recentCalls
	placesCalls recentCalls
	noList      atomic.Pointer[time.Time] // users.list is of no use until then
	links       *cache[string]            // permalinks of messages; empty where Slack gives none
	ownRead     readings[postedMessage]
	threadsRead readings[reply]
	limits      *limits
	standing    *standing

	mu       sync.Mutex
	identity *identity
	homes    map[string]string // of groups: the workspace of the organisation that has it
	granted  string            // the scopes of the identity, as Slack named them last
	asking   singleflight.Group
}

var _ approvals.Directory = (*Client)(nil)

// identity is who the bot token belongs to.
type identity struct {
	workspace  approvals.WorkspaceID
	team       string
	enterprise string // set for installations in a whole organisation
	botUser    string
	botID      string
	appID      string // empty when Slack does not tell
	scopes     []string
	url        string // of the workspace, which links begin with; empty when Slack does not tell
}

// NewClient returns a client. It makes no request.
func NewClient(cfg ClientConfig) (*Client, error) {
	if cfg.Token == "" {
		return nil, errors.New("slack client: SLACK_BOT_TOKEN is not set")
	}
	if strings.HasPrefix(cfg.Token, "xoxe") {
		return nil, errors.New("slack client: SLACK_BOT_TOKEN is of an app with token rotation: it ends after twelve " +
			"hours, and is not renewed; create the app from manifest.yaml, which leaves rotation off, " +
			"and use its token")
	}
	if !strings.HasPrefix(cfg.Token, "xoxb-") {
		return nil, errors.New("slack client: SLACK_BOT_TOKEN must be a bot token, which starts with xoxb-")
	}
	cfg = cfg.withDefaults()
	base, err := url.Parse(cfg.APIURL)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" ||
		!strings.HasSuffix(base.Path, "/") {
		return nil, errors.New("slack client: SLACK_API_URL must be an http or https URL that ends in a slash")
	}
	if cfg.HTTPClient.Timeout <= 0 {
		return nil, errors.New("slack client: the HTTP client needs a timeout")
	}
	return &Client{
		token: cfg.Token, holder: "SLACK_BOT_TOKEN", apiURL: cfg.APIURL, http: cfg.HTTPClient, log: cfg.Logger,
		api:      slack.New(cfg.Token, slack.OptionAPIURL(cfg.APIURL), slack.OptionHTTPClient(cfg.HTTPClient)),
		people:   newCache[approvals.Person](directoryAge, 20_000),
		groups:   newCache[[]string](directoryAge, 1_000),
		groupsOf: newCache[map[string][]string](directoryAge, 1),
		handles:  newCache[map[string]string](directoryAge, 1),
		teams:    newCache[[]string](directoryAge, 1),
		channels: newCache[approvals.Channel](directoryAge, 5*channelPage),
		members:  newCache[[]string](directoryAge, 1_000),
		places:   newCache[conversations](directoryAge, 1_000),
		presence: newCache[bool](directoryAge, 10_000),
		crowd:    newCache[conversations](directoryAge, 1),

		everybody: newCache[struct{}](directoryAge, 1),
		insides:   newCache[inside](directoryAge, 200),
		links:     newCache[string](linkAge, 5_000),
		limits:    newLimits(cfg.Replicas),
		homes:     map[string]string{},
		standing:  &standing{log: cfg.Logger},
	}, nil
}

// withDefaults fills what was left empty.
func (c ClientConfig) withDefaults() ClientConfig {
	if c.APIURL == "" {
		c.APIURL = slack.APIURL
	}
	if c.HTTPClient == nil {
		c.HTTPClient = &http.Client{Timeout: 10 * time.Second, Transport: transport()}
	}
	if c.Replicas == nil {
		c.Replicas = func() int { return 1 }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// transport returns the usual transport, which keeps as many connections to Slack as the bot may use at once: the usual
// one keeps two, and dials anew for every further call.
func transport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = 32
	t.WriteBufferSize = 16 << 10 // a card with its headers in one write
	return t
}

// identify asks Slack once who the bot is and remembers the answer.
func (c *Client) identify(ctx context.Context) (identity, error) {
	c.mu.Lock()
	known := c.identity
	c.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	// The answer is shared with others who wait for it, so the question outlives the ctx of the caller who was first.
	answer := c.asking.DoChan("auth.test", func() (any, error) { return c.authTest(context.WithoutCancel(ctx)) })
	select {
	case got := <-answer:
		if got.Err != nil {
			return identity{}, got.Err
		}
		return c.remember(got.Val.(identity)), nil
	case <-ctx.Done():
		return identity{}, fmt.Errorf("call %s: %w", methodAuthTest, context.Cause(ctx))
	}
}

// remember keeps the first answer, which may have learned the app's id since.
func (c *Client) remember(id identity) identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity == nil {
		c.identity = &id
	}
	return *c.identity
}

// regranted takes note of the scopes that Slack names with an answer: an app that is installed again may keep its
// token.
func (c *Client) regranted(header string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity == nil || header == "" || header == c.granted {
		return
	}
	id := *c.identity
	id.scopes, c.granted = splitScopes(header), header
	c.identity = &id
}

// Workspace returns the workspace that the bot token belongs to. It asks Slack the first time.
func (c *Client) Workspace(ctx context.Context) (approvals.WorkspaceID, error) {
	id, err := c.identify(ctx)
	return id.workspace, err
}

func (c *Client) authTest(ctx context.Context) (identity, error) {
	var who struct {
		TeamID       string `json:"team_id"`
		EnterpriseID string `json:"enterprise_id"`
		UserID       string `json:"user_id"`
		BotID        string `json:"bot_id"`
		AppID        string `json:"app_id"`
		OrgWide      bool   `json:"is_enterprise_install"`
		URL          string `json:"url"`
	}
	header, err := c.call(ctx, methodAuthTest, c.token, url.Values{}, &who)
	if err != nil {
		return identity{}, tokenError(c.holder, err)
	}
	id := identity{
		workspace: approvals.WorkspaceID(who.TeamID), team: who.TeamID,
		botUser: who.UserID, botID: who.BotID, appID: who.AppID, scopes: splitScopes(header.Get("X-OAuth-Scopes")),
		url: who.URL,
	}
	if who.OrgWide {
		id.workspace, id.enterprise = approvals.WorkspaceID(who.EnterpriseID), who.EnterpriseID
	}
	if id.workspace == "" || id.botUser == "" {
		return identity{}, fmt.Errorf("call %s: the answer names no workspace or no bot user", methodAuthTest)
	}
	return id, nil
}

func splitScopes(header string) []string {
	return strings.FieldsFunc(header, func(r rune) bool { return r == ',' || r == ' ' })
}

// TokenError says that Slack refuses a token.
type TokenError struct {
	Variable string // the environment variable to mend; "the installation in T1" where that has the token
	Word     string // Slack's error word
}

func (e *TokenError) Error() string { return e.Variable + ": Slack refuses the token: " + e.Word }

// tokenError turns a refusal of the token itself into a *TokenError.
func tokenError(variable string, err error) error {
	word, refused := refusal(err)
	if !refused {
		return err
	}
	switch word {
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type",
		"missing_scope", "no_permission", "access_denied", "forbidden_team", "team_disabled", "user_removed_from_team",
		"org_login_required", "enterprise_is_restricted", "is_bot", "invalid_app_id", "app_not_installed",
		"team_access_not_granted", "ekm_access_denied", "two_factor_setup_required", "accesslimited":
		return &TokenError{Variable: variable, Word: word}
	}
	return err
}

// suspended reports whether Slack's word about a token means that somebody keeps it from being used for now: the same
// token is good again when they do not any more. A start with it fails; whoever is at work with it goes on trying.
func suspended(word string) bool {
	switch word {
	case "team_access_not_granted", "ekm_access_denied", "two_factor_setup_required", "accesslimited":
		return true
	}
	return false
}
