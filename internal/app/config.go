package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/kelseyhightower/envconfig"

	"countersign/agent/openaimodel"
	"countersign/internal/agentsfile"
	"countersign/internal/traces"
	"countersign/store"
	"countersign/store/seal"
)

// Config is the environment of the program. Every field takes any text, so that reading never stops at the first
// problem; Check judges them together.
type Config struct {
	BotToken      Secret `envconfig:"SLACK_BOT_TOKEN"`
	AppToken      Secret `envconfig:"SLACK_APP_TOKEN"`
	SigningSecret Secret `envconfig:"SLACK_SIGNING_SECRET"`
	ClientID      string `envconfig:"SLACK_CLIENT_ID"`
	ClientSecret  Secret `envconfig:"SLACK_CLIENT_SECRET"`
	SlackAPIURL   string `envconfig:"SLACK_API_URL"`

	OpenAIKey     Secret `envconfig:"OPENAI_API_KEY"`
	OpenAIBaseURL string `envconfig:"OPENAI_BASE_URL"`

	Agents           string `envconfig:"COUNTERSIGN_AGENTS" default:"countersign.yaml"`
	Store            Secret `envconfig:"COUNTERSIGN_STORE" default:"bolt:countersign.db"`
	SlackMode        string `envconfig:"COUNTERSIGN_SLACK_MODE" default:"socket"`
	Listen           string `envconfig:"COUNTERSIGN_LISTEN" default:"127.0.0.1:8080"`
	MetricsListen    string `envconfig:"COUNTERSIGN_METRICS_LISTEN"`
	PublicURL        string `envconfig:"COUNTERSIGN_PUBLIC_URL"`
	EncryptionKeys   Secret `envconfig:"COUNTERSIGN_ENCRYPTION_KEYS"`
	AuditKey         string `envconfig:"COUNTERSIGN_AUDIT_KEY"`
	AuditCheckpoints string `envconfig:"COUNTERSIGN_AUDIT_CHECKPOINTS"`
	LogLevel         string `envconfig:"COUNTERSIGN_LOG_LEVEL" default:"info"`
	LogFormat        string `envconfig:"COUNTERSIGN_LOG_FORMAT" default:"text"`

	traces         *traces.Config // from OTEL_…; nil: none
	tracesProblems []error
	agentsGiven    bool // by UseAgents
}

// The two ways to receive what happens in Slack.
const (
	modeSocket = "socket"
	modeHTTP   = "http"
)

// ReadConfig reads the environment. It does not judge the values.
func ReadConfig() (*Config, error) {
	var c Config
	if err := envconfig.Process("", &c); err != nil {
		return nil, fmt.Errorf("read the environment: %w", err)
	}
	c.traces, c.tracesProblems = traces.Read(os.Getenv)
	return &c, nil
}

// problems collects what is wrong with the environment. No message holds a value that may be a secret.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

// Check judges what every command needs. All problems are reported together.
func (c *Config) Check() error {
	var p problems
	c.checkStore(&p)
	c.checkLog(&p)
	c.checkPublicURL(&p)
	if _, err := c.Keys(); err != nil {
		p.add("COUNTERSIGN_ENCRYPTION_KEYS: %w", err)
	}
	p = append(p, unknownVariables(os.Environ())...)
	return Misconfigured(errors.Join(p...))
}

// CheckRun judges what the bot needs to run, besides CheckSet: what must be set, and the place of a store that is a
// file.
func (c *Config) CheckRun() error {
	p := problems{c.CheckSet(), ExplainStore(store.CheckPlace(c.StorePlace()))}
	for _, n := range c.needed() {
		p.add("%s is not set; %s", n.name, n.what)
	}
	return Misconfigured(errors.Join(p...))
}

// CheckSet judges all that is set, besides Check. What is not set is no problem.
func (c *Config) CheckSet() error {
	p := problems{c.Check()}
	c.checkSlack(&p)
	c.checkInstalls(&p)
	c.checkURLs(&p)
	c.checkModelKey(&p)
	c.checkAudit(&p)
	p = append(p, c.tracesProblems...)
	c.checkListen(&p)
	return Misconfigured(errors.Join(p...))
}

func (c *Config) checkListen(p *problems) {
	address(p, "COUNTERSIGN_LISTEN", c.Listen, "127.0.0.1:8080")
	if c.MetricsListen == "" {
		return
	}
	address(p, "COUNTERSIGN_METRICS_LISTEN", c.MetricsListen, "127.0.0.1:9090")
	if _, port, _ := net.SplitHostPort(c.Listen); c.MetricsListen == c.Listen && port != "0" {
		p.add("COUNTERSIGN_METRICS_LISTEN is COUNTERSIGN_LISTEN; give the metrics an address of their own, or unset it")
	}
}

