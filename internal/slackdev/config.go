package slackdev

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// The two ways a Slack app receives what happens.
const (
	ModeSocket = "socket"
	ModeHTTP   = "http"
)

// Config describes a workspace. The zero Config is a usable one: Socket Mode,
// four people and one channel in which the bot is a member.
type Config struct {
	Addr string // listen address; empty means a free port on 127.0.0.1
	Team Team

	BotToken      string // xoxb-…; default "xoxb-dev-0000"
	AppToken      string // xapp-…; default "xapp-dev-0000"
	SigningSecret string // default "dev-signing-secret"
	App           App

	Scopes    []string   // granted bot scopes; nil grants all
	Events    []string   // subscribed bot events such as "app_mention" or "message.im"; nil subscribes to all
	Commands  []string   // registered slash commands such as "/approvals"; nil accepts any
	Shortcuts []Shortcut // global shortcuts offered by the page

	Users      []User      // nil gives four people, one of them a guest
	Channels   []Channel   // nil gives #general with everybody and the bot
	UserGroups []UserGroup // nil gives none

	Mode       string // ModeSocket (default) or ModeHTTP
	RequestURL RequestURLs

	AckTimeout  time.Duration   // default 3 s
	TriggerLife time.Duration   // default 3 s
	PingEvery   time.Duration   // WebSocket PING interval; default 5 s
	RetryAfter  []time.Duration // waits before redeliveries of an event; default 0, 1 min, 5 min

	// LingerAfterClose leaves the TCP connection open after the closing
	// handshake of a WebSocket, as Slack does. The default closes it.
	LingerAfterClose bool
	// NoAgents has the methods of agents refuse, as for apps that are no agents: there is no panel and no stop button.
	NoAgents bool
	// NoStreams has no chat.startStream, as servers that do not know it.
	NoStreams bool
	// StatusLife is after how long Slack takes away what assistant.threads.setStatus has set; default two minutes, as
	// its page says: https://docs.slack.dev/reference/methods/assistant.threads.setStatus.
	StatusLife time.Duration
	// StreamLife is after how long Slack ends a stream by itself; default five minutes, which are not documented.
	StreamLife time.Duration
	// RateLimits applies Slack's published tiers to the Web API. They hold for a method in the whole workspace; those
	// of chat.postMessage for a channel, and a larger one for the workspace.
	RateLimits bool
	// RateMinute is how long a minute of the rate limits lasts; default a minute. Tests that cannot wait shorten it.
	RateMinute time.Duration
	// FewReads has conversations.history and conversations.replies give 15 messages at most and, with RateLimits, take
	// one call a minute, as for an app that is distributed outside of Slack's Marketplace:
	// https://docs.slack.dev/changelog/2025/05/29/rate-limit-changes-for-non-marketplace-apps.
	FewReads bool
	// OrgInstall makes the installation one of the whole organisation, Team.EnterpriseID: payloads then name the
	// organisation, and team is null. What lists the things of one workspace has to be told which.
	OrgInstall bool
	// Workspaces are the ids of the organisation's other workspaces that the app is approved for. They have user groups
	// alone.
	Workspaces []string
	// SharedConversations makes users.conversations list of a person only what they share with the bot. Otherwise it
	// lists their public channels too where the bot is not. Slack's page says both.
	SharedConversations bool
	// EscapeCommands rewrites @name and #channel in slash command text to
	// <@U…|name> and <#C…|name>, as should_escape in a manifest does.
	EscapeCommands bool

	Tries     []Try  // what the page offers to try, in this order
	StartOver func() // begins everything again when somebody asks the page for it; nil when that cannot be done

	Logger *slog.Logger
}

// Team is the workspace itself.
type Team struct {
	ID           string // T…
	Domain       string
	Name         string
	EnterpriseID string // E…; empty outside an organisation
}

// App is the one app installed in the workspace.
type App struct {
	ID        string // A…
	BotUserID string // U…
	BotID     string // B…
	Name      string
}

// RequestURLs are the targets of deliveries in HTTP mode. An empty
// Interactions or Commands falls back to Events.
type RequestURLs struct {
	Events       string
	Interactions string
	Commands     string
}

// Shortcut is a global shortcut of the app.
type Shortcut struct {
	Name       string
	CallbackID string
}

// Try is something to do in the workspace: a message or a command to send, and what to do when it was sent.
type Try struct {
	Text string `json:"text"` // as one types it; empty when there is nothing to send
	Then string `json:"then"`
}

// User is a person, or another app's bot.
type User struct {
	ID       string // U…
	Name     string // handle, unique
	RealName string
	Email    string
	TZ       string // IANA name; default Etc/UTC
	TeamID   string // home workspace; empty means Config.Team

	Guest           bool // is_restricted
	UltraRestricted bool // single-channel guest
	Stranger        bool // from another workspace, met in a shared channel
	Bot             bool // another app's bot
	WorkflowBot     bool
	Admin           bool
	Deleted         bool

	// Authorized says that the person has authorised the app, as whoever installed it has. Their user object then has
	// is_app_user, "an authorized user of the calling app": https://docs.slack.dev/reference/objects/user-object.
	Authorized bool
}

