package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

func TestPersonIsRegularOnlyAsAFullMember(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{slack: slackdev.Config{Users: []slackdev.User{
		{ID: "U0ANN"}, {ID: "U0ADMIN", Admin: true},
		{ID: "U0GUEST", Guest: true}, {ID: "U0SINGLE", UltraRestricted: true},
		{ID: "U0STRANGE", Stranger: true}, {ID: "U0AWAY", TeamID: "T0OTHER"}, {ID: "U0BOTTY", Bot: true},
		{ID: "U0FLOW", WorkflowBot: true}, {ID: "U0GONE", Deleted: true},
	}}})
	for id, regular := range map[string]bool{
		"U0ANN": true, "U0ADMIN": true, "U0GUEST": false, "U0SINGLE": false, "U0STRANGE": false,
		"U0AWAY": false, "U0BOTTY": false, "U0FLOW": false, "U0GONE": false,
	} {
		p, err := s.bot.client.Person(s.ctx(), user(id), time.Time{})
		if err != nil || p.Regular != regular || (p.Why == "") != regular || p.ID != user(id) {
			t.Errorf("%s: %+v, %v", id, p, err)
		}
	}
	for _, nobody := range []approvals.UserID{user("U0NOBODY"), user("uid:1000"), "T0OTHER/U0ANN"} {
		p, err := s.bot.client.Person(s.ctx(), nobody, time.Time{})
		if !errors.Is(err, approvals.ErrNotFound) || p.Regular {
			t.Errorf("%s: %+v, %v", nobody, p, err)
		}
	}
}

func TestErrorsOfTheDirectoryAreNeverKept(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{slack: slackdev.Config{UserGroups: []slackdev.UserGroup{
		{ID: "S0FINANCE", Handle: "finance", Users: []string{"U0BEN"}},
	}}})
	c := s.bot.client
	ask := map[string]func() (int, error){
		methodUserInfo: func() (int, error) {
			p, err := c.Person(s.ctx(), user("U0BEN"), time.Time{})
			return len(p.ID), err
		},
		methodGroupUsers: func() (int, error) {
			m, err := c.Members(s.ctx(), testWorkspace, "S0FINANCE", time.Time{})
			return len(m), err
		},
		methodPlaces: func() (int, error) {
			in, err := c.InChannel(s.ctx(), testWorkspace, "C0GENERAL", user("U0BEN"), time.Time{})
			return map[bool]int{true: 1}[in], err
		},
		methodMembers: func() (int, error) {
			m, err := c.ChannelMembers(s.ctx(), testWorkspace, "C0GENERAL")
			return len(m), err
		},
	}
	for method, f := range ask {
		for _, fault := range []slackdev.Fault{{Status: 500}, {Reset: true}, {Error: "fatal_error"}} {
			fault.Method = method
			s.slack.Fail(fault)
			if n, err := f(); err == nil || n != 0 {
				t.Errorf("%s with %+v: %d, %v", method, fault, n, err)
			}
		}
		before := calls(s, method)
		for range 5 {
			if n, err := f(); err != nil || n == 0 {
				t.Errorf("%s without a fault: %d, %v", method, n, err)
			}
		}
		if got := calls(s, method) - before; got != 1 {
			t.Errorf("%s was asked %d times for one answer", method, got)
		}
	}
}

func TestChannelMembersAreReadInFull(t *testing.T) {
	t.Parallel()
	users := make([]slackdev.User, 2300)
	want := make([]approvals.UserID, len(users))
	for i := range users {
		users[i].ID = fmt.Sprintf("U%06d", i)
		want[i] = user(users[i].ID)
	}
	s := newStage(t, setUp{slack: slackdev.Config{Users: users}})
	got, err := s.bot.client.ChannelMembers(s.ctx(), testWorkspace, "C0GENERAL")
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range want {
		if !slices.Contains(got, u) {
			t.Fatalf("%s is missing of %d", u, len(got))
		}
	}
}

// TestIdentityIsForAllWhoAsk: whoever asks first may give up, and whoever waits with them still gets the answer.
func TestIdentityIsForAllWhoAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, release := 0, make(chan struct{})
		answer := func(r *http.Request) (*http.Response, error) {
			asked++
			select {
			case <-release:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			body := io.NopCloser(strings.NewReader(`{"ok":true,"team_id":"T0DEV","user_id":"U0BOT"}`))
			return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
		}
		c, err := NewClient(ClientConfig{
			Token:      "xoxb-test",
			HTTPClient: &http.Client{Timeout: time.Minute, Transport: roundTrip(answer)},
		})
		if err != nil {
			t.Fatal(err)
		}
		impatient, giveUp := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { _, err := c.Workspace(impatient); first <- err }()
		synctest.Wait()
		go func() { _, err := c.Workspace(t.Context()); second <- err }()
		synctest.Wait()
		giveUp()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up got %v", err)
		}
		close(release)
		if err := <-second; err != nil || asked != 1 {
			t.Errorf("who waited got %v; Slack was asked %d times", err, asked)
		}
		c.learnApp("A0DEV")
		if id := c.remember(identity{workspace: testWorkspace}); id.appID != "A0DEV" {
			t.Errorf("a later answer made the bot forget its app: %+v", id)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