// address notes what is no address to listen on, whatever the machine has.
func address(p *problems, name, value, example string) {
	_, port, err := net.SplitHostPort(value)
	if err != nil || port == "" {
		p.add("%s: %q is no address with a port, such as %s", name, value, example)
		return
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		p.add("%s: %q has no port that there is, such as %s: a port is a number up to 65535", name, value, example)
	}
}

// metricsBeside reports whether COUNTERSIGN_LISTEN serves the metrics too: not where Slack calls it, as the world then
// reaches it, and not where they have an address of their own.
func (c *Config) metricsBeside() bool { return c.SlackMode == modeSocket && c.MetricsListen == "" }

// need is a variable without which the bot does not run, and where its value comes from.
type need struct{ name, what string }

// Missing names the variables that the bot needs to run and that are not set.
func (c *Config) Missing() []string {
	var names []string
	for _, n := range c.needed() {
		names = append(names, n.name)
	}
	return names
}

// needed are the variables that the bot needs to run and that are not set.
func (c *Config) needed() []need {
	var all []need
	add := func(name string, value Secret, what string) {
		if !value.IsSet() {
			all = append(all, need{name, what})
		}
	}
	if c.Installs() {
		all = append(all, c.neededForInstalls()...)
	} else {
		add("SLACK_BOT_TOKEN", c.BotToken, "it is the bot token from the app's page OAuth & Permissions")
	}
	switch c.SlackMode {
	case modeSocket:
		add("SLACK_APP_TOKEN", c.AppToken, "Socket Mode needs an app-level token with connections:write from "+
			"the app's page Basic Information")
	case modeHTTP:
		add("SLACK_SIGNING_SECRET", c.SigningSecret,
			"HTTP mode needs the signing secret from the app's page Basic Information")
	}
	if base := strings.TrimRight(c.OpenAIBaseURL, "/"); base == "" || base == openaimodel.DefaultBaseURL {
		add("OPENAI_API_KEY", c.OpenAIKey, "create a key at the provider, "+
			"or set OPENAI_BASE_URL to a server that needs none")
	}
	return all
}

func (c *Config) checkStore(p *problems) {
	if _, err := store.PlaceOf(c.Store.Reveal()); err != nil {
		p.add("COUNTERSIGN_STORE: %w", err)
	}
}

func (c *Config) checkLog(p *problems) {
	if _, err := c.level(); err != nil {
		p.add("COUNTERSIGN_LOG_LEVEL: %q is none of debug, info, warn, error", c.LogLevel)
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		p.add("COUNTERSIGN_LOG_FORMAT: %q is neither text nor json", c.LogFormat)
	}
}

func (c *Config) checkSlack(p *problems) {
	if c.SlackMode != modeSocket && c.SlackMode != modeHTTP {
		p.add("COUNTERSIGN_SLACK_MODE: %q is neither socket nor http", c.SlackMode)
	}
	clean(p, "SLACK_BOT_TOKEN", c.BotToken)
	clean(p, "SLACK_CLIENT_SECRET", c.ClientSecret)
	if strings.HasPrefix(c.BotToken.Reveal(), "xoxe.") {
		p.add("SLACK_BOT_TOKEN is of an app with token rotation: it ends after twelve hours, and is not renewed; " +
			"create the app from manifest.yaml, which leaves rotation off, and use its token, which starts with xoxb-")
	} else {
		token(p, "SLACK_BOT_TOKEN", c.BotToken, "a bot token", "xoxb-")
	}
	switch c.SlackMode {
	case modeSocket:
		clean(p, "SLACK_APP_TOKEN", c.AppToken)
		token(p, "SLACK_APP_TOKEN", c.AppToken, "an app-level token with connections:write", "xapp-")
	case modeHTTP:
		clean(p, "SLACK_SIGNING_SECRET", c.SigningSecret)
	}
}

// clean notes what no token or secret of Slack's holds: the line break at the end of a file that it was read from, or
// quotes, which an env file of Docker's keeps. A token with one could not be sent, and under a signing secret with one
// no request of Slack's would be known as such.
func clean(p *problems, name string, value Secret) {
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\'' }
	if strings.ContainsFunc(value.Reveal(), odd) {
		p.add("%s has a space, a line break, a quote or another character that no value of Slack's has; "+
			"set it to what Slack shows, and nothing around it", name)
	}
}