// Channel is a public or private channel, or a group direct message. Direct
// messages exist by themselves, see [Workspace.DM].
type Channel struct {
	ID        string // C…
	Name      string
	Topic     string
	Private   bool
	Group     bool // a group direct message (mpim)
	ExtShared bool // shared with another workspace (Slack Connect)
	Archived  bool
	// AdminsPost says that only admins may post there, which the app is not: restricted_action, "a workspace preference
	// prevents the authenticated user from posting" (https://docs.slack.dev/reference/methods/chat.postMessage).
	AdminsPost bool
	Members    []string // user ids, without the bot
	BotMember  bool
}

// UserGroup is a user group such as @approvers.
type UserGroup struct {
	ID       string // S…
	TeamID   string // its workspace, empty means Config.Team
	Handle   string
	Name     string
	Users    []string
	Disabled bool
}

// DefaultUsers are the people of a workspace whose Config names none: Ann, Ben,
// who installed the app, Cleo, and the guest Gus.
func DefaultUsers() []User {
	return []User{
		{ID: "U0ANN", Name: "ann", RealName: "Ann Arden"},
		{ID: "U0BEN", Name: "ben", RealName: "Ben Brook", Authorized: true},
		{ID: "U0CLEO", Name: "cleo", RealName: "Cleo Croft"},
		{ID: "U0GUS", Name: "gus", RealName: "Gus Gray", Guest: true},
	}
}

// DefaultChannels is #general with the given people and the bot.
func DefaultChannels(users []User) []Channel {
	ids := make([]string, len(users))
	for i, u := range users {
		ids[i] = u.ID
	}
	return []Channel{{ID: "C0GENERAL", Name: "general", Topic: "Everybody", Members: ids, BotMember: true}}
}

// withDefaults fills what was left empty.
func (c Config) withDefaults() Config {
	setDefault(&c.Addr, "127.0.0.1:0")
	setDefault(&c.Team.ID, "T0DEV")
	setDefault(&c.Team.Domain, "dev")
	setDefault(&c.Team.Name, "Dev workspace")
	setDefault(&c.BotToken, "xoxb-dev-0000")
	setDefault(&c.AppToken, "xapp-dev-0000")
	setDefault(&c.SigningSecret, "dev-signing-secret")
	setDefault(&c.App.ID, "A0DEV")
	setDefault(&c.App.BotUserID, "U0BOT")
	setDefault(&c.App.BotID, "B0BOT")
	setDefault(&c.App.Name, "countersign")
	setDefault(&c.Mode, ModeSocket)
	setDefault(&c.AckTimeout, 3*time.Second)
	setDefault(&c.TriggerLife, 3*time.Second)
	setDefault(&c.PingEvery, 5*time.Second)
	setDefault(&c.RateMinute, time.Minute)
	setDefault(&c.StatusLife, 2*time.Minute)
	setDefault(&c.StreamLife, 5*time.Minute)
	if c.RetryAfter == nil {
		c.RetryAfter = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
	if c.Users == nil {
		c.Users = DefaultUsers()
	}
	if c.Channels == nil {
		c.Channels = DefaultChannels(c.Users)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate reports every mistake a test author could make at once.
func (c Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Mode != ModeSocket && c.Mode != ModeHTTP {
		bad("mode %q: want %q or %q", c.Mode, ModeSocket, ModeHTTP)
	}
	if !strings.HasPrefix(c.BotToken, "xoxb-") {
		bad("bot token must start with xoxb-")
	}
	if !strings.HasPrefix(c.AppToken, "xapp-") {
		bad("app token must start with xapp-")
	}
	if c.OrgInstall && c.Team.EnterpriseID == "" {
		bad("an installation of the whole organisation without Team.EnterpriseID")
	}
	users := []string{c.App.BotUserID}
	for _, u := range c.Users {
		if !isID(u.ID, "UW") {
			bad("user id %q: want U followed by capitals and digits", u.ID)
		}
		if slices.Contains(users, u.ID) {
			bad("user id %q is used twice", u.ID)
		}
		users = append(users, u.ID)
	}
	for _, ch := range c.Channels {
		if !isID(ch.ID, "CG") {
			bad("channel id %q: want C followed by capitals and digits", ch.ID)
		}
		if ch.Group && ch.ExtShared {
			bad("channel %s: a group direct message that is shared is not modelled", ch.ID)
		}
		for _, m := range ch.Members {
			if !slices.Contains(users, m) {
				bad("channel %s: member %q is no user", ch.ID, m)
			}
		}
	}
	return errors.Join(errs...)
}

// isID reports whether id is one of the letters followed by capitals and digits.
func isID(id, letters string) bool {
	if len(id) < 3 || !strings.Contains(letters, id[:1]) {
		return false
	}
	return strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}
