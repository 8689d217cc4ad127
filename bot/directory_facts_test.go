package bot

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// TestDirectoryTellsFacts asks for the names, the groups and the channels that policies read.
func TestDirectoryTellsFacts(t *testing.T) {
	t.Parallel()
	ann := []string{"U0ANN"}
	s := newStage(t, setUp{slack: slackdev.Config{
		Users: []slackdev.User{{ID: "U0ANN", Name: "ann", RealName: "Ann Lee"}, {ID: "U0BEN", Name: "ben"}},
		Channels: []slackdev.Channel{
			{ID: "C0OPEN", Name: "open", BotMember: true, Members: ann},
			{ID: "C0PRIVATE", Name: "board", Private: true, BotMember: true, Members: ann},
			{ID: "C0SHARED", Name: "partners", ExtShared: true, BotMember: true, Members: ann},
			{ID: "C0SECRET", Name: "secret", Private: true, Members: ann},
		},
		UserGroups: []slackdev.UserGroup{
			{ID: "S0FINANCE", Users: []string{"U0ANN", "U0BEN"}}, {ID: "S0OPS", Users: ann}, {ID: "S0EMPTY"},
			{ID: "S0OFF", Users: ann, Disabled: true},
		},
	}})
	c := s.bot.client
	for id, want := range map[string]string{"U0ANN": "ann", "U0BEN": "ben"} {
		if p, err := c.Person(s.ctx(), user(id), time.Time{}); err != nil || p.Name != want {
			t.Errorf("%s is %q, %v; want %q", id, p.Name, err, want)
		}
	}
	for id, want := range map[string][]string{
		"U0ANN": {"S0FINANCE", "S0OPS"}, "U0BEN": {"S0FINANCE"}, "U0NOBODY": nil,
	} {
		got, err := c.GroupsOf(s.ctx(), user(id), time.Time{})
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is in %v, %v; want %v", id, got, err, want)
		}
	}
	if n := calls(s, methodGroups); n != 1 {
		t.Errorf("%d questions for the groups of three people", n)
	}
	for id, want := range map[string]approvals.Channel{
		"C0OPEN": {Name: "open"}, "C0PRIVATE": {Name: "board", Private: true},
		"C0SHARED": {Name: "partners", Shared: true, External: true},
	} {
		got, err := c.Channel(s.ctx(), testWorkspace, id, time.Time{})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", id, err, diff)
		}
	}
	for _, id := range []string{"C0SECRET", "C0NONE"} {
		if got, err := c.Channel(s.ctx(), testWorkspace, id, time.Time{}); !errors.Is(err, approvals.ErrNotFound) {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
	if _, err := c.GroupsOf(s.ctx(), "T0OTHER/U0ANN", time.Time{}); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("groups in another workspace: %v", err)
	}
}

// TestFactsForDecisionsAreAskedAnew takes no remembered answer for somebody who needs a newer one, and keeps no error.
func TestFactsForDecisionsAreAskedAnew(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	c := s.bot.client
	for method, ask := range map[string]func(time.Time) error{
		methodGroups: func(since time.Time) error {
			_, err := c.GroupsOf(s.ctx(), user("U0ANN"), since)
			return err
		},
		methodChannelInfo: func(since time.Time) error {
			_, err := c.Channel(s.ctx(), testWorkspace, "C0GENERAL", since)
			return err
		},
	} {
		s.slack.Fail(slackdev.Fault{Method: method, Error: "fatal_error"})
		if err := ask(time.Time{}); err == nil || errors.Is(err, approvals.ErrNotFound) {
			t.Errorf("%s failed: %v", method, err)
		}
		for i, want := range []int{1, 0, 1, 0} {
			before, since := calls(s, method), time.Time{}
			if i == 2 {
				since = time.Now()
			}
			if err := ask(since); err != nil {
				t.Fatal(err)
			}
			if got := calls(s, method) - before; got != want {
				t.Errorf("%s, question %d: asked Slack %d times, want %d", method, i, got, want)
			}
		}
	}
}

// TestDetailsShowThePolicy shows which policy asks, with the values that its condition read, as text.
func TestDetailsShowThePolicy(t *testing.T) {
	t.Parallel()
	r := transfer(`{"amount":5}`)
	shown := func() string {
		raw, err := json.Marshal(detailsView(r, 0, rights{}).Blocks.BlockSet)
		if err != nil {
			t.Fatal(err)
		}
		return texts(t, raw)
	}
	before := shown()
	q := &r.Requirement
	q.Policy, q.Version, q.Risk = "money", "0123456789abcdef", approvals.RiskHigh
	q.Hash[0] = 0xab
	q.Vars = []approvals.PolicyVar{{Name: "place", Value: "\"<!here> *x*\u202e\""}, {Name: "limit", Value: "1000"}}
	q.Freeze = []approvals.Freeze{{
		From: r.Created, To: r.Created.Add(time.Hour), Except: approvals.Approvers{Groups: []string{"S0FINANCE"}},
	}}
	now := approvals.Freeze{From: r.Created, To: r.Created.Add(2 * time.Hour)}
	r.Progress = &approvals.Progress{Current: *q}
	r.Progress.Current.Freeze = []approvals.Freeze{q.Freeze[0], now} // the policy has got another one since
	for _, status := range []approvals.RequestStatus{approvals.RequestPending, approvals.RequestExpired} {
		r.Status = status
		text := shown()
		wants := []string{"Policy money, hash ", "ab00000000000000", "version ", "0123456789abcdef", "high risk",
			"vars.place = ", "<!here> *x*", "vars.limit = ", "1000"}
		if status == approvals.RequestPending {
			wants = append(wants, "Frozen from ", "only ", " can approve; rejecting is possible", "nobody can approve")
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", status, want, text)
			}
			if strings.Contains(before, want) && want != "1000" && want != "only " {
				t.Errorf("control: %q stood there before", want)
			}
		}
		if strings.Contains(text, "\u202e") {
			t.Errorf("a control character in %q", text)
		}
	}
}