// checkModelKey notes a key that could not be sent, and the quotes that an env file of Docker's keeps. A server of
// one's own may take any other.
func (c *Config) checkModelKey(p *problems) {
	key := c.OpenAIKey.Reveal()
	quoted := len(key) > 1 && key[0] == key[len(key)-1] && (key[0] == '"' || key[0] == '\'')
	if quoted || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		p.add("OPENAI_API_KEY is in quotes, or has a space, a line break or another character that no key has; " +
			"set it to what the provider shows, and nothing around it")
	}
}

// tokenPrefixes begin Slack's kinds of tokens.
var tokenPrefixes = []string{"xoxb-", "xapp-", "xoxp-", "xoxe.xoxb-", "xoxe.xoxp-", "xoxe-", "xoxc-", "xoxd-", "xoxs-",
	"xwfp-"}

// token notes a token that is plainly of another kind. What is no known kind is for Slack to judge: its own word about
// it says more.
func token(p *problems, name string, value Secret, what string, prefixes ...string) {
	starts := func(prefix string) bool { return strings.HasPrefix(value.Reveal(), prefix) }
	if slices.ContainsFunc(prefixes, starts) || !slices.ContainsFunc(tokenPrefixes, starts) {
		return
	}
	p.add("%s holds something else: it is %s and starts with %s", name, what, prefixes[0])
}

func (c *Config) checkURLs(p *problems) {
	for _, v := range []struct{ name, value, suffix string }{
		{"SLACK_API_URL", c.SlackAPIURL, "/"}, {"OPENAI_BASE_URL", c.OpenAIBaseURL, ""},
	} {
		if v.value == "" {
			continue
		}
		u, err := url.Parse(v.value)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			p.add("%s is no http or https URL", v.name)
		case u.User != nil:
			p.add("%s holds a user; leave it out", v.name)
		case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
			p.add("%s holds a query or a fragment; leave what begins with ? or # out", v.name)
		case !strings.HasSuffix(u.Path, v.suffix):
			p.add("%s does not end in %s; Slack's own is https://slack.com/api/", v.name, v.suffix)
		}
	}
}

// variables are the names with the program's own prefix. The last two belong to tests.
var variables = []string{
	"COUNTERSIGN_AGENTS", "COUNTERSIGN_STORE", "COUNTERSIGN_SLACK_MODE", "COUNTERSIGN_LISTEN", "COUNTERSIGN_PUBLIC_URL",
	"COUNTERSIGN_METRICS_LISTEN", "COUNTERSIGN_ENCRYPTION_KEYS", "COUNTERSIGN_AUDIT_KEY",
	"COUNTERSIGN_AUDIT_CHECKPOINTS", "COUNTERSIGN_LOG_LEVEL", "COUNTERSIGN_LOG_FORMAT", "COUNTERSIGN_FAULT",
	"COUNTERSIGN_TEST_REQUIRE",
}

// unknownVariables finds misspelled names. Names that resemble none are somebody else's, for instance an
// orchestrator's.
func unknownVariables(environ []string) []error {
	var errs []error
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "COUNTERSIGN_") || slices.Contains(variables, name) {
			continue
		}
		suffixes := make([]string, len(variables))
		for i, v := range variables {
			suffixes[i] = strings.TrimPrefix(v, "COUNTERSIGN_")
		}
		if near := agentsfile.Nearest(strings.TrimPrefix(name, "COUNTERSIGN_"), suffixes); near != "" {
			errs = append(errs, fmt.Errorf("%s is not known; did you mean COUNTERSIGN_%s?", name, near))
		}
	}
	return errs
}

// Keys are the keys that encrypt the store; nil when none are set: it is plain.
func (c *Config) Keys() (*seal.Keyring, error) {
	if !c.EncryptionKeys.IsSet() {
		return nil, nil
	}
	return seal.Parse(c.EncryptionKeys.Reveal())
}

// StorePath is the path of the store's file; empty where it is a database. Check has made sure of the one or the other.
func (c *Config) StorePath() string { return c.StorePlace().File }

// StorePlace says where the store is, without what is secret about it.
func (c *Config) StorePlace() store.Place {
	at, _ := store.PlaceOf(c.Store.Reveal()) // see Check
	return at
}

func (c *Config) level() (slog.Level, error) {
	var l slog.Level
	switch c.LogLevel {
	case "debug", "info", "warn", "error":
		return l, l.UnmarshalText([]byte(c.LogLevel))
	}
	return l, ErrConfig
}
