package bot

import (
	"fmt"
	"slices"
	"strings"
)

// The methods of the Web API that the bot calls. Every method in use is in methodScopes, and every scope of
// manifest.yaml comes from there, from eventScopes or from featureScopes; a test compares them.
const (
	methodAuthTest    = "auth.test"
	methodTeams       = "auth.teams.list"
	methodOpenSocket  = "apps.connections.open"
	methodPost        = "chat.postMessage"
	methodUpdate      = "chat.update"
	methodEphemeral   = "chat.postEphemeral"
	methodPermalink   = "chat.getPermalink"
	methodOpenView    = "views.open"
	methodPushView    = "views.push"
	methodUpdateView  = "views.update"
	methodPublishView = "views.publish"
	methodUserInfo    = "users.info"
	methodUsers       = "users.list"
	methodGroupUsers  = "usergroups.users.list"
	methodGroups      = "usergroups.list"
	methodChannelInfo = "conversations.info"
	methodMembers     = "conversations.members"
	methodPlaces      = "users.conversations"
	methodOpenDM      = "conversations.open"
	methodReplies     = "conversations.replies"
	methodHistory     = "conversations.history"
	methodOAuthAccess = "oauth.v2.access"
	methodReact       = "reactions.add"
	methodUnreact     = "reactions.remove"

	methodStartStream  = "chat.startStream"
	methodAppendStream = "chat.appendStream"
	methodStopStream   = "chat.stopStream"

	methodPrompts       = "assistant.threads.setSuggestedPrompts"
	methodTitle         = "assistant.threads.setTitle"
	methodThreadStatus  = "assistant.threads.setStatus"
	methodSessionStatus = "agents.sessions.setStatus"
)

// methodScopes are the bot scopes each method needs. A scope of channels, groups, im and mpim is needed for the kind of
// conversation at hand.
var methodScopes = map[string][]string{
	methodAuthTest:    nil,
	methodTeams:       nil,
	methodOpenSocket:  nil, // the app token's connections:write
	methodPost:        {"chat:write"},
	methodUpdate:      {"chat:write"},
	methodEphemeral:   {"chat:write"},
	methodPermalink:   nil,
	methodOpenView:    nil,
	methodPushView:    nil,
	methodUpdateView:  nil,
	methodPublishView: nil,
	methodUserInfo:    {"users:read"},
	methodUsers:       {"users:read"},
	methodGroupUsers:  {"usergroups:read"},
	methodGroups:      {"usergroups:read"},
	methodChannelInfo: {"channels:read", "groups:read", "mpim:read"},
	methodMembers:     {"channels:read", "groups:read", "mpim:read"},
	methodPlaces:      {"channels:read", "groups:read", "mpim:read"},
	methodOpenDM:      {"im:write"},
	methodReplies:     {"channels:history", "groups:history", "im:history", "mpim:history"},
	methodHistory:     {"channels:history", "groups:history", "im:history", "mpim:history"},
	methodOAuthAccess: nil, // the app's id and secret
	methodReact:       {stateScope},
	methodUnreact:     {stateScope},

	methodStartStream:  {"chat:write"},
	methodAppendStream: {"chat:write"},
	methodStopStream:   {"chat:write"},

	methodPrompts:       nil, // scopeAssistant, which is optional
	methodTitle:         nil,
	methodThreadStatus:  {"chat:write"},
	methodSessionStatus: {"chat:write"},
}

// eventScopes are the events the bot subscribes to and the bot scopes that each needs.
var eventScopes = map[string][]string{
	"app_mention":     {"app_mentions:read"},
	"channel_shared":  {"channels:read", "groups:read"},
	"message.im":      {"im:history"},
	"message.mpim":    {"mpim:history"},
	"app_home_opened": nil,
	"app_uninstalled": nil,
	"tokens_revoked":  nil,

	"agent_session_stopped":            {"chat:write"},
	"assistant_thread_started":         nil,
	"assistant_thread_context_changed": nil,
}

// featureScopes are needed by slash commands and shortcuts.
var featureScopes = []string{"commands"}

// optionalScopes are asked for in the manifest's bot_optional: what needs one is switched off without it.
var optionalScopes = []string{scopeAssistant, scopeFiles}

// neededScopes lists every bot scope the bot uses, sorted.
func neededScopes() []string {
	set := map[string]bool{}
	add := func(scopes []string) {
		for _, s := range scopes {
			set[s] = true
		}
	}
	add(featureScopes)
	for _, scopes := range methodScopes {
		add(scopes)
	}
	for _, scopes := range eventScopes {
		add(scopes)
	}
	var out []string
	for s := range set {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// ScopeError says that the installed app lacks scopes. What needs them does not work until it is installed anew.
type ScopeError struct {
	Missing []string
}

func (e *ScopeError) Error() string {
	return fmt.Sprintf("the Slack app lacks the scopes %s: update it from manifest.yaml and install it again",
		strings.Join(e.Missing, ", "))
}

// missingScopes compares what was granted with what is needed. An unknown grant says nothing.
func missingScopes(granted []string) error {
	if len(granted) == 0 {
		return nil
	}
	var missing []string
	for _, s := range neededScopes() {
		if !slices.Contains(granted, s) {
			missing = append(missing, s)
		}
	}
	if missing == nil {
		return nil
	}
	return &ScopeError{Missing: missing}
}
