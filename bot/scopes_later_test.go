package bot

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// TestScopesThatAreGrantedLaterCount: an app that is installed again keeps its token, and the bot is not started anew
// for it. It asks for private channels as soon as Slack has named the scope with any answer.
func TestScopesThatAreGrantedLaterCount(t *testing.T) {
	t.Parallel()
	var granted atomic.Value
	granted.Store("chat:write,channels:read")
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("X-OAuth-Scopes", granted.Load().(string))
		fmt.Fprint(rw, `{"ok":true,"team_id":"T0DEV","user_id":"U0BOT"}`)
	}))
	defer server.Close()
	c := lonely(t, server.URL).client
	before, err := c.identify(t.Context())
	if err != nil || slices.Contains(before.conversationTypes(), typePrivateChannel) {
		t.Fatalf("before: %v, %v", before.conversationTypes(), err)
	}
	granted.Store("chat:write,channels:read,groups:read")
	if err := c.ask(t.Context(), methodGroups, nil, nil); err != nil {
		t.Fatal(err)
	}
	after, err := c.identify(t.Context())
	if err != nil || !slices.Contains(after.conversationTypes(), typePrivateChannel) {
		t.Errorf("after: %v, %v", after.conversationTypes(), err)
	}
	if slices.Contains(before.conversationTypes(), typePrivateChannel) {
		t.Error("what somebody holds has changed")
	}
}

// TestWhatSlackRefusesIsTriedAgain: not at once, and not only once the bot is started anew.
func TestWhatSlackRefusesIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, hello)
		b := l.bot
		mayAsk := func() map[string]bool {
			return map[string]bool{
				"to mark":   b.stateMessage(identity{}, "1.2") != "",
				"to stream": b.mayStream(approvals.Place{Surface: "slack", Channel: "C1", Thread: "1.2"}),
				"to read":   !b.closed.has("C1"),
			}
		}
		b.closed.add("C1")
		b.closed.add(methodReact)
		b.closed.add(methodStartStream)
		for what, may := range mayAsk() {
			if may {
				t.Errorf("at once it tries %s", what)
			}
		}
		l.wait(closedFor - time.Second)
		for what, may := range mayAsk() {
			if may {
				t.Errorf("before its time it tries %s", what)
			}
		}
		l.wait(2 * time.Second)
		for what, may := range mayAsk() {
			if !may {
				t.Errorf("it never tries again %s", what)
			}
		}
	})
}
