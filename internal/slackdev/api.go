package slackdev

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
)

// reply is an answer with "ok": true to be added.
type reply = map[string]any

// method is one Web API method.
type method struct {
	token string // prefix of the token kind it takes: xoxb-, xapp-, or empty for none
	scope string // bot scope it needs, empty for none; finer checks are in run
	tier  int    // requests per minute when Config.RateLimits is on; 0 for no tier
	run   func(*Workspace, args) (reply, error)
}

// Rate tiers, requests per minute.
const (
	tier2 = 20
	tier3 = 50
	tier4 = 100
)

// methods is the part of the Web API this workspace knows.
func methods() map[string]method {
	return map[string]method{
		"api.test":              {run: (*Workspace).apiTest},
		"auth.test":             {token: "xoxb-", run: (*Workspace).authTest},
		"auth.teams.list":       {token: "xoxb-", tier: tier2, run: (*Workspace).authTeamsList},
		"apps.connections.open": {token: "xapp-", tier: tier3, run: (*Workspace).connectionsOpen},
		"bots.info":             {token: "xoxb-", scope: "users:read", tier: tier3, run: (*Workspace).botsInfo},
		"team.info":             {token: "xoxb-", scope: "team:read", tier: tier3, run: (*Workspace).teamInfo},

		"chat.postMessage":   {token: "xoxb-", scope: "chat:write", run: (*Workspace).chatPostMessage},
		"chat.postEphemeral": {token: "xoxb-", scope: "chat:write", tier: tier4, run: (*Workspace).chatPostEphemeral},
		"chat.update":        {token: "xoxb-", scope: "chat:write", tier: tier3, run: (*Workspace).chatUpdate},
		"chat.startStream":   {token: "xoxb-", scope: "chat:write", tier: tier2, run: (*Workspace).chatStartStream},
		"chat.appendStream":  {token: "xoxb-", scope: "chat:write", tier: tier4, run: (*Workspace).chatAppendStream},
		"chat.stopStream":    {token: "xoxb-", scope: "chat:write", tier: tier2, run: (*Workspace).chatStopStream},
		"chat.delete":        {token: "xoxb-", scope: "chat:write", tier: tier3, run: (*Workspace).chatDelete},
		"chat.getPermalink":  {token: "xoxb-", run: (*Workspace).chatGetPermalink},

		"conversations.info":    {token: "xoxb-", tier: tier3, run: (*Workspace).conversationsInfo},
		"conversations.list":    {token: "xoxb-", tier: tier2, run: (*Workspace).conversationsList},
		"conversations.members": {token: "xoxb-", tier: tier4, run: (*Workspace).conversationsMembers},
		"conversations.open":    {token: "xoxb-", scope: "im:write", tier: tier3, run: (*Workspace).conversationsOpen},
		"conversations.history": {token: "xoxb-", tier: tier3, run: (*Workspace).conversationsHistory},
		"conversations.replies": {token: "xoxb-", tier: tier3, run: (*Workspace).conversationsReplies},

		"users.conversations": {token: "xoxb-", tier: tier3, run: (*Workspace).usersConversations},
		"users.info":          {token: "xoxb-", scope: "users:read", tier: tier4, run: (*Workspace).usersInfo},
		"users.list":          {token: "xoxb-", scope: "users:read", tier: tier2, run: (*Workspace).usersList},
		"users.lookupByEmail": {
			token: "xoxb-", scope: "users:read.email", tier: tier3, run: (*Workspace).usersLookupByEmail,
		},

		"usergroups.list": {
			token: "xoxb-", scope: "usergroups:read", tier: tier2, run: (*Workspace).usergroupsList,
		},
		"usergroups.users.list": {
			token: "xoxb-", scope: "usergroups:read", tier: tier2, run: (*Workspace).usergroupsUsersList,
		},

		"views.open":    {token: "xoxb-", tier: tier4, run: (*Workspace).viewsOpen},
		"views.push":    {token: "xoxb-", tier: tier4, run: (*Workspace).viewsPush},
		"views.update":  {token: "xoxb-", tier: tier4, run: (*Workspace).viewsUpdate},
		"views.publish": {token: "xoxb-", tier: tier4, run: (*Workspace).viewsPublish},

		"reactions.add":    {token: "xoxb-", scope: "reactions:write", tier: tier3, run: (*Workspace).reactionsAdd},
		"reactions.remove": {token: "xoxb-", scope: "reactions:write", tier: tier2, run: (*Workspace).reactionsRemove},

		"assistant.threads.setStatus": {token: "xoxb-", scope: "chat:write", run: (*Workspace).threadsSetStatus},
		"assistant.threads.setSuggestedPrompts": {
			token: "xoxb-", scope: "assistant:write", tier: tier4, run: (*Workspace).threadsSetPrompts,
		},
		"assistant.threads.setTitle": {
			token: "xoxb-", scope: "assistant:write", tier: tier4, run: (*Workspace).threadsSetTitle,
		},
		"agents.sessions.setStatus": {
			token: "xoxb-", scope: "chat:write", tier: tier3, run: (*Workspace).sessionsSetStatus,
		},
	}
}

