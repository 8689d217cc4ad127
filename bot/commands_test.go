package bot

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/approvals"
	"countersign/internal/slackdev"
)

// listed fills the service with n small requests.
func listed(s *stage, n int) []*approvals.Request {
	out := make([]*approvals.Request, n)
	for i := range out {
		r := transfer(fmt.Sprintf(`{"amount":%d,"to":"acme"}`, i))
		r.ID = approvals.RequestID(fmt.Sprintf("req_%026d", i+1))
		r.Place.Thread = "1700000000.000100"
		s.service.put(r)
		out[i] = r
	}
	return out
}

// lastEphemeral waits for a new private message to the user.
func (s *stage) command(user, text string) slackdev.Message {
	s.t.Helper()
	before := len(s.slack.Ephemerals(user))
	if err := s.slack.Command(s.ctx(), user, "C0GENERAL", slashCommand, text); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("an answer to "+text, func() bool { return len(s.slack.Ephemerals(user)) > before })
	all := s.slack.Ephemerals(user)
	return all[len(all)-1]
}

func TestCommandListsAndDecides(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	if m := s.command("U0BEN", ""); !strings.Contains(m.Text, "Nothing waits for you") {
		t.Errorf("an empty list: %s", m.Text)
	}
	all := listed(s, 25)
	seen := map[string]bool{}
	text := "all"
	for page := 0; text != "" && page < 30; page++ {
		m := s.command("U0BEN", text)
		said := texts(t, m.Blocks)
		for _, r := range all {
			if strings.Contains(said, "transfer_funds") && strings.Contains(said, "pending, needs 1 of") &&
				strings.Contains(said, string(r.ID)) {
				seen[string(r.ID)] = true
			}
		}
		for _, b := range m.Buttons() {
			if b.ActionID != "list_next" && b.ActionID != "list_first" {
				t.Errorf("a list offers %s", b.ActionID)
			}
		}
		_, after, more := strings.Cut(m.Text, " after ")
		text = ""
		if more {
			text = "all after " + strings.Fields(after)[0]
		}
	}
	if len(seen) != len(all) {
		t.Errorf("the pages list %d of %d requests", len(seen), len(all))
	}

	m := s.command("U0BEN", "show "+string(all[0].ID))
	press := slackdev.Click{
		User: "U0BEN", Channel: m.Channel, TS: m.TS, ActionID: "approve", Value: string(all[0].ID),
	}
	if err := s.slack.Click(s.ctx(), press); err != nil {
		t.Fatal(err)
	}
	got := s.service.get(all[0].ID)
	if got.Status != approvals.RequestApproved || got.Decisions[0].Digest != all[0].Digest {
		t.Errorf("after a click on the card of show: %+v", got)
	}
}

func TestEmptyPageIsNotTheEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	all := listed(s, 2)
	s.service.mu.Lock()
	s.service.unlisted = all[0].ID
	s.service.mu.Unlock()
	m := s.command("U0BEN", "")
	_, after, more := strings.Cut(m.Text, "/approvals mine after ")
	if !more || strings.Contains(m.Text, "Nothing waits") {
		t.Fatalf("an empty page that is not the last: %s", m.Text)
	}
	if m = s.command("U0BEN", "mine after "+after); !strings.Contains(texts(t, m.Blocks), string(all[1].ID)) {
		t.Errorf("behind it: %s", m.Blocks)
	}
	if err := s.slack.OpenHome(s.ctx(), "U0BEN"); err != nil {
		t.Fatal(err)
	}
	s.eventually("a home tab that says so", func() bool {
		home := s.slack.HomeView("U0BEN")
		return home != nil && strings.Contains(string(home.Blocks), "mine after "+string(all[0].ID))
	})
}

// TestUnreadableListIsNoEmptyList: a store that does not answer is not a store in which nothing waits.
func TestUnreadableListIsNoEmptyList(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	listed(s, 2)
	s.service.mu.Lock()
	s.service.unreadable = errors.New("disk failure at /var/lib")
	s.service.mu.Unlock()
	const words = "I cannot read the pending requests right now"
	m := s.command("U0BEN", "")
	if !strings.Contains(m.Text, words) || strings.Contains(m.Text, "disk") {
		t.Errorf("the list says %q", m.Text)
	}
	if err := s.slack.OpenHome(s.ctx(), "U0BEN"); err != nil {
		t.Fatal(err)
	}
	s.eventually("a home tab that says so", func() bool {
		home := s.slack.HomeView("U0BEN")
		return home != nil && strings.Contains(string(home.Blocks), words)
	})
}

func TestCommandShowsOnlyWhatTheViewerMayDo(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := listed(s, 1)[0]
	may := s.command("U0BEN", "show "+string(r.ID))
	if _, ok := may.Button("approve"); !ok || !strings.Contains(texts(t, may.Blocks), "amount  0\nto  acme") {
		t.Errorf("an approver sees %s", may.Blocks)
	}
	mayNot := s.command("U0ANN", "show "+string(r.ID))
	if got := mayNot.Buttons(); len(got) != 2 || got[0].ActionID != "show_details" || got[1].ActionID != "cancel_run" {
		t.Errorf("the requester has the buttons %v", got)
	}
	if got := s.command("U0GUS", "show "+string(r.ID)).Buttons(); len(got) != 1 || got[0].ActionID != "show_details" {
		t.Errorf("somebody who only may see it has the buttons %v", got)
	}
	s.service.mu.Lock()
	s.service.unseeable = []approvals.UserID{user("U0CLEO")}
	s.service.mu.Unlock()
	none := "req_" + strings.Repeat("9", 26)
	hidden := s.command("U0CLEO", "show "+string(r.ID))
	missing := s.command("U0CLEO", "show "+none)
	if strings.ReplaceAll(hidden.Text, string(r.ID), "ID") != strings.ReplaceAll(missing.Text, none, "ID") {
		t.Errorf("what one may not see differs from what is not there: %q, %q", hidden.Text, missing.Text)
	}
}

