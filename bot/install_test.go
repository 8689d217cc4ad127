package bot

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// refused opens an address and checks that nothing was installed, and that the page says why and how to begin again.
func (k *town) refused(b *http.Client, address string, status int, words string) {
	k.t.Helper()
	got, page, _ := k.get(b, address)
	if got != status || !strings.Contains(page, words) || !strings.Contains(page, k.public+PathInstall) {
		k.t.Errorf("HTTP %d, want %d with %q:\n%s", got, status, words, page)
	}
	k.nothing()
}

// nothing checks that no workspace has the app.
func (k *town) nothing() {
	k.t.Helper()
	all, err := approvals.NewInstallations(k.store, nil).All(k.t.Context())
	if err != nil || len(all) != 0 {
		k.t.Errorf("%d installations, %v", len(all), err)
	}
	if len(k.bots.cfg.Clients.Workspaces()) != 0 {
		k.t.Error("a workspace has a client")
	}
}

func TestInstallAsksForTheManifestsScopes(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	b := k.browser()
	status, _, to := k.get(b, k.public+PathInstall)
	u, err := url.Parse(to)
	if err != nil || status != http.StatusFound || !strings.HasPrefix(to, k.cloud.URL()+"oauth/v2/authorize?") {
		t.Fatalf("HTTP %d to %s", status, to)
	}
	scopes := strings.Split(u.Query().Get("scope"), ",")
	for _, s := range manifests(t)[ModeHTTP].OAuth.Scopes.Bot {
		if !strings.Contains(","+strings.Join(scopes, ",")+",", ","+s+",") {
			t.Errorf("the manifest's scope %s is not asked for", s)
		}
	}
	if n := len(manifests(t)[ModeHTTP].OAuth.Scopes.Bot); n != len(scopes) {
		t.Errorf("%d scopes are asked for, the manifest has %d", len(scopes), n)
	}
	if got := u.Query().Get("redirect_uri"); got != k.public+PathOAuth {
		t.Errorf("redirect_uri %s", got)
	}
}

func TestStateIsForOneBrowserOnce(t *testing.T) {
	t.Parallel()
	const foreign = "not begun in this browser"
	k := newTown(t)
	t.Run("another browser", func(t *testing.T) {
		k.refused(k.browser(), k.allowed(k.browser(), one), http.StatusBadRequest, foreign)
	})
	t.Run("a browser that has begun its own", func(t *testing.T) {
		victim := k.browser()
		k.get(victim, k.public+PathInstall)
		k.refused(victim, k.allowed(k.browser(), one), http.StatusBadRequest, foreign)
	})
	t.Run("changed", func(t *testing.T) {
		b := k.browser()
		back, state := k.allowed(b, one), ""
		if u, err := url.Parse(back); err == nil {
			state = u.Query().Get("state")
		}
		flipped := map[byte]string{'A': "B"}[state[0]]
		if flipped == "" {
			flipped = "A"
		}
		changed := strings.Replace(back, "state="+state, "state="+flipped+state[1:], 1)
		if changed == back {
			t.Fatal("control: the state was not changed")
		}
		k.refused(b, changed, http.StatusBadRequest, foreign)
	})
	t.Run("none", func(t *testing.T) {
		b := k.browser()
		back, _, _ := strings.Cut(k.allowed(b, one), "state=")
		k.refused(b, strings.TrimRight(back, "&"), http.StatusBadRequest, foreign)
	})
	t.Run("twice", func(t *testing.T) {
		b := k.browser()
		back := k.allowed(b, one)
		u, err := url.Parse(k.public)
		if err != nil {
			t.Fatal(err)
		}
		cookies := b.Jar.Cookies(u)
		if status, page, _ := k.get(b, back); status != http.StatusOK {
			t.Fatalf("control: HTTP %d: %s", status, page)
		}
		if left := b.Jar.Cookies(u); len(left) != 0 {
			t.Errorf("cookies are left: %v", left)
		}
		b.Jar.SetCookies(u, cookies) // as whoever kept a copy can
		if status, page, _ := k.get(b, back); status != http.StatusBadRequest ||
			!strings.Contains(page, "opened before") {
			t.Errorf("HTTP %d: %s", status, page)
		}
	})
}