// routes is the whole HTTP side.
func (w *Workspace) routes() http.Handler {
	mux := http.NewServeMux()
	table := methods()
	mux.HandleFunc("/api/{method}", func(rw http.ResponseWriter, r *http.Request) {
		w.serveAPI(rw, r, table)
	})
	mux.HandleFunc("GET /link/", w.serveSocket)
	mux.HandleFunc("POST /hooks/{id}", w.serveResponseURL)
	mux.HandleFunc("GET /files-pri/{id}/{name}", w.serveFile)
	w.pageRoutes(mux)
	return mux
}

// serveAPI answers one Web API request: arguments, faults, token, scope, rate
// limit, then the method itself under the workspace's lock.
func (w *Workspace) serveAPI(rw http.ResponseWriter, r *http.Request, table map[string]method) {
	a, err := readArgs(rw, r)
	w.serveArgs(rw, r, a, err, table)
}

// serveArgs is serveAPI for arguments that have been read, or not: err.
func (w *Workspace) serveArgs(
	rw http.ResponseWriter, r *http.Request, a args, err error, table map[string]method,
) {
	name := r.PathValue("method")
	call := w.begin(name, a)
	fault := w.takeFault(call)
	if fault != nil && !fault.AfterEffect && !w.suffer(rw, r, call, fault) {
		return
	}
	var answer reply
	if err == nil {
		answer, err = w.perform(name, a, table)
	}
	if fault != nil && fault.AfterEffect && !w.suffer(rw, r, call, fault) {
		return
	}
	w.answer(rw, call, answer, err, a.warning())
}

// perform checks what every method has in common and runs it.
func (w *Workspace) perform(name string, a args, table map[string]method) (reply, error) {
	m, ok := table[name]
	if !ok {
		return nil, fail("unknown_method")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.authorize(m, a); err != nil {
		return nil, err
	}
	if wait := w.throttle(name, m.tier, a); wait > 0 {
		return nil, &rateLimited{after: wait}
	}
	answer, err := m.run(w, a)
	if err != nil {
		return nil, err
	}
	w.touch()
	return answer, nil
}

func (w *Workspace) authorize(m method, a args) error {
	if m.token == "" {
		return nil
	}
	token := a.token
	if m.token == "xapp-" && !a.bearer {
		token = "" // this kind is taken from the header alone
	}
	switch {
	case token == "":
		return fail("not_authed")
	case token != w.token && token != w.cfg.AppToken:
		return fail("invalid_auth")
	case !strings.HasPrefix(token, m.token):
		return fail("not_allowed_token_type")
	case m.token == "xoxb-" && w.removed:
		return fail("account_inactive")
	case m.token == "xoxb-" && w.revoked:
		return fail("token_revoked")
	case m.scope != "":
		return w.needScope(m.scope)
	}
	return nil
}

// needScope fails with missing_scope unless one of the scopes was granted.
func (w *Workspace) needScope(anyOf ...string) error {
	if w.cfg.Scopes == nil {
		return nil
	}
	for _, s := range anyOf {
		if slices.Contains(w.cfg.Scopes, s) {
			return nil
		}
	}
	return &apiError{code: "missing_scope", needed: strings.Join(anyOf, ",")}
}

// begin records a request.
func (w *Workspace) begin(name string, a args) *Call {
	call := &Call{Method: name, Args: a.record(), Time: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call)
	w.touch()
	return call
}

// answer writes the answer and completes the record.
func (w *Workspace) answer(rw http.ResponseWriter, call *Call, body reply, err error, warning string) {
	status := http.StatusOK
	body = w.envelope(body, err, warning)
	if limited, ok := errors.AsType[*rateLimited](err); ok {
		status = http.StatusTooManyRequests
		rw.Header().Set("Retry-After", limited.seconds())
	}
	w.finish(call, status, body)
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.Header().Set("X-OAuth-Scopes", strings.Join(w.cfg.Scopes, ","))
	rw.WriteHeader(status)
	json.NewEncoder(rw).Encode(body)
}

// envelope adds ok, error, warning and response_metadata.
func (w *Workspace) envelope(body reply, err error, warning string) reply {
	meta := map[string]any{}
	if body == nil {
		body = reply{}
	}
	body["ok"] = err == nil
	switch e := err.(type) {
	case nil:
	case *apiError:
		body["error"] = e.code
		if e.needed != "" {
			body["needed"], body["provided"] = e.needed, strings.Join(w.cfg.Scopes, ",")
		}
		if len(e.messages) > 0 {
			meta["messages"] = e.messages
		}
	case *rateLimited:
		body["error"] = "ratelimited"
	default:
		body["error"] = "internal_error"
		w.log.Error("slackdev internal error", "error", err)
	}
	if warning != "" {
		body["warning"] = warning
		meta["warnings"] = []string{warning}
	}
	if cursor, ok := body["next_cursor"]; ok {
		delete(body, "next_cursor")
		meta["next_cursor"] = cursor
	}
	if len(meta) > 0 {
		body["response_metadata"] = meta
	}
	return body
}

func (w *Workspace) finish(call *Call, status int, body reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	call.Took = time.Since(call.Time)
	call.Status = status
	call.Answer = body
	call.OK, _ = body["ok"].(bool)
	call.Error, _ = body["error"].(string)
	w.touch()
}
