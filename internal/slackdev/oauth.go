package slackdev

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// This is OAuth v2 as an app that is to be installed in several workspaces meets it. The page is
// docs.slack.dev/authentication/installing-with-oauth: a code lives ten minutes and is used once; a redirect_uri has to
// be one of the app's redirect URLs or below one, and the same in both steps. The words of errors and the shape of the
// answer are those of docs.slack.dev/reference/methods/oauth.v2.access and of OAuthV2Response in
// github.com/slackapi/node-slack-sdk, packages/oauth/src/install-provider.ts. Installing again while the app is
// installed keeps the token; after it was removed there is another one, and the old one is invalid_auth
// (github.com/slackapi/bolt-python/issues/1029).
//
// Not modelled: user scopes, token rotation, PKCE, installations in a whole organisation, approval by administrators.

// oauthCode is what somebody has agreed to.
type oauthCode struct {
	workspace *Workspace
	user      string
	redirect  string
	scopes    []string
	expires   time.Time
	used      bool
}

// Allow lets the person agree to what the address asks for, as on Slack's page: to install the app in the workspace. It
// returns where Slack then sends the browser. An error is what Slack's page says instead.
func (c *Cloud) Allow(authorize, team, user string) (string, error) {
	q, err := c.asked(authorize)
	if err != nil {
		return "", err
	}
	w := c.Workspace(team)
	if w == nil || !w.regular(user) {
		return "", fmt.Errorf("%s in %s may not install apps: %w", user, team, ErrUnknown)
	}
	code := fmt.Sprintf("%d.%d.%s", time.Now().UnixMilli(), len(c.all), randomHex(32))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.codes[code] = &oauthCode{
		workspace: w, user: user, redirect: q.Get("redirect_uri"), scopes: strings.Split(q.Get("scope"), ","),
		expires: time.Now().Add(c.cfg.CodeLife),
	}
	return c.back(q, url.Values{"code": {code}}), nil
}

// Deny lets the person press Cancel on Slack's page.
func (c *Cloud) Deny(authorize string) (string, error) {
	q, err := c.asked(authorize)
	if err != nil {
		return "", err
	}
	return c.back(q, url.Values{"error": {"access_denied"}}), nil
}

// regular reports whether the person is a full member. w.mu is not held.
func (w *Workspace) regular(user string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, ok := w.users[user]
	return ok && !u.Guest && !u.UltraRestricted && !u.Stranger && !u.Bot && !u.Deleted
}

// asked reads and checks what an app asks for.
func (c *Cloud) asked(authorize string) (url.Values, error) {
	u, err := url.Parse(authorize)
	if err != nil || !strings.HasPrefix(authorize, c.URL()+"oauth/v2/authorize?") {
		return nil, errors.New("not the address of Slack's page")
	}
	q := u.Query()
	scope := q.Get("scope")
	switch {
	case q.Get("client_id") != c.cfg.ClientID:
		return nil, errors.New("invalid_client_id")
	case q.Get("redirect_uri") == "" && len(c.cfg.RedirectURLs) != 1:
		return nil, errors.New("bad_redirect_uri")
	case q.Get("redirect_uri") != "" && !c.redirects(q.Get("redirect_uri")):
		return nil, errors.New("bad_redirect_uri")
	case scope == "":
		return nil, errors.New("no_scopes")
	}
	for s := range strings.SplitSeq(scope, ",") {
		if s == "" || c.cfg.Scopes != nil && !slices.Contains(c.cfg.Scopes, s) {
			return nil, fmt.Errorf("invalid_scope: %q", s)
		}
	}
	return q, nil
}

// redirects reports whether the address is one of the app's redirect URLs, or below one.
func (c *Cloud) redirects(to string) bool {
	return slices.ContainsFunc(c.cfg.RedirectURLs, func(known string) bool {
		return to == known || strings.HasPrefix(to, strings.TrimRight(known, "/")+"/")
	})
}

// back is where the browser goes, with the state as the app sent it.
func (c *Cloud) back(q, answer url.Values) string {
	to := q.Get("redirect_uri")
	if to == "" {
		to = c.cfg.RedirectURLs[0]
	}
	answer.Set("state", q.Get("state"))
	return to + "?" + answer.Encode()
}

// serveAuthorize is Slack's page, for a browser that nobody guides: it says what is wrong, or what the app asks for.
func (c *Cloud) serveAuthorize(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	q, err := c.asked(c.URL() + strings.TrimPrefix(r.URL.RequestURI(), "/"))
	if err != nil {
		rw.WriteHeader(http.StatusBadRequest)
		fmt.Fprintln(rw, err)
		return
	}
	fmt.Fprintf(rw, "The app asks for %s.\n", q.Get("scope"))
}

// serveAccess exchanges a code for a bot token.
func (c *Cloud) serveAccess(rw http.ResponseWriter, r *http.Request) {
	a, err := readArgs(rw, r)
	var answer reply
	if err == nil {
		answer, err = c.access(r, a)
	}
	if err != nil {
		answer = reply{"ok": false, "error": err.Error()}
	}
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	json.NewEncoder(rw).Encode(answer)
}

func (c *Cloud) access(r *http.Request, a args) (reply, error) {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = a.str("client_id"), a.str("client_secret")
	}
	if id != c.cfg.ClientID {
		return nil, fail("invalid_client_id")
	}
	if subtle.ConstantTimeCompare([]byte(secret), []byte(c.cfg.ClientSecret)) == 0 {
		return nil, fail("bad_client_secret")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	code := c.codes[a.str("code")]
	switch {
	case code == nil || code.used || !time.Now().Before(code.expires):
		return nil, fail("invalid_code")
	case a.str("redirect_uri") != code.redirect:
		return nil, fail("bad_redirect_uri")
	}
	code.used = true
	return c.install(code), nil
}

// install gives the app its bot user and token. c.mu is held.
func (c *Cloud) install(code *oauthCode) reply {
	w := code.workspace
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.removed || w.revoked || w.token == "" {
		c.made++
		w.token = fmt.Sprintf("xoxb-%s-%d-%s", strings.ToLower(w.cfg.Team.ID), c.made, randomHex(12))
	}
	w.removed, w.revoked = false, false
	w.touch()
	return reply{
		"ok": true, "app_id": w.cfg.App.ID, "access_token": w.token, "token_type": "bot",
		"scope": strings.Join(code.scopes, ","), "bot_user_id": w.cfg.App.BotUserID,
		"team":       map[string]any{"id": w.cfg.Team.ID, "name": w.cfg.Team.Name},
		"enterprise": w.enterprise(), "is_enterprise_install": false,
		"authed_user": map[string]any{"id": code.user},
	}
}
