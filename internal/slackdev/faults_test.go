package slackdev_test

import (
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"countersign/internal/slackdev"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	w := start(t, slackdev.Config{})
	api := client(w)
	ctx := within(t)
	post := func() error {
		_, _, err := api.PostMessageContext(ctx, "C0GENERAL", slack.MsgOptionText("x", false))
		return err
	}
	stored := func() int { return len(w.Messages("C0GENERAL")) }

	w.Fail(slackdev.Fault{Method: "chat.postMessage", RetryAfter: 2 * time.Second})
	var limited *slack.RateLimitedError
	if err := post(); !errors.As(err, &limited) || limited.RetryAfter != 2*time.Second || stored() != 0 {
		t.Errorf("rate limit: %v", err)
	}
	w.Fail(slackdev.Fault{Method: "chat.postMessage", Error: "is_archived", Times: 2})
	for range 2 {
		var e slack.SlackErrorResponse
		if err := post(); !errors.As(err, &e) || e.Err != "is_archived" {
			t.Errorf("error word: %v", err)
		}
	}
	if err := post(); err != nil || stored() != 1 {
		t.Errorf("a used-up fault still acts: %v", err)
	}
	w.Fail(slackdev.Fault{Method: "chat.postMessage", Reset: true, AfterEffect: true})
	if err := post(); !errors.Is(err, syscall.ECONNRESET) || stored() != 2 {
		t.Errorf("reset after the effect: %v, %d stored", err, stored())
	}
	w.Fail(slackdev.Fault{Reset: true})
	if err := post(); err == nil || stored() != 2 {
		t.Errorf("reset before the effect: %v, %d stored", err, stored())
	}
	w.Fail(slackdev.Fault{Status: http.StatusBadGateway, Times: -1})
	var status slack.StatusCodeError
	for range 3 {
		if err := post(); !errors.As(err, &status) || status.Code != http.StatusBadGateway {
			t.Errorf("status: %v", err)
		}
	}
	w.ClearFaults()
	w.Fail(slackdev.Fault{Body: `{"ok":tr`, AfterEffect: true})
	if err := post(); err == nil || stored() != 3 {
		t.Errorf("half an answer: %v", err)
	}
	w.Fail(slackdev.Fault{Delay: 60 * time.Millisecond})
	before := time.Now()
	if err := post(); err != nil || time.Since(before) < 60*time.Millisecond {
		t.Errorf("delay: %v after %v", err, time.Since(before))
	}
	w.Fail(slackdev.Fault{Error: "fatal_error", Match: func(args map[string]any) bool {
		return strings.HasPrefix(args["text"].(string), "y")
	}})
	if err := post(); err != nil {
		t.Errorf("a fault for other arguments: %v", err)
	}
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		w := start(t, slackdev.Config{RateLimits: on})
		limited := 0
		for range 25 {
			if got := call(t, w, "usergroups.list", nil); got.status == http.StatusTooManyRequests {
				limited++
				if got.header.Get("Retry-After") == "" {
					t.Error("no Retry-After")
				}
			}
		}
		if on != (limited == 5) || !on && limited != 0 {
			t.Errorf("limits %v: %d of 25 calls refused", on, limited)
		}
	}
}

// TestFewReads: of an app that is distributed outside of the Marketplace.
func TestFewReads(t *testing.T) {
	t.Parallel()
	for few, want := range map[bool][2]int{true: {15, http.StatusTooManyRequests}, false: {20, http.StatusOK}} {
		w := start(t, slackdev.Config{FewReads: few, RateLimits: true})
		for range 20 {
			if _, err := w.Post(t.Context(), "U0ANN", "C0GENERAL", "hello", ""); err != nil {
				t.Fatal(err)
			}
		}
		history := map[string]any{"channel": "C0GENERAL", "limit": 200}
		got := call(t, w, "conversations.history", history)
		again := call(t, w, "conversations.history", history)
		if len(got.Messages) > want[0] || len(got.Messages) < want[0]-1 || again.status != want[1] {
			t.Errorf("few reads %v: %d messages, then %d", few, len(got.Messages), again.status)
		}
	}
}
