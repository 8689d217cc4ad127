package slackdev

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const redirect = "https://bot.example/slack/oauth"

func newCloud(t *testing.T) *Cloud {
	t.Helper()
	c, err := StartCloud(CloudConfig{
		RedirectURLs: []string{redirect}, Scopes: []string{"chat:write", "commands"},
		Workspaces: []Config{{Team: Team{ID: "T0ONE"}, Mode: ModeHTTP}, {Team: Team{ID: "T0TWO"}, Mode: ModeHTTP}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// authorize is the address of Slack's page with what an app asks for; changes replace parts of it.
func (c *Cloud) authorize(changes url.Values) string {
	q := url.Values{
		"client_id": {c.cfg.ClientID}, "scope": {"chat:write,commands"}, "redirect_uri": {redirect}, "state": {"s & t"},
	}
	for k, v := range changes {
		q[k] = v
	}
	return c.URL() + "oauth/v2/authorize?" + q.Encode()
}

// code is what a person in the workspace agrees to.
func (c *Cloud) code(t *testing.T, team string) string {
	t.Helper()
	back, err := c.Allow(c.authorize(nil), team, "U0ANN")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(back)
	if err != nil || !strings.HasPrefix(back, redirect+"?") || u.Query().Get("state") != "s & t" {
		t.Fatalf("sent back to %s, %v", back, err)
	}
	return u.Query().Get("code")
}

// exchange asks for a token as the app with this secret.
func (c *Cloud) exchange(t *testing.T, secret string, form url.Values) map[string]any {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.APIURL()+"oauth.v2.access",
		strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(c.cfg.ClientID, secret)
	return c.send(t, req)
}

func (c *Cloud) send(t *testing.T, req *http.Request) (answer map[string]any) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || json.Unmarshal(raw, &answer) != nil {
		t.Fatalf("%s, %v", raw, err)
	}
	return answer
}

func (c *Cloud) whoAmI(t *testing.T, token string) map[string]any {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.APIURL()+"auth.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return c.send(t, req)
}

func TestCodesAreUsedOnce(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	form := url.Values{"code": {c.code(t, "T0TWO")}, "redirect_uri": {redirect}}
	with := func(key, value string) url.Values {
		other := url.Values{"code": form["code"], "redirect_uri": form["redirect_uri"]}
		other.Set(key, value)
		return other
	}
	for word, try := range map[string]func() map[string]any{
		"bad_client_secret": func() map[string]any { return c.exchange(t, "guess", form) },
		"invalid_code":      func() map[string]any { return c.exchange(t, c.cfg.ClientSecret, with("code", "1.2.3")) },
		"bad_redirect_uri": func() map[string]any {
			return c.exchange(t, c.cfg.ClientSecret, with("redirect_uri", redirect+"/2"))
		},
	} {
		if got := try(); got["ok"] != false || got["error"] != word {
			t.Errorf("%s: %v", word, got)
		}
	}
	got := c.exchange(t, c.cfg.ClientSecret, form)
	token, _ := got["access_token"].(string)
	if got["ok"] != true || !strings.HasPrefix(token, "xoxb-") || got["is_enterprise_install"] != false {
		t.Fatalf("%v", got)
	}
	if again := c.exchange(t, c.cfg.ClientSecret, form); again["error"] != "invalid_code" {
		t.Errorf("a code was used twice: %v", again)
	}
	if who := c.whoAmI(t, token); who["team_id"] != "T0TWO" {
		t.Errorf("the token is of %v", who)
	}
	if c.Workspace("T0ONE").BotToken() != "" {
		t.Error("the app is in a workspace where nobody installed it")
	}
}

func TestCodesLiveTenMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &Cloud{cfg: CloudConfig{ClientID: "1.2", ClientSecret: "s", CodeLife: 10 * time.Minute},
			codes: map[string]*oauthCode{}}
		w := newWorkspace(Config{}.withDefaults(), nil)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		r.SetBasicAuth("1.2", "s")
		for _, late := range []bool{false, true} {
			c.codes["c"] = &oauthCode{workspace: w, redirect: redirect, expires: time.Now().Add(c.cfg.CodeLife)}
			time.Sleep(10*time.Minute - time.Second)
			if late {
				time.Sleep(time.Second)
			}
			_, err := c.access(r, args{values: map[string]any{"code": "c", "redirect_uri": redirect}})
			if (err != nil) != late {
				t.Errorf("late %v: %v", late, err)
			}
		}
	})
}

func TestWhatAnAppAsksForIsChecked(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for word, changes := range map[string]url.Values{
		"invalid_client_id": {"client_id": {"9.9"}},
		"bad_redirect_uri":  {"redirect_uri": {redirect + "evil"}},
		"no_scopes":         {"scope": {""}},
		"invalid_scope":     {"scope": {"chat:write,admin"}},
	} {
		to, err := c.Allow(c.authorize(changes), "T0ONE", "U0ANN")
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: sent to %q, %v", word, to, err)
		}
	}
	if _, err := c.Allow(c.authorize(nil), "T0ONE", "U0GUS"); err == nil {
		t.Error("a guest has installed the app")
	}
	back, err := c.Deny(c.authorize(nil))
	if err != nil || !strings.Contains(back, "error=access_denied") || strings.Contains(back, "code=") {
		t.Errorf("after Cancel: %s, %v", back, err)
	}
}

// TestRemovedAppIsGone: the token of a removed app is of no use, it hears nothing more, and installed again it has
// another token, beside which the old one is unknown. The other workspace notices nothing.
func TestRemovedAppIsGone(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	install := func(team string) string {
		t.Helper()
		form := url.Values{"code": {c.code(t, team)}, "redirect_uri": {redirect}}
		token, _ := c.exchange(t, c.cfg.ClientSecret, form)["access_token"].(string)
		return token
	}
	one, two := c.Workspace("T0ONE"), c.Workspace("T0TWO")
	_, err := one.Post(t.Context(), "U0ANN", "C0GENERAL", "<@U0BOT> hello", "")
	if err != nil || len(one.Deliveries()) != 0 {
		t.Errorf("%d deliveries before the app was installed, %v", len(one.Deliveries()), err)
	}
	first, other := install("T0ONE"), install("T0TWO")
	if again := install("T0ONE"); again != first {
		t.Error("installing again has changed the token of an app that was installed")
	}
	one.Uninstall()
	// Nobody answers at this address, so both are told again at once; and each is told on its own.
	told := map[string]string{}
	for _, d := range one.Deliveries() {
		told[d.EventID] = d.Type
	}
	kinds := slices.Sorted(maps.Values(told))
	if !slices.Equal(kinds, []string{"app_uninstalled", "tokens_revoked"}) {
		t.Errorf("the app was told %q", kinds)
	}
	if who := c.whoAmI(t, first); who["error"] != "account_inactive" {
		t.Errorf("the old token: %v", who)
	}
	if who := c.whoAmI(t, other); who["team_id"] != "T0TWO" || len(two.Deliveries()) != 0 {
		t.Errorf("the other workspace: %v, %d deliveries", who, len(two.Deliveries()))
	}
	second := install("T0ONE")
	if who := c.whoAmI(t, second); second == first || who["team_id"] != "T0ONE" {
		t.Errorf("installed again: %v", who)
	}
	if who := c.whoAmI(t, first); who["error"] != "invalid_auth" {
		t.Errorf("the token before: %v", who)
	}
}
