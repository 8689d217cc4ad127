package bot

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

func TestIntake(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{slack: slackdev.Config{
		Users: append(slackdev.DefaultUsers(), slackdev.User{ID: "U0ROBOT", Bot: true}),
		Channels: []slackdev.Channel{
			{ID: "C0GENERAL", Name: "general", Members: []string{"U0ANN", "U0BEN", "U0ROBOT"}, BotMember: true},
			{ID: "C0BILLING", Name: "billing", Members: []string{"U0ANN"}, BotMember: true},
			{ID: "C0SHARED", Name: "shared", Members: []string{"U0ANN"}, BotMember: true, ExtShared: true},
		},
	}})
	post := func(who, channel, text, thread string) string {
		t.Helper()
		ts, err := s.slack.Post(s.ctx(), who, channel, text, thread)
		if err != nil {
			t.Fatal(err)
		}
		return ts
	}
	arrive := func(n int) []approvals.Submission {
		t.Helper()
		s.eventually(fmt.Sprintf("%d submissions", n), func() bool { return len(s.service.submitted()) == n })
		return s.service.submitted()
	}

	first := post("U0ANN", "C0GENERAL", "hey <@U0BOT>, pay &lt;b&gt; &amp; see <https://acme.example/x>", "")
	in := arrive(1)[0]
	want := approvals.Place{Surface: "slack", Channel: "C0GENERAL", Thread: first}
	if in.Place != want || in.Text != "hey , pay <b> & see https://acme.example/x" ||
		in.Agent != "ops" || in.Message != first {
		t.Errorf("a mention: %+v", in)
	}

	reply := post("U0BEN", "C0GENERAL", "<@U0BOT> and this", first)
	if in = arrive(2)[1]; in.Place != want || in.Message != reply || in.Requester != user("U0BEN") {
		t.Errorf("a follow-up in the thread: %+v", in)
	}
	s.whispered("U0BEN", "taken up when it has ended")

	direct := post("U0ANN", s.slack.DM("U0ANN"), "hello there", "")
	want = approvals.Place{Surface: "slack", Channel: s.slack.DM("U0ANN"), Thread: direct, Direct: true}
	if in = arrive(3)[2]; in.Place != want {
		t.Errorf("a direct message: %+v", in)
	}

	post("U0ANN", "C0BILLING", "<@U0BOT|countersign> bill them", "")
	if in = arrive(4)[3]; in.Agent != "ops" || in.Text != "bill them" {
		t.Errorf("a mention in another channel: %+v", in)
	}

	// None of these starts anything.
	post("U0ROBOT", "C0GENERAL", "<@U0BOT> obey me", "")
	post("U0ANN", "C0GENERAL", "<@U0BOT>", "")
	post("U0ANN", "C0SHARED", "<@U0BOT> tell them everything", "")
	post("U0ANN", "C0GENERAL", "nobody in particular", "")
	if err := s.slack.Edit(s.ctx(), "U0ANN", "C0GENERAL", first, "<@U0BOT> pay twice"); err != nil {
		t.Fatal(err)
	}
	for _, id := range s.slack.EventIDs("") {
		if err := s.slack.Redeliver(id); err != nil {
			t.Fatal(err)
		}
	}
	s.whispered("U0ANN", "Tell me what to do")
	s.whispered("U0ANN", "shared with another organisation")
	s.eventually("every delivery is acknowledged", func() bool {
		for _, d := range s.slack.Deliveries() {
			if d.Acked.IsZero() {
				return false
			}
		}
		return true
	})
	arrive(4)
}

func TestUnstoredMentionIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{slack: slackdev.Config{AckTimeout: 200 * time.Millisecond, Events: []string{"app_mention"}}})
	attempts := 0
	s.service.hold = func(string) {
		attempts++
		s.service.mu.Lock()
		defer s.service.mu.Unlock()
		if s.service.fail = nil; attempts == 1 {
			s.service.fail = errors.New("disk full")
		}
	}
	s.mention("U0ANN", "pay", "")
	s.eventually("the mention arrives after all", func() bool { return len(s.service.submitted()) == 1 })
	if d := s.slack.Deliveries(); len(d) != 2 || !d[0].Acked.IsZero() {
		t.Errorf("what was not stored was acknowledged: %+v", d)
	}
}

func TestPanickingHandlerIsSurvived(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{slack: slackdev.Config{AckTimeout: 200 * time.Millisecond}})
	first := true
	s.service.hold = func(string) {
		if first {
			first = false
			panic("what somebody wrote")
		}
	}
	s.mention("U0ANN", "pay", "")
	s.eventually("the mention arrives with its redelivery", func() bool { return len(s.service.submitted()) == 1 })
	if !strings.Contains(s.logs.String(), "a handler panicked") {
		t.Error("nothing about the panic in the log")
	}
	if strings.Contains(s.logs.String(), "what somebody wrote") {
		t.Error("the panic's value is in the log")
	}
}

// aGuest is what the service says of somebody who is a guest.
var aGuest = &approvals.Refusal{
	Fact: approvals.ErrUnauthorized, Rule: approvals.RuleMember, About: wordsGuest, Why: wordsGuest,
}

func TestRefusedSubmissionsAreExplained(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	for _, c := range []struct {
		err   error
		words string
	}{
		{fmt.Errorf("submit: %w", aGuest), "Guests cannot start a run."},
		{fmt.Errorf("submit: %w", &approvals.Refusal{Fact: approvals.ErrLimit, Why: "5 runs of yours"}),
			"Too much is under way already: 5 runs of yours"},
		{fmt.Errorf("submit: %w: asked 10.0.0.3", approvals.ErrLimit), "Too much is under way already."},
		{fmt.Errorf("%w: connect to 10.0.0.3", approvals.ErrUnavailable), "Nothing was started"},
		{approvals.ErrInvalid, "This message cannot be taken"},
		{approvals.ErrNotFound, "not configured"},
	} {
		s.service.mu.Lock()
		s.service.fail = c.err
		s.service.mu.Unlock()
		s.mention("U0ANN", "pay", "")
		s.whispered("U0ANN", c.words)
	}
	for _, m := range s.slack.Ephemerals("U0ANN") {
		if strings.Contains(m.Text, "10.0.0.3") {
			t.Errorf("internals reached a person: %s", m.Text)
		}
	}
}

func TestRemovedAppStopsTheBot(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	if _, err := s.bot.client.identify(s.ctx()); err != nil {
		t.Fatal(err)
	}
	s.slack.RevokeToken()
	s.eventually("the bot stops hearing", func() bool { return !isReady(s.bot.Ready()) })
	if err := s.stop(); !errors.Is(err, ErrUninstalled) {
		t.Errorf("Run returned %v", err)
	}
}

func TestWithoutMention(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"<@U0BOT> do it", "do it"},
		{"do it <@U0BOT|bot>", "do it"},
		{"<@U0BOT> ask <@U0ANN>", "ask <@U0ANN>"},
		{"<@U0BOT> see <https://a.example/|a.example>", "see a.example"},
		{"<@U0BOT> see <https://evil.example|a.example>", "see a.example (https://evil.example)"},
		{"<@U0BOT> write <mailto:a@b.example|a@b.example>", "write a@b.example"},
		{"<@U0BOT> &lt;@U0BOT&gt; &amp;lt;", "<@U0BOT> &lt;"},
		{"<@U0BOT>", ""},
		{"<@U0BOT> line one\nline two", "line one\nline two"},
	} {
		if got := withoutMention(c.in, "U0BOT"); got != c.want {
			t.Errorf("withoutMention(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
