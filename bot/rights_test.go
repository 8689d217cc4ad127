package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// rule is a policy in which so many of some people must agree; the requester may be one of them.
type rule struct {
	approvers approvals.Approvers
	quorum    int
}

func (p rule) Requirement(
	ctx context.Context, r *approvals.Request, known approvals.PolicyFacts,
) (approvals.Requirement, error) {
	q, err := everybody{}.Requirement(ctx, r, known)
	q.Seats = approvals.Quorum(p.quorum, p.approvers)
	return q, err
}

var (
	ofTheChannel = approvals.Approvers{ChannelMembers: true}
	ofAGroup     = approvals.Approvers{Groups: []string{"S0FINANCE"}}
)

// asked is a world in which a call waits. Ben has just looked at his Home tab, so what Slack says of him is remembered.
type asked struct {
	*world
	thread  string
	card    slackdev.Message
	request approvals.RequestID
}

func newAsked(t *testing.T, p rule) *asked {
	t.Helper()
	w := newWorldUnder(t, p, pay("call_1"), scripted.Say("Acme has its money."))
	w.slack.SetUserGroup(finance("U0ANN", "U0BEN", "U0CLEO"))
	a := &asked{world: w, thread: w.mention("U0ANN", "pay acme", "")}
	a.card = w.card(a.thread, 1)
	button, ok := a.card.Button("approve")
	if !ok {
		t.Fatalf("the card has no button: %s", a.card.Blocks)
	}
	a.request = approvals.RequestID(button.Value)
	if err := w.slack.OpenHome(w.ctx(), "U0BEN"); err != nil {
		t.Fatal(err)
	}
	w.eventually("Ben's Home tab lists the call", func() bool {
		v := w.slack.HomeView("U0BEN")
		return v != nil && strings.Contains(string(v.Blocks), button.Value)
	})
	return a
}

func finance(people ...string) slackdev.UserGroup {
	return slackdev.UserGroup{ID: "S0FINANCE", Handle: "finance", Users: people}
}

// decisions returns how many count so far, of a request that is still pending.
func (a *asked) decisions() int {
	a.t.Helper()
	r, err := a.engine.Request(a.ctx(), testWorkspace, a.request)
	if err != nil {
		a.t.Fatal(err)
	}
	if r.Status != approvals.RequestPending {
		a.t.Fatalf("the request is %s by %d people", r.Status, len(r.Decisions))
	}
	return len(r.Decisions)
}

// surfaces are the places of an approve button: the card and the Home tab.
func (a *asked) surfaces() map[string]slackdev.Click {
	return map[string]slackdev.Click{
		"card": {User: "U0BEN", Channel: a.card.Channel, TS: a.card.TS, ActionID: "approve"},
		"home": {User: "U0BEN", ViewID: a.slack.HomeView("U0BEN").ID, ActionID: "approve", Value: string(a.request)},
	}
}

// told waits for words to Ben, in the channel, in a direct message or on his Home tab.
func (a *asked) told(words ...string) {
	a.t.Helper()
	heard := func() []slackdev.Message {
		return append(a.slack.Ephemerals("U0BEN"), a.slack.Messages(a.slack.DM("U0BEN"))...)
	}
	a.eventually("Ben is told: "+strings.Join(words, " … "), func() bool {
		home := a.slack.HomeView("U0BEN") // says what became of a click there
		return home != nil && !slices.ContainsFunc(words, func(w string) bool {
			return !strings.Contains(home.Shown(), w)
		}) || slices.ContainsFunc(heard(), func(m slackdev.Message) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(m.Text, w) })
		})
	})
}

// loss is how Ben loses his right, and words that he is then told. Nobody hears anything whose account is closed.
type loss struct {
	approvers approvals.Approvers
	how       func(*slackdev.Workspace) error
	words     string
}

func losses() map[string]loss {
	const refused = "You cannot decide"
	become := func(u slackdev.User) func(*slackdev.Workspace) error {
		u.ID = "U0BEN"
		return func(w *slackdev.Workspace) error { w.SetUser(u); return nil }
	}
	leave := func(w *slackdev.Workspace) error { return w.Leave("C0GENERAL", "U0BEN") }
	deactivate := func(w *slackdev.Workspace) error { return w.Deactivate("U0BEN") }
	return map[string]loss{
		"left the channel":                      {ofTheChannel, leave, refused},
		"deactivated":                           {ofTheChannel, deactivate, ""},
		"deactivated, and still in the group":   {ofAGroup, become(slackdev.User{Deleted: true}), ""},
		"deactivated, and still in the channel": {ofTheChannel, become(slackdev.User{Deleted: true}), ""},
		"made a guest":                          {ofTheChannel, become(slackdev.User{Guest: true}), "Guests cannot"},
		"taken out of the group": {ofAGroup, func(w *slackdev.Workspace) error {
			w.SetUserGroup(finance("U0ANN", "U0CLEO"))
			return nil
		}, refused},
	}
}

