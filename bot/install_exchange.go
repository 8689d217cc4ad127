package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// access is Slack's answer to a code.
type access struct {
	OK          bool    `json:"ok"`
	Error       string  `json:"error"`
	Token       string  `json:"access_token"`
	Kind        string  `json:"token_type"`
	Scope       string  `json:"scope"`
	BotUser     string  `json:"bot_user_id"`
	App         string  `json:"app_id"`
	Refresh     string  `json:"refresh_token"` // only where the app rotates its tokens
	Expires     int64   `json:"expires_in"`
	Team        *tenant `json:"team"` // null for installations in a whole organisation
	Enterprise  *tenant `json:"enterprise"`
	OrgWide     bool    `json:"is_enterprise_install"`
	InstalledBy struct {
		ID string `json:"id"`
	} `json:"authed_user"`
}

type tenant struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

var (
	errRotates  = errors.New("the app rotates its tokens")
	errNoBot    = errors.New("no bot token came from Slack")
	errNoTenant = errors.New("the answer of Slack names no workspace and no organisation")
	errNoCode   = errors.New("no code came from Slack")
)

// exchange asks Slack for what the code stands for. Its errors hold neither the code nor a token.
func (in *installer) exchange(ctx context.Context, code string) (*approvals.Installation, error) {
	if code == "" {
		return nil, errNoCode
	}
	a, err := in.oauth.access(ctx, in.http, in.apiURL, code)
	if err != nil {
		return nil, err
	}
	return a.installation()
}

// Check asks Slack whether the app's id and secret are good: a *TokenError says that they are not. It does so with a
// code that no installation has.
func (o OAuth) Check(ctx context.Context, cfg ClientConfig) error {
	cfg = cfg.withDefaults()
	_, err := o.access(ctx, cfg.HTTPClient, cfg.APIURL, "0.0.0")
	switch word, _ := refusal(err); word {
	case "invalid_client_id":
		return &TokenError{Variable: "SLACK_CLIENT_ID", Word: word}
	case "bad_client_secret":
		return &TokenError{Variable: "SLACK_CLIENT_SECRET", Word: word}
	case "":
		return err
	}
	return nil
}

// access calls the method that takes a code.
func (o OAuth) access(ctx context.Context, client *http.Client, apiURL, code string) (*access, error) {
	form := url.Values{"code": {code}, "redirect_uri": {o.PublicURL + PathOAuth}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, apiURL+methodOAuthAccess,
		strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", methodOAuthAccess, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(o.ClientID, o.ClientSecret)
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", methodOAuthAccess, err)
	}
	defer resp.Body.Close()
	if err := statusError(resp); err != nil {
		return nil, fmt.Errorf("call %s: %w", methodOAuthAccess, err)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", methodOAuthAccess, err)
	}
	a := new(access)
	if json.Unmarshal(raw, a) != nil { // the error would quote it
		return nil, fmt.Errorf("call %s: unreadable answer of %d bytes", methodOAuthAccess, len(raw))
	}
	if !a.OK {
		return nil, fmt.Errorf("call %s: %w", methodOAuthAccess, slack.SlackErrorResponse{Err: label(a.Error, 60)})
	}
	return a, nil
}

// installation is what the answer says, if it can be used.
func (a *access) installation() (*approvals.Installation, error) {
	i := &approvals.Installation{
		App: a.App, BotUser: a.BotUser, Scopes: splitScopes(a.Scope), Token: approvals.BotToken(a.Token),
	}
	if a.Enterprise != nil {
		i.Enterprise, i.Name = a.Enterprise.ID, a.Enterprise.Name
	}
	if a.Team != nil && !a.OrgWide {
		i.Team, i.Name = a.Team.ID, a.Team.Name
	}
	switch {
	case a.Refresh != "" || a.Expires != 0 || strings.HasPrefix(a.Token, "xoxe."):
		return nil, errRotates
	case a.Kind != "bot" || !strings.HasPrefix(a.Token, "xoxb-") || !isUserID(a.BotUser):
		return nil, errNoBot
	case i.Team == "" && i.Enterprise == "",
		i.Team == "" && !a.OrgWide,
		i.Team != "" && !isTeamID(i.Team),
		i.Enterprise != "" && !isEnterpriseID(i.Enterprise):
		return nil, errNoTenant
	}
	i.Workspace = approvals.InstalledIn(i.Enterprise, i.Team)
	i.Name = label(i.Name, 200)
	if isUserID(a.InstalledBy.ID) {
		i.By = approvals.NewUserID(i.Workspace, a.InstalledBy.ID)
	}
	return i, nil
}
