package approvals

import (
	"log/slog"
	"time"
)

// Installation is the app in one workspace, or in all workspaces of an organisation: the token that the surface gave
// for it, and who wanted it there. One that has ended keeps its record without the token.
type Installation struct {
	// Workspace is the tenant, and the key: see InstalledIn.
	Workspace WorkspaceID `json:"workspace"`
	// Enterprise and Team are the surface's ids of the organisation and the workspace, as it gave them. Enterprise is
	// empty outside an organisation, Team where the app is installed in the whole of one.
	Enterprise string    `json:"enterprise,omitempty"`
	Team       string    `json:"team,omitempty"`
	Name       string    `json:"name,omitempty"` // what people call it; they may change it
	App        string    `json:"app,omitempty"`
	BotUser    string    `json:"bot_user"`
	Scopes     []string  `json:"scopes,omitempty"` // what the token may do
	Token      BotToken  `json:"token,omitempty"`
	By         UserID    `json:"by,omitempty"` // who installed it
	Installed  time.Time `json:"installed"`    // on the store's clock
	// Ended is when the app was removed or its token revoked, Why in a word of the surface. Zero: it is in use.
	Ended time.Time `json:"ended,omitzero"`
	Why   string    `json:"why,omitempty"`

	// Proof is what the browser brought back that began the installation: it is good for one. It is not stored with the
	// record; empty: there was none.
	Proof string `json:"-"`
}

// InstalledIn is the tenant of an installation in the workspace of the organisation: the workspace, whose id no other
// organisation has, or the organisation where the app is installed in the whole of it.
func InstalledIn(enterprise, team string) WorkspaceID {
	if team != "" {
		return WorkspaceID(team)
	}
	return WorkspaceID(enterprise)
}

// Live reports whether the app is installed there now.
func (i *Installation) Live() bool { return i.Ended.IsZero() }

// BotToken lets whoever has it speak as the app in a workspace. Neither fmt nor slog nor JSON shows it: a store that
// keeps JSON has to ask for it.
type BotToken string

// hiddenToken stands where a token is not printed.
const hiddenToken = "(bot token)"

// String hides the token.
func (BotToken) String() string { return hiddenToken }

// GoString hides the token.
func (BotToken) GoString() string { return hiddenToken }

// MarshalText hides the token.
func (BotToken) MarshalText() ([]byte, error) { return []byte(hiddenToken), nil }

// LogValue hides the token.
func (BotToken) LogValue() slog.Value { return slog.StringValue(hiddenToken) }

// Reveal returns the token, for who calls the surface with it.
func (t BotToken) Reveal() string { return string(t) }