// TestLostRightsEndAtOnce: Ben could decide when he last looked. He loses the right, and the click that he makes a
// moment later does not count, wherever he makes it and whether or not others have approved before.
func TestLostRightsEndAtOnce(t *testing.T) {
	t.Parallel()
	for name, lost := range losses() {
		for _, surface := range []string{"card", "home"} {
			t.Run(name+", "+surface+", alone", func(t *testing.T) {
				t.Parallel()
				newAsked(t, rule{lost.approvers, 1}).loses(lost, surface, 0)
			})
			t.Run(name+", "+surface+", as the second of two", func(t *testing.T) {
				t.Parallel()
				a := newAsked(t, rule{lost.approvers, 2})
				if err := a.click("U0CLEO", a.card, "approve"); err != nil {
					t.Fatal(err)
				}
				a.loses(lost, surface, 1)
			})
		}
	}
}

// loses lets Ben click after his loss, and then Ann, whose answer is the last that it takes.
func (a *asked) loses(lost loss, surface string, decided int) {
	a.t.Helper()
	click, err := a.slack.Payload(a.surfaces()[surface])
	if err != nil {
		a.t.Fatal(err)
	}
	if err := lost.how(a.slack); err != nil {
		a.t.Fatal(err)
	}
	if err := a.slack.ClickRaw(a.ctx(), click); err != nil {
		a.t.Fatal(err)
	}
	if got := a.decisions(); got != decided {
		a.t.Errorf("%d decisions count", got)
	}
	if lost.words != "" {
		a.told(lost.words)
	}
	if got := a.bank.payments(); len(got) != 0 {
		a.t.Errorf("paid without approval: %v", got)
	}
	if err := a.click("U0ANN", a.card, "approve"); err != nil {
		a.t.Fatal(err)
	}
	a.said(a.thread, "Acme has its money.")
	if got := len(a.bank.payments()); got != 1 {
		a.t.Errorf("paid %d times", got)
	}
}

// TestRightsThatLast is the control: without a loss the same clicks decide.
func TestRightsThatLast(t *testing.T) {
	t.Parallel()
	for _, approvers := range []approvals.Approvers{ofTheChannel, ofAGroup} {
		for _, surface := range []string{"card", "home"} {
			t.Run(fmt.Sprintf("%+v, %s", approvers, surface), func(t *testing.T) {
				t.Parallel()
				a := newAsked(t, rule{approvers, 1})
				if err := a.slack.Click(a.ctx(), a.surfaces()[surface]); err != nil {
					t.Fatal(err)
				}
				a.said(a.thread, "Acme has its money.")
			})
		}
	}
}

// TestRightsThatCannotBeFoundOut: while Slack sends questions away nothing is decided, whatever is remembered, and the
// person is told when to try again.
func TestRightsThatCannotBeFoundOut(t *testing.T) {
	t.Parallel()
	for method, approvers := range map[string]approvals.Approvers{
		methodUserInfo: ofTheChannel, methodPlaces: ofTheChannel, methodGroupUsers: ofAGroup,
	} {
		for _, surface := range []string{"card", "home"} {
			t.Run(method+", "+surface, func(t *testing.T) {
				t.Parallel()
				a := newAsked(t, rule{approvers, 1})
				a.slack.Fail(slackdev.Fault{Method: method, RetryAfter: 90 * time.Second, Times: -1})
				click, err := a.slack.Payload(a.surfaces()[surface])
				if err != nil {
					t.Fatal(err)
				}
				if err := a.slack.ClickRaw(a.ctx(), click); err != nil {
					t.Fatal(err)
				}
				a.told("Not confirmed yet", "Nothing was recorded", "90 seconds")
				if a.decisions() != 0 || len(a.bank.payments()) != 0 {
					t.Errorf("%d decisions, paid %v", a.decisions(), a.bank.payments())
				}
				asked := calls(a.stage, method)
				if err := a.slack.ClickRaw(a.ctx(), click); err != nil {
					t.Fatal(err)
				}
				if got := calls(a.stage, method); got != asked {
					t.Errorf("Slack was asked again %d times before it wanted to be", got-asked)
				}
			})
		}
	}
}

// TestListsAskNothingTwice: who looks again within a minute costs no question.
func TestListsAskNothingTwice(t *testing.T) {
	t.Parallel()
	a := newAsked(t, rule{ofTheChannel, 1})
	a.command("U0BEN", "all")
	questions := func() (n int) {
		for _, method := range []string{methodUserInfo, methodPlaces, methodGroupUsers, methodMembers} {
			n += calls(a.stage, method)
		}
		return n
	}
	before := questions()
	if before == 0 {
		t.Error("nothing was asked so far: this shows nothing")
	}
	for range 5 {
		if m := a.command("U0BEN", "all"); !strings.Contains(m.Text, "1 request waits.") {
			t.Errorf("the list says %q", m.Text)
		}
	}
	if got := questions() - before; got != 0 {
		t.Errorf("five lists cost %d questions", got)
	}
}

func TestLaterIsSaidInWholeUnits(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{
		0: "2 seconds", 1500 * time.Millisecond: "2 seconds",
		2 * time.Minute: "120 seconds", 121 * time.Second: "3 minutes",
	} {
		err := fmt.Errorf("look up: %w", &approvals.RetryError{After: after, Err: errors.New("limited")})
		if got := later(err); got != want {
			t.Errorf("%v: %q, want %q", after, got, want)
		}
	}
	if got := later(approvals.ErrUnavailable); got != "a minute" {
		t.Errorf("without an answer of Slack's: %q", got)
	}
}