// TestStateOutlivesARestart: a state is good at whichever process of the app it comes back to, and once.
func TestStateOutlivesARestart(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	b := k.browser()
	back := k.allowed(b, one)
	u, err := url.Parse(k.public)
	if err != nil {
		t.Fatal(err)
	}
	cookies := b.Jar.Cookies(u)
	k.restart()
	if status, page, _ := k.get(b, back); status != http.StatusOK {
		t.Fatalf("after a restart: HTTP %d: %s", status, page)
	}
	k.restart()
	b.Jar.SetCookies(u, cookies)
	status, page, _ := k.get(b, back)
	if status != http.StatusBadRequest || !strings.Contains(page, "can be used once") {
		t.Errorf("used up before the restart: HTTP %d: %s", status, page)
	}
}

func TestStatesExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStates("secret")
		early, late := s.issue("cookie"), s.issue("cookie")
		time.Sleep(stateLife - time.Millisecond)
		if _, err := s.redeem(early, "cookie"); err != nil {
			t.Errorf("control: %v", err)
		}
		time.Sleep(time.Millisecond)
		if _, err := s.redeem(late, "cookie"); !errors.Is(err, errStateExpired) {
			t.Errorf("after ten minutes: %v", err)
		}
		for n := range mostStates - 1 {
			s.used[strconv.Itoa(n)] = time.Now().Add(time.Hour)
		}
		if _, err := s.redeem(s.issue("cookie"), "cookie"); err != nil { // in the place of the one that has expired
			t.Errorf("as many as there may be: %v", err)
		}
		if _, err := s.redeem(s.issue("cookie"), "cookie"); !errors.Is(err, errStateMany) {
			t.Errorf("one more: %v", err)
		}
	})
}

func TestCodesThatSlackRefuses(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	back := func(b *http.Client, change func(url.Values)) string {
		u, err := url.Parse(k.allowed(b, one))
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		change(q)
		u.RawQuery = q.Encode()
		return u.String()
	}
	b := k.browser()
	k.refused(b, back(b, func(q url.Values) { q.Set("code", "1.2.wrong") }), http.StatusBadRequest,
		"Slack does not know this code")
	k.refused(b, back(b, func(q url.Values) { q.Del("code") }), http.StatusBadRequest, "Slack does not know this code")
	_, _, page := k.get(b, k.public+PathInstall)
	denied, err := k.cloud.Deny(page)
	if err != nil {
		t.Fatal(err)
	}
	k.refused(b, denied, http.StatusForbidden, "You pressed Cancel")
	k.refused(b, back(b, func(q url.Values) { q.Set("error", `<script>alert(1)</script>`) }), http.StatusForbidden,
		"&lt;script&gt;")
	k.bots.install.oauth.ClientSecret = "another"
	k.refused(b, k.allowed(b, one), http.StatusBadGateway, "bad_client_secret")
	if log := k.logs.String(); strings.Contains(log, "1.2.wrong") || strings.Contains(log, "another") ||
		!strings.Contains(log, "invalid_code") {
		t.Errorf("the log:\n%s", log)
	}
}

// TestInstallsWhereItIsServed: the operator has named the first workspace, and nobody else's gets the app.
func TestInstallsWhereItIsServed(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	k.bots.install.serves = func(ws approvals.WorkspaceID) bool { return ws == one }
	k.refused(k.browser(), k.allowed(k.browser(), two), http.StatusBadRequest, "not begun in this browser")
	b := k.browser()
	k.refused(b, k.allowed(b, two), http.StatusForbidden, "has not named your workspace ("+two+")")
	k.install(one)
	k.card(one, k.mention(one))
}

