package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// memory is the Web API in memory: a function answers every call, and the calls are counted.
type memory struct {
	answer func(method string, form url.Values) string

	mu    sync.Mutex
	calls []string
}

func (m *memory) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	method := strings.TrimPrefix(r.URL.Path, "/api/")
	m.mu.Lock()
	m.calls = append(m.calls, method)
	m.mu.Unlock()
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r}
	body := m.answer(method, r.Form)
	if wait, limited := strings.CutPrefix(body, "429 "); limited {
		resp.StatusCode, body = http.StatusTooManyRequests, `{"ok":false,"error":"ratelimited"}`
		resp.Header.Set("Retry-After", wait)
	}
	resp.Body = io.NopCloser(strings.NewReader(body))
	return resp, nil
}

func (m *memory) asked(method string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(m.calls), func(s string) bool { return s != method }))
}

// client is one that asks m, of an app with the scopes of manifest.yaml.
func (m *memory) client(t *testing.T) *Client {
	t.Helper()
	c, err := NewClient(ClientConfig{
		Token: "xoxb-test", APIURL: "http://slack.test/api/",
		HTTPClient: &http.Client{Transport: m, Timeout: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.identity = &identity{
		workspace: testWorkspace, team: string(testWorkspace), botUser: "U0BOT", scopes: neededScopes(),
	}
	return c
}

func isIn(t *testing.T, c *Client, channel, person string, since time.Time) (bool, error) {
	t.Helper()
	return c.InChannel(t.Context(), testWorkspace, channel, user(person), since)
}

// isInAs is isIn with an answer of up to a minute ago.
func isInAs(ctx context.Context, c *Client, channel, person string) (bool, error) {
	return c.InChannel(ctx, testWorkspace, channel, user(person), time.Time{})
}

func TestInChannel(t *testing.T) {
	t.Parallel()
	both := []string{"U0ANN", "U0BEN"}
	for _, shared := range []bool{false, true} {
		s := newStage(t, setUp{slack: slackdev.Config{SharedConversations: shared, Channels: []slackdev.Channel{
			{ID: "C0OPEN", BotMember: true, Members: both},
			{ID: "C0PRIVATE", Private: true, BotMember: true, Members: both},
			{ID: "C0REMOVED", Private: true, BotMember: true, Members: both},
			{ID: "C0SECRET", Private: true, Members: both},
			{ID: "C0OLD", Archived: true, BotMember: true, Members: both},
		}}})
		for _, err := range []error{
			s.slack.Leave("C0OPEN", "U0BEN"), s.slack.Leave("C0PRIVATE", "U0BEN"), s.slack.Leave("C0REMOVED", "U0BOT"),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			person, channel string
			want            bool
		}{
			{"U0ANN", "C0OPEN", true}, {"U0BEN", "C0OPEN", false}, {"U0CLEO", "C0OPEN", false},
			{"U0ANN", "C0PRIVATE", true}, {"U0BEN", "C0PRIVATE", false},
			{"U0ANN", "C0REMOVED", false}, {"U0ANN", "C0SECRET", false},
			{"U0ANN", "C0OLD", true}, {"U0ANN", "C0NONE", false}, {"U0ANN", s.slack.DM("U0ANN"), false},
		} {
			if got, err := isIn(t, s.bot.client, tc.channel, tc.person, time.Now()); got != tc.want || err != nil {
				t.Errorf("shared %v: %s in %s: %v, %v", shared, tc.person, tc.channel, got, err)
			}
		}
		for _, nobody := range []approvals.UserID{user("U0NOBODY"), user("uid:1000"), "T0OTHER/U0ANN"} {
			got, err := s.bot.client.InChannel(s.ctx(), testWorkspace, "C0OPEN", nobody, time.Now())
			if got || !errors.Is(err, approvals.ErrNotFound) {
				t.Errorf("%s: %v, %v", nobody, got, err)
			}
		}
		if got := calls(s, methodMembers); got != 0 {
			t.Errorf("%d questions about whole channels", got)
		}
	}
}

// crowd is a person of so many conversations, and a channel of so many people; both are found last.
type crowd struct{ conversations, people int }

func (c crowd) answer(method string, form url.Values) string {
	key, item, last, total := "members", `"U%06d"`, `"U0BEN"`, c.people
	if method == methodPlaces {
		key, item, last, total = "channels", `{"id":"C%06d"}`, `{"id":"C0LAST"}`, c.conversations
	}
	start := 0
	fmt.Sscan(form.Get("cursor"), &start)
	end, next := start+channelPage, fmt.Sprint(start+channelPage)
	if end >= total {
		end, next = total, ""
	}
	items := make([]string, 0, channelPage)
	for i := start; i < end; i++ {
		if i == total-1 {
			item = last
		}
		items = append(items, strings.ReplaceAll(item, "%06d", fmt.Sprintf("%06d", i)))
	}
	return fmt.Sprintf(`{"ok":true,%q:[%s],"response_metadata":{"next_cursor":%q}}`,
		key, strings.Join(items, ","), next)
}

func TestInChannelReadsABoundedNumberOfPages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		why                 string
		crowd               crowd
		channel             string
		places, members     int // questions
		in, cannotBeToldNow bool
	}{
		{"found on the first page", crowd{9 * channelPage, 10}, "C000001", 1, 0, true, false},
		{"found on the last page", crowd{3 * channelPage, 10}, "C0LAST", 3, 0, true, false},
		{"not found on the last page", crowd{3 * channelPage, 10}, "C0NONE", 3, 0, false, false},
		{"found among the people", crowd{9 * channelPage, 2 * channelPage}, "C0LAST", mostPlacePages, 2, true, false},
		{"too many of both", crowd{9 * channelPage, 99 * channelPage}, "C0LAST", mostPlacePages, mostPresencePages,
			false, true},
	} {
		m := &memory{answer: tc.crowd.answer}
		c := m.client(t)
		in, err := isIn(t, c, tc.channel, "U0BEN", time.Now())
		if in != tc.in || errors.Is(err, errTooMany) != tc.cannotBeToldNow || errors.Is(err, approvals.ErrNotFound) {
			t.Errorf("%s: %v, %v", tc.why, in, err)
		}
		if p, q := m.asked(methodPlaces), m.asked(methodMembers); p != tc.places || q != tc.members {
			t.Errorf("%s: %d and %d questions, want %d and %d", tc.why, p, q, tc.places, tc.members)
		}
	}
}

// TestInChannelAcrossAnOrganisation: users.conversations needs to know a workspace, conversations.members does not.
func TestInChannelAcrossAnOrganisation(t *testing.T) {
	t.Parallel()
	m := &memory{answer: crowd{people: 5}.answer}
	c := m.client(t)
	c.identity.enterprise = "E0DEV"
	if in, err := isIn(t, c, "C0OPEN", "U0BEN", time.Now()); !in || err != nil || m.asked(methodPlaces) != 0 {
		t.Errorf("%v, %v", in, err)
	}
}

// TestInChannelAsksWithinItsScopes: what the bot may not ask about has no answer, also when nobody is found.
func TestInChannelAsksWithinItsScopes(t *testing.T) {
	t.Parallel()
	for granted, want := range map[string]struct {
		types   string
		certain bool // who is not found is not in the channel
	}{
		"":                                    {"public_channel,private_channel,mpim", true},
		"channels:read,groups:read":           {"public_channel,private_channel", true},
		"channels:read,groups:read,mpim:read": {"public_channel,private_channel,mpim", true},
		"channels:read":                       {"public_channel", false},
		"groups:read":                         {"private_channel", false},
		"chat:write":                          {"", false},
	} {
		var types string
		m := &memory{answer: func(_ string, form url.Values) string {
			types = form.Get("types")
			return `{"ok":true,"channels":[{"id":"C0OPEN"}]}`
		}}
		c := m.client(t)
		c.identity.scopes = splitScopes(granted)
		in, err := isIn(t, c, "C0OPEN", "U0BEN", time.Now())
		if types != want.types || in != (want.types != "") || in != (err == nil) {
			t.Errorf("%q: asks for %q, %v, %v", granted, types, in, err)
		}
		in, err = isIn(t, c, "C0OTHER", "U0BEN", time.Now())
		_, lacking := errors.AsType[*ScopeError](err)
		if in || lacking == want.certain || errors.Is(err, approvals.ErrNotFound) {
			t.Errorf("%q, not found: %v, %v", granted, in, err)
		}
	}
}

// TestWordsOfTheDirectory: which of Slack's words mean that there is no such person, group or channel. Everything else
// leaves the question open.
func TestWordsOfTheDirectory(t *testing.T) {
	t.Parallel()
	none := map[string]string{
		"user_not_found": "person place", "user_not_visible": "person place",
		"no_such_subteam": "group", "subteam_not_found": "group",
		"channel_not_found": "channel", "not_in_channel": "channel",
	}
	open := []string{
		"missing_scope", "invalid_types", "no_permission", "access_denied", "team_access_not_granted", "is_archived",
		"token_revoked", "fetch_members_failed", "method_not_supported_for_channel_type", "plan_upgrade_required",
		"internal_error", "ratelimited", "",
	}
	for word := range none {
		open = append(open, word)
	}
	for _, word := range open {
		m := &memory{answer: func(string, url.Values) string { return fmt.Sprintf(`{"ok":false,"error":%q}`, word) }}
		c := m.client(t)
		_, person := c.Person(t.Context(), user("U0BEN"), time.Now())
		_, group := c.Members(t.Context(), testWorkspace, "S0FINANCE", time.Now())
		_, channel := c.ChannelMembers(t.Context(), testWorkspace, "C0OPEN")
		in, place := isIn(t, c, "C0OPEN", "U0BEN", time.Now())
		for what, err := range map[string]error{"person": person, "group": group, "channel": channel, "place": place} {
			if strings.Contains(none[word], what) && !errors.Is(err, approvals.ErrNotFound) || err == nil || in {
				t.Errorf("%s says %q: %v", what, word, err)
			}
			if none[word] == "" && errors.Is(err, approvals.ErrNotFound) {
				t.Errorf("%s says %q, and that counts as an answer: %v", what, word, err)
			}
		}
	}
}

// TestRateLimitedQuestions: an error that says when to ask again, no cached yes for those who need a new answer, and no
// further question before Slack wants one.
func TestRateLimitedQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		say := `{"ok":true,"channels":[{"id":"C0OPEN"}]}`
		m := &memory{answer: func(string, url.Values) string { return say }}
		c := m.client(t)
		if in, err := isIn(t, c, "C0OPEN", "U0BEN", time.Now()); !in || err != nil {
			t.Fatal(in, err)
		}
		time.Sleep(time.Second)
		say = "429 30"
		for i, left := range []time.Duration{30 * time.Second, 20 * time.Second, 10 * time.Second} {
			in, err := isIn(t, c, "C0OPEN", "U0BEN", time.Now())
			retry, ok := errors.AsType[*approvals.RetryError](err)
			if in || !ok || retry.After != left || errors.Is(err, approvals.ErrNotFound) {
				t.Errorf("after %d s: %v, %v", 10*i, in, err)
			}
			if in, err := isIn(t, c, "C0OPEN", "U0BEN", time.Time{}); !in || err != nil {
				t.Errorf("a list after %d s: %v, %v", 10*i, in, err)
			}
			time.Sleep(10 * time.Second)
		}
		if got := m.asked(methodPlaces); got != 2 {
			t.Errorf("asked %d times", got)
		}
		say = `{"ok":true,"channels":[]}`
		if in, err := isIn(t, c, "C0OPEN", "U0BEN", time.Now()); in || err != nil {
			t.Errorf("afterwards: %v, %v", in, err)
		}
	})
}

