package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"countersign/approvals"
)

// The kinds of deliveries; in Socket Mode the type of the envelope.
const (
	kindEvent       = "events_api"
	kindInteractive = "interactive"
	kindCommand     = "slash_commands"
)

// What follows reads of each payload what the bot uses and nothing more: unknown blocks and fields are no error.

// eventPayload is the outer form of an event.
type eventPayload struct {
	Type       string `json:"type"`
	TeamID     string `json:"team_id"`
	Enterprise string `json:"enterprise_id"`
	AppID      string `json:"api_app_id"`
	EventID    string `json:"event_id"`
	EventTime  int64  `json:"event_time"` // seconds since 1970
	Shared     bool   `json:"is_ext_shared_channel"`
	Event      event  `json:"event"`

	Authorizations []struct {
		TeamID       string `json:"team_id"`
		EnterpriseID string `json:"enterprise_id"`
	} `json:"authorizations"`
}

// event is what happened.
type event struct {
	Type        string       `json:"type"`
	Subtype     string       `json:"subtype"`
	User        string       `json:"user"`
	BotID       string       `json:"bot_id"`
	Text        string       `json:"text"`
	TS          string       `json:"ts"`
	ThreadTS    string       `json:"thread_ts"`
	Channel     string       `json:"channel"`
	ChannelType string       `json:"channel_type"`
	Tab         string       `json:"tab"` // app_home_opened
	Files       []attachment `json:"files"`
	View        *view        `json:"view"` // app_home_opened, once something was published
	Tokens      struct {
		Bot []string `json:"bot"`
	} `json:"tokens"` // tokens_revoked
	Assistant assistantThread `json:"assistant_thread"` // of the assistant's panel

	Edited *editStamp     `json:"edited"`           // of an app_mention
	After  *editedMessage `json:"message"`          // message_changed
	Before *editedMessage `json:"previous_message"` // message_changed
}

// command is a slash command.
type command struct {
	AppID       string    `json:"api_app_id"`
	TeamID      string    `json:"team_id"`
	Enterprise  string    `json:"enterprise_id"`
	Channel     string    `json:"channel_id"`
	User        string    `json:"user_id"`
	Command     string    `json:"command"`
	Text        string    `json:"text"`
	ResponseURL secretURL `json:"response_url"`
	SSLCheck    string    `json:"ssl_check"`
}

// secretURL is an address that lets whoever has it speak as the app. It never prints itself.
type secretURL string

// String hides the address.
func (secretURL) String() string { return "(secret address)" }

// GoString hides the address.
func (secretURL) GoString() string { return "(secret address)" }

// MarshalText hides the address.
func (secretURL) MarshalText() ([]byte, error) { return []byte("(secret address)"), nil }

var (
	errUnreadable = errors.New("unreadable payload")
	errForeign    = errors.New("payload of another app or workspace")
)

// decode reads a payload. Its error never quotes it.
func decode(raw json.RawMessage, into any) error {
	if json.Unmarshal(raw, into) != nil {
		return unreadable(raw)
	}
	return nil
}

func unreadable(raw json.RawMessage) error {
	return fmt.Errorf("%w of %d bytes", errUnreadable, len(raw))
}

// origin is where a payload says it comes from.
type origin struct {
	app         string
	teams       []string
	enterprises []string

	form  bool      // somebody submitted a form, and waits
	reply secretURL // to whoever did it
}

func (p *eventPayload) origin() origin {
	o := origin{app: p.AppID, teams: []string{p.TeamID}, enterprises: []string{p.Enterprise}}
	if len(p.Authorizations) > 0 { // in shared channels team_id may be the other side's
		o.teams, o.enterprises = nil, nil
	}
	for _, a := range p.Authorizations {
		o.teams, o.enterprises = append(o.teams, a.TeamID), append(o.enterprises, a.EnterpriseID)
	}
	return o
}

func (i *interaction) origin() origin {
	o := origin{app: i.AppID, form: i.Type == "view_submission", reply: i.ResponseURL}
	switch {
	case i.View != nil && i.View.Installed != "":
		o.teams = append(o.teams, i.View.Installed)
	case i.Team != nil:
		o.teams, o.enterprises = append(o.teams, i.Team.ID), append(o.enterprises, i.Team.EnterpriseID)
	}
	if i.Enterprise != nil {
		o.enterprises = append(o.enterprises, i.Enterprise.ID)
	}
	return o
}

func (c *command) origin() origin {
	return origin{app: c.AppID, teams: []string{c.TeamID}, enterprises: []string{c.Enterprise}}
}

// admit refuses payloads of another app or workspace. That a payload comes from Slack is proved by its connection or
// its signature, which are the app's own, so one that does not name the app is taken; one that names no workspace is
// not.
func (id identity) admit(o origin) error {
	if id.appID != "" && o.app != "" && o.app != id.appID {
		return errForeign
	}
	if id.enterprise != "" && slices.Contains(o.enterprises, id.enterprise) {
		return nil
	}
	if id.enterprise == "" && slices.Contains(o.teams, id.team) {
		return nil
	}
	return errForeign
}

// learnApp remembers the app's id when auth.test did not tell it.
func (c *Client) learnApp(appID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity != nil && c.identity.appID == "" && appID != "" {
		known := *c.identity
		known.appID = appID
		c.identity = &known
	}
}

// parseRequestID accepts what may be the id of a request.
func parseRequestID(s string) (approvals.RequestID, bool) {
	return approvals.RequestID(s), isRequestID(s)
}