// TestGroupsAreCountedInNumbersOrText: Slack's page about the object has the count as text, its answers have numbers.
// An answer that names fewer people than it counts is none.
func TestGroupsAreCountedInNumbersOrText(t *testing.T) {
	t.Parallel()
	for count, good := range map[string]bool{`1`: true, `"1"`: true, `2`: false, `"2"`: false, `null`: true} {
		s := newStage(t, setUp{})
		s.slack.Fail(slackdev.Fault{Method: methodGroups, Body: `{"ok":true,"usergroups":[{"id":"S0OPS",` +
			`"users":["U0ANN"],"user_count":` + count + `}]}`})
		got, err := s.bot.client.GroupsOf(s.ctx(), user("U0ANN"), time.Time{})
		if (err == nil) != good || good && !slices.Equal(got, []string{"S0OPS"}) {
			t.Errorf("counted as %s: %v, %v", count, got, err)
		}
	}
}

// TestGroupsOfAnOrganisation: where the app is installed in a whole organisation Slack answers about the user groups of
// one workspace at a time, and has to be told which.
func TestGroupsOfAnOrganisation(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{slack: slackdev.Config{
		OrgInstall: true, Team: slackdev.Team{ID: "T0DEV", EnterpriseID: "E0DEV"},
		Workspaces: []string{"T0OPS", "T0LAW"},
		UserGroups: []slackdev.UserGroup{
			{ID: "S0FINANCE", Handle: "finance", Users: []string{"U0ANN"}},
			{ID: "S0OPS", TeamID: "T0OPS", Handle: "ops", Users: []string{"U0ANN", "U0BEN"}},
		},
	}})
	c := s.bot.client
	const org = approvals.WorkspaceID("E0DEV")
	for group, want := range map[string][]approvals.UserID{
		"S0FINANCE": {"E0DEV/U0ANN"}, "S0OPS": {"E0DEV/U0ANN", "E0DEV/U0BEN"},
	} {
		got, err := c.Members(s.ctx(), org, group, time.Time{})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", group, err, diff)
		}
	}
	if got, err := c.Members(s.ctx(), org, "S0NONE", time.Time{}); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("a group of no workspace: %v, %v", got, err)
	}
	if got, err := c.GroupsOf(s.ctx(), "E0DEV/U0ANN", time.Time{}); err != nil ||
		!slices.Equal(got, []string{"S0FINANCE", "S0OPS"}) {
		t.Errorf("Ann is in %v, %v", got, err)
	}
	if got := c.groupName(s.ctx(), "S0OPS"); got != "@ops" {
		t.Errorf("S0OPS is called %q", got)
	}
	before := calls(s, methodGroupUsers)
	if _, err := c.Members(s.ctx(), org, "S0OPS", time.Now()); err != nil || calls(s, methodGroupUsers)-before != 1 {
		t.Errorf("%d questions about a group whose workspace is known, %v", calls(s, methodGroupUsers)-before, err)
	}
}

// TestGroupsOfAnOrganisationThatAreNotKnown: a workspace that Slack does not answer about leaves open who is in a group
// that was found in no other.
func TestGroupsOfAnOrganisationThatAreNotKnown(t *testing.T) {
	t.Parallel()
	for word, method := range map[string]string{
		"fatal_error": methodGroupUsers, "internal_error": methodTeams, "team_access_not_granted": methodGroupUsers,
	} {
		s := newStage(t, setUp{slack: slackdev.Config{
			OrgInstall: true, Team: slackdev.Team{ID: "T0DEV", EnterpriseID: "E0DEV"}, Workspaces: []string{"T0OPS"},
			UserGroups: []slackdev.UserGroup{{ID: "S0LAW", TeamID: "T0LAW", Users: []string{"U0ANN"}}},
		}})
		s.slack.Fail(slackdev.Fault{Method: method, Error: word})
		got, err := s.bot.client.Members(s.ctx(), "E0DEV", "S0LAW", time.Time{})
		if err == nil || errors.Is(err, approvals.ErrNotFound) {
			t.Errorf("%s of %s: %v, %v", word, method, got, err)
		}
	}
}
