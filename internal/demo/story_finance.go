package demo

import (
	"context"
	"fmt"
	"strings"

	"countersign/examples"
	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
)

// finance is the example with user groups and a quorum: a large payment needs two people.
func finance() example {
	return example{
		agents: examples.Finance,
		room:   room{"finance", "Bills, and who pays them", "@countersign pay both invoices"},
		ideas: `write "@countersign pay both invoices" in #finance; then switch to Ben and click Approve on both
      one of them also needs Cleo, who is not of the group that decides about the other`,
		place: func(s *Stage) string {
			return fmt.Sprintf("The ledger of the payments service: %s/", s.payments.URL())
		},
		script:    openaidev.Demo,
		decisions: 3,
		steps: func(t *story) []step {
			f := &financeStory{billsStory: &billsStory{story: t}}
			return []step{
				{"mention", f.ask}, {"group", f.stranger}, {"first", f.first}, {"crash", t.crash},
				{"second", f.second}, {"small", f.small}, {"answer", f.paid},
			}
		},
	}
}

// financeStory is about the same invoices as billsStory: 1042 over 250, and 1043 over 980.50. Here both are paid.
type financeStory struct {
	*billsStory
}

// large is the card of the payment that needs two people; that of the other one is pay.
func (t *financeStory) large() slackdev.Message { return t.refuse }

// stranger is somebody who may decide about the large payment only.
func (t *financeStory) stranger(ctx context.Context) error {
	told := len(t.workspace.Ephemerals(cleo))
	if err := t.click(ctx, cleo, t.pay, "approve"); err != nil {
		return err
	}
	err := t.until(ctx, "the refusal", func() bool { return len(t.workspace.Ephemerals(cleo)) > told })
	if err != nil {
		return err
	}
	notes := t.workspace.Ephemerals(cleo)
	t.say("group", "Cleo, a controller, clicks Approve on the small payment and is told: %s",
		oneLine(notes[len(notes)-1].Shown()))
	return t.nothingMoved()
}

// first is the first of two approvals.
func (t *financeStory) first(ctx context.Context) error {
	if err := t.click(ctx, ben, t.large(), "approve"); err != nil {
		return err
	}
	err := t.until(ctx, "the first approval on the card", func() bool {
		m, _ := t.workspace.Message(channel, t.large().TS)
		return strings.Contains(m.Shown(), "<@"+ben+"> approved")
	})
	if err != nil {
		return err
	}
	m, _ := t.workspace.Message(channel, t.large().TS)
	t.say("first", "Ben approves the large payment; its card now says: %s", lineWith(m.Shown(), "Needs 1 more"))
	return t.nothingMoved()
}

// second is the other one, after the bot was killed.
func (t *financeStory) second(ctx context.Context) error {
	if err := t.decide(ctx, cleo, t.large(), "approve", "Approved"); err != nil {
		return err
	}
	t.say("second", "Cleo approves it too; its card now says: %s", t.lastLine(t.large()))
	return nil
}

// small needs one person of finance.
func (t *financeStory) small(ctx context.Context) error {
	if err := t.decide(ctx, ben, t.pay, "approve", "Approved"); err != nil {
		return err
	}
	t.say("small", "Ben approves the small one; its card now says: %s", t.lastLine(t.pay))
	return nil
}

// paid waits for the end of the run, and looks at what was moved.
func (t *financeStory) paid(ctx context.Context) error {
	said, err := t.answer(ctx, "TR-0002")
	if err != nil {
		return err
	}
	t.say("answer", "%s", oneLine(said))
	ledger := t.payments.Ledger()
	want := []string{`{"amount":980.5,"memo":"Invoice 1043","to":"Globex"}`,
		`{"amount":250,"memo":"Invoice 1042","to":"Acme Ltd"}`}
	for i, body := range want {
		if len(ledger) != len(want) || ledger[i].Calls != 1 || ledger[i].Body != body {
			return fmt.Errorf("the ledger is not what was approved: %+v", ledger)
		}
		t.say("ledger", "%s: %.2f EUR to %s, called once", ledger[i].Reference, ledger[i].Amount, ledger[i].To)
	}
	return nil
}