// TestClicksShareQuestionsAboutAPerson: fifty clicks of one person, in two channels, while Slack takes its time; then a
// list of many channels.
func TestClicksShareQuestionsAboutAPerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := map[string]string{
			methodPlaces:     `{"ok":true,"channels":[{"id":"C0OPEN"}]}`,
			methodUserInfo:   `{"ok":true,"user":{"id":"U0BEN"}}`,
			methodGroupUsers: `{"ok":true,"users":["U0BEN"]}`,
		}
		m := &memory{answer: func(method string, _ url.Values) string {
			time.Sleep(100 * time.Millisecond)
			return answers[method]
		}}
		c := m.client(t)
		var all sync.WaitGroup
		for i := range 50 {
			since := time.Now()
			all.Go(func() {
				channel := []string{"C0OPEN", "C0OTHER"}[i%2]
				in, err := isIn(t, c, channel, "U0BEN", since)
				who, err2 := c.Person(t.Context(), user("U0BEN"), since)
				group, err3 := c.Members(t.Context(), testWorkspace, "S0FINANCE", since)
				if in != (i%2 == 0) || !who.Regular || len(group) != 1 || errors.Join(err, err2, err3) != nil {
					t.Error(channel, in, who, group, err, err2, err3)
				}
			})
			time.Sleep(4 * time.Millisecond)
		}
		all.Wait()
		for method := range answers {
			if got := m.asked(method); got > 3 {
				t.Errorf("%s was asked %d times for 50 clicks in 200 ms", method, got)
			}
		}
		before := m.asked(methodPlaces)
		for i := range 200 {
			if in, err := isIn(t, c, fmt.Sprintf("C%06d", i), "U0BEN", time.Time{}); in || err != nil {
				t.Fatal(in, err)
			}
		}
		if got := m.asked(methodPlaces) - before; got != 0 {
			t.Errorf("a list cost %d questions", got)
		}
	})
}

// TestAClickJoinsNoEarlierQuestion: Ben leaves while Slack works at a question, and clicks. That question's answer, in
// which he is still there, is not about his click.
func TestAClickJoinsNoEarlierQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := make(chan bool, 2)
		in <- true // what Slack finds for the first question
		m := &memory{}
		m.answer = func(string, url.Values) string {
			there := <-in
			time.Sleep(100 * time.Millisecond)
			if there {
				return `{"ok":true,"channels":[{"id":"C0OPEN"}]}`
			}
			return `{"ok":true,"channels":[]}`
		}
		c := m.client(t)
		list := make(chan bool, 1)
		go func() { found, _ := isIn(t, c, "C0OPEN", "U0BEN", time.Time{}); list <- found }()
		time.Sleep(50 * time.Millisecond)
		in <- false
		clicked := time.Now()
		if found, err := isIn(t, c, "C0OPEN", "U0BEN", clicked); found || err != nil || m.asked(methodPlaces) != 2 {
			t.Errorf("the click: %v, %v after %d questions", found, err, m.asked(methodPlaces))
		}
		if !<-list {
			t.Error("the list was to show that the first question had another answer")
		}
	})
}