// TestInstallationsAreSecret looks for tokens, codes, states and the app's secret wherever they must not be.
func TestInstallationsAreSecret(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	b := k.browser()
	back := k.allowed(b, one)
	_, page, _ := k.get(b, back)
	u, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	k.card(one, k.mention(one))
	token := k.cloud.Workspace(one).BotToken()
	k.cloud.Workspace(one).Uninstall()
	k.eventually("the app is gone", func() bool { return len(k.bots.Absent()) == 1 })
	k.install(one)
	second := k.cloud.Workspace(one).BotToken()
	trail := strings.Join(k.trail(one), "\n")
	secrets := map[string]string{
		"the token": second, "the token before": token, "the code": u.Query().Get("code"),
		"the state": u.Query().Get("state"), "the client secret": "dev-client-secret",
	}
	for what, secret := range secrets {
		for where, text := range map[string]string{
			"log": k.logs.String(), "page": page, "trail": trail,
		} {
			if secret == "" || strings.Contains(text, secret) {
				t.Errorf("%s is in the %s", what, where)
			}
		}
	}
	if !strings.Contains(trail, "installation.created") || !strings.Contains(trail, `{"why":"again"}`) {
		t.Errorf("control: the trail has only %s", trail)
	}
}

func TestInstallPagesKeepToThemselves(t *testing.T) {
	t.Parallel()
	for public, secure := range map[string]bool{"https://bot.example/x": true, "http://127.0.0.1:1": false} {
		in, err := newInstaller(OAuth{"1.2", "s", public}, ClientConfig{}.withDefaults(), nil, newTown(t).log())
		if err != nil {
			t.Fatal(err)
		}
		c := in.cookie("v", 600)
		if c.Secure != secure || strings.HasPrefix(c.Name, "__Host-") != secure || !c.HttpOnly ||
			c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 600 {
			t.Errorf("%s: %v", public, c)
		}
	}
	k := newTown(t)
	resp, err := http.Get(k.public + PathOAuth)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") ||
		!strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("Content-Security-Policy: %s", csp)
	}
}

func TestAnswersToACode(t *testing.T) {
	t.Parallel()
	good := func(change func(*access)) *access {
		a := &access{
			OK: true, Token: "xoxb-1", Kind: "bot", Scope: "chat:write,commands", BotUser: "U0BOT", App: "A0DEV",
			Team: &tenant{"T1", "One"}, Enterprise: &tenant{"E1", "Org"},
		}
		a.InstalledBy.ID = "U0ANN"
		change(a)
		return a
	}
	for name, c := range map[string]struct {
		change func(*access)
		err    error
		ws     approvals.WorkspaceID
	}{
		"a workspace of an organisation": {func(*access) {}, nil, "T1"},
		"a workspace of none":            {func(a *access) { a.Enterprise = nil }, nil, "T1"},
		"a whole organisation":           {func(a *access) { a.Team, a.OrgWide = nil, true }, nil, "E1"},
		"an organisation, and not whole": {func(a *access) { a.Team = nil }, errNoTenant, ""},
		"nowhere":                        {func(a *access) { a.Team, a.Enterprise = nil, nil }, errNoTenant, ""},
		"an id that is none":             {func(a *access) { a.Team.ID = "T1/U1" }, errNoTenant, ""},
		"a token that expires":           {func(a *access) { a.Expires = 43200 }, errRotates, ""},
		"a token to refresh":             {func(a *access) { a.Refresh = "xoxe-1" }, errRotates, ""},
		"a rotating token":               {func(a *access) { a.Token = "xoxe.xoxb-1" }, errRotates, ""},
		"a person's token":               {func(a *access) { a.Token = "xoxp-1" }, errNoBot, ""},
		"no bot":                         {func(a *access) { a.BotUser = "" }, errNoBot, ""},
	} {
		i, err := good(c.change).installation()
		if !errors.Is(err, c.err) || err == nil && (i.Workspace != c.ws || i.By != approvals.NewUserID(c.ws, "U0ANN")) {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
	}
}

// TestUnstoredInstallationIsNone: Slack has given a token, and the store does not take it.
func TestUnstoredInstallationIsNone(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	real := k.bots.cfg.Installations
	k.bots.cfg.Installations = fullDisk{real}
	b := k.browser()
	k.refused(b, k.allowed(b, one), http.StatusServiceUnavailable, "could not store the installation")
	k.bots.cfg.Installations = real
	k.install(one)
}

type fullDisk struct{ Installations }

func (fullDisk) Install(context.Context, approvals.Installation) (*approvals.Installation, error) {
	return nil, errors.New("the disk is full")
}
