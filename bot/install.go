package bot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"countersign/approvals"
)

// The paths at which people install the app; PathOAuth is the app's redirect URL.
const (
	PathInstall = "/slack/install"
	PathOAuth   = "/slack/oauth"
)

// OAuth is how the app proves to Slack who it is when it is installed.
type OAuth struct {
	ClientID     string // SLACK_CLIENT_ID
	ClientSecret string // SLACK_CLIENT_SECRET
	PublicURL    string // where the paths are reached (COUNTERSIGN_PUBLIC_URL), without a slash at its end
}

// installWithin is how long Slack and the store have for an installation.
const installWithin = 30 * time.Second

// installer serves the pages of the installation: Slack's OAuth v2 flow.
type installer struct {
	oauth  OAuth
	apiURL string
	http   *http.Client
	states *states
	adopt  func(context.Context, approvals.Installation) error
	serves func(approvals.WorkspaceID) bool // nil: all workspaces
	log    *slog.Logger
}

func newInstaller(
	oauth OAuth, cfg ClientConfig, adopt func(context.Context, approvals.Installation) error, log *slog.Logger,
) (*installer, error) {
	switch {
	case oauth.ClientID == "":
		return nil, errors.New("bot: SLACK_CLIENT_ID is not set")
	case oauth.ClientSecret == "":
		return nil, errors.New("bot: SLACK_CLIENT_SECRET is not set")
	case oauth.PublicURL == "":
		return nil, errors.New("bot: COUNTERSIGN_PUBLIC_URL is not set")
	case !strings.HasSuffix(cfg.APIURL, "/api/"):
		return nil, errors.New("bot: SLACK_API_URL must end in /api/: Slack's page for installations is beside it")
	}
	return &installer{
		oauth: oauth, apiURL: cfg.APIURL, http: cfg.HTTPClient, states: newStates(oauth.ClientSecret), adopt: adopt, log: log,
	}, nil
}

// at is the address of a path as people reach it.
func (in *installer) at(path string) string { return in.oauth.PublicURL + path }

// begin sends the browser to Slack's page, with a state that only this browser can bring back.
func (in *installer) begin(w http.ResponseWriter, r *http.Request) {
	cookie := rand.Text()
	http.SetCookie(w, in.cookie(cookie, int(stateLife/time.Second)))
	q := url.Values{
		"client_id": {in.oauth.ClientID}, "scope": {strings.Join(neededScopes(), ",")},
		"redirect_uri": {in.at(PathOAuth)}, "state": {in.states.issue(cookie)},
	}
	page := strings.TrimSuffix(in.apiURL, "api/") + "oauth/v2/authorize?" + q.Encode()
	unseen(w.Header())
	http.Redirect(w, r, page, http.StatusFound)
}

// cookie binds a state to a browser. It goes nowhere but to this host, and comes back from Slack's page.
func (in *installer) cookie(value string, age int) *http.Cookie {
	c := &http.Cookie{
		Name: "countersign_install", Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if strings.HasPrefix(in.oauth.PublicURL, "https://") { // else it is a loopback address
		c.Name, c.Secure = "__Host-"+c.Name, true
	}
	return c
}

// finish takes the browser back from Slack's page: it exchanges the code, stores the installation, and says what to do
// next.
func (in *installer) finish(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	cookie := ""
	if c, err := r.Cookie(in.cookie("", 0).Name); err == nil {
		cookie = c.Value
	}
	http.SetCookie(w, in.cookie("", -1))
	proof, err := in.states.redeem(q.Get("state"), cookie)
	if err != nil {
		in.refuse(w, refusedState(err), err)
		return
	}
	if word := q.Get("error"); word != "" {
		in.refuse(w, refusedBySlack(word), errors.New("Slack's page: "+label(word, 60)))
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), installWithin)
	defer cancel()
	made, err := in.exchange(ctx, q.Get("code"))
	if err != nil {
		in.refuse(w, refusedExchange(err), err)
		return
	}
	if in.serves != nil && !in.serves(made.Workspace) {
		in.refuse(w, notServed(made), fmt.Errorf("workspace %s is not among those of the agents file", made.Workspace))
		return
	}
	made.Proof = proof
	if err := in.adopt(ctx, *made); errors.Is(err, approvals.ErrConflict) {
		in.refuse(w, refusedState(errStateUsed), err)
		return
	} else if err != nil {
		in.refuse(w, unstored(), err)
		return
	}
	in.show(w, http.StatusOK, installed(made))
}

// refuse shows what went wrong, and logs why. Neither has the code, the state or a token.
func (in *installer) refuse(w http.ResponseWriter, p installPage, why error) {
	in.log.Warn("an installation was refused", "reason", why)
	in.show(w, p.status, p)
}