func TestCommandWords(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	for text, words := range map[string]string{
		"help": "/approvals show ID", "HELP": "/approvals show ID", "grants": "no grants that you may see",
		"grants all": "Nothing follows /approvals grants", "revoke": "/approvals revoke ID",
		"revoke <!channel>":                       "not the id of a grant",
		"revoke grant_01arz3ndektsv4rrffq69g5fav": "no grant grant_01arz3ndektsv4rrffq69g5fav that you may revoke",
		"history":       "Nothing that you asked for or answered was decided yet",
		"history after": "/approvals history mine after ID", "history after x": "not the id of a request",
		"show": "/approvals show ID", "show x": "not the id of a request", "all after x": "not the id of a request",
		"show `req_01ARZ3NDEKTSV4RRFFQ69G5FAV`": "no request req_01arz3ndektsv4rrffq69g5fav that you may see",
		"req_01arz3ndektsv4rrffq69g5fav":        "no request req_01arz3ndektsv4rrffq69g5fav that you may see",
		// The nearest word, and all of them where none is near.
		"hisotry": "Did you mean /approvals history?", "shwo 1": "Did you mean /approvals show?",
		"grant": "Did you mean /approvals grants?", "history al": "Did you mean /approvals history all?",
		"mine aftr x":      "Did you mean /approvals mine after ID?",
		"dance <!channel>": "I do not know dance. This is what there is:\n/approvals: what waits for you",
	} {
		if m := s.command("U0BEN", text); !strings.Contains(m.Text, words) || strings.Contains(m.Text, "<!") {
			t.Errorf("%q answers %q", text, m.Text)
		}
	}
}

func TestHomeAndShortcut(t *testing.T) {
	t.Parallel()
	shortcuts := []slackdev.Shortcut{{Name: "Pending approvals", CallbackID: shortcutPending}}
	s := newStage(t, setUp{slack: slackdev.Config{Shortcuts: shortcuts}})
	all := listed(s, 3)
	if err := s.slack.OpenHome(s.ctx(), "U0BEN"); err != nil {
		t.Fatal(err)
	}
	s.eventually("a home tab", func() bool { return s.slack.HomeView("U0BEN") != nil })
	home := s.slack.HomeView("U0BEN")
	press := slackdev.Click{User: "U0BEN", ViewID: home.ID, ActionID: "approve", Value: string(all[0].ID)}
	if err := s.slack.Click(s.ctx(), press); err != nil {
		t.Fatal(err)
	}
	if got := s.service.get(all[0].ID); got.Status != approvals.RequestApproved || got.Decisions[0].Via != "home" {
		t.Errorf("after a click at home: %+v", got)
	}
	s.eventually("the home tab no longer lists it", func() bool {
		return !strings.Contains(string(s.slack.HomeView("U0BEN").Blocks), string(all[0].ID))
	})

	if err := s.slack.Shortcut(s.ctx(), "U0BEN", shortcutPending); err != nil {
		t.Fatal(err)
	}
	list := s.modalOf("U0BEN", viewList)
	press = slackdev.Click{User: "U0BEN", ViewID: list.ID, ActionID: "show_details", Value: string(all[1].ID)}
	if err := s.slack.Click(s.ctx(), press); err != nil {
		t.Fatal(err)
	}
	details := s.modalOf("U0BEN", viewDetails)
	if details.PreviousID != list.ID {
		t.Errorf("the details do not lie on the list: %+v", details)
	}
	press = slackdev.Click{User: "U0BEN", ViewID: details.ID, ActionID: "reject", Value: string(all[1].ID)}
	if err := s.slack.Click(s.ctx(), press); err != nil {
		t.Fatal(err)
	}
	if got := s.service.get(all[1].ID); got.Status != approvals.RequestRejected {
		t.Errorf("after a click in the details: %+v", got)
	}
	s.modalOf("U0BEN", viewWords)
	s.eventually("the list below no longer has it", func() bool {
		below := string(s.modalOf("U0BEN", viewList).Blocks)
		return !strings.Contains(below, string(all[1].ID)) && strings.Contains(below, string(all[2].ID))
	})
}

// TestListTurnsWhereItsAddressIsOfNoUse: whoever presses Next page sees it, if not in the place of the list.
func TestListTurnsWhereItsAddressIsOfNoUse(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	all := listed(s, listPage+1)
	first := s.command("U0BEN", "all")
	for i, answer := range []slackdev.Fault{
		{Status: 500}, {Error: "invalid_blocks"}, {Body: "no_text"}, {Body: "<html>Sign in</html>"},
	} {
		answer.Method = "response_url"
		s.slack.Fail(answer)
		if err := s.click("U0BEN", first, string(actListNext)); err != nil {
			t.Fatal(err)
		}
		s.eventually(fmt.Sprintf("the next page in spite of %+v", answer), func() bool {
			seen := s.slack.Ephemerals("U0BEN")
			last := seen[len(seen)-1]
			return len(seen) == i+2 && strings.Contains(texts(t, last.Blocks), string(all[listPage].ID))
		})
	}
}
