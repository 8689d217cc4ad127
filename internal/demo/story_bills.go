package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
)

// bills is the example with the payments service: of two payments one is approved and one rejected.
func bills(agents []byte) example {
	return example{
		agents: agents,
		room:   room{"payments", "Bills, and who pays them", "@countersign pay invoice 1042"},
		ideas: `write "@countersign pay invoice 1042" in #payments; then switch to Ben and click Approve
      ask for both invoices, reject one`,
		place: func(s *Stage) string {
			return fmt.Sprintf("The ledger of the payments service: %s/", s.payments.URL())
		},
		script:    openaidev.Demo,
		decisions: 2,
		steps: func(t *story) []step {
			b := &billsStory{story: t}
			return []step{
				{"mention", b.ask}, {"crash", t.crash}, {"guest", b.guest},
				{"reject", b.reject}, {"approve", b.approve}, {"answer", b.paid},
			}
		},
	}
}

type billsStory struct {
	*story
	pay    slackdev.Message // the card that is approved
	refuse slackdev.Message // the card that is rejected
}

// ask asks for two payments, and waits for a card for each.
func (t *billsStory) ask(ctx context.Context) error {
	if err := t.mention(ctx, "pay both invoices"); err != nil {
		return err
	}
	if err := t.until(ctx, "two cards", func() bool { return len(t.cards()) == 2 }); err != nil {
		return err
	}
	for _, card := range t.cards() {
		if strings.Contains(card.Shown(), "1042") {
			t.pay = card
		} else {
			t.refuse = card
		}
		t.say("card", "%s, buttons: %s", oneLine(card.Text), strings.Join(labels(card), ", "))
	}
	if t.pay.TS == "" || t.refuse.TS == "" {
		return errors.New("the cards do not show the two invoices")
	}
	return t.nothingMoved()
}

func (t *billsStory) nothingMoved() error {
	if ledger := t.payments.Ledger(); len(ledger) > 0 {
		return fmt.Errorf("money was moved without a decision: %+v", ledger)
	}
	return nil
}

// guest clicks and is refused.
func (t *billsStory) guest(ctx context.Context) error {
	told := len(t.workspace.Ephemerals(gus))
	if err := t.click(ctx, gus, t.pay, "approve"); err != nil {
		return err
	}
	if err := t.until(ctx, "the refusal", func() bool { return len(t.workspace.Ephemerals(gus)) > told }); err != nil {
		return err
	}
	notes := t.workspace.Ephemerals(gus)
	t.say("guest", "Gus, a guest, clicks Approve and is told: %s", oneLine(notes[len(notes)-1].Shown()))
	now, _ := t.workspace.Message(channel, t.pay.TS)
	if _, waits := now.Button("approve"); !waits {
		return errors.New("the guest's click ended the request")
	}
	return t.nothingMoved()
}

// reject answers one of the cards.
func (t *billsStory) reject(ctx context.Context) error {
	if err := t.decide(ctx, ben, t.refuse, "reject", "Rejected"); err != nil {
		return err
	}
	t.say("reject", "Ben rejects the other one; its card now says: %s", t.lastLine(t.refuse))
	return t.nothingMoved()
}

// approve answers the other one. Only then money moves, once, and exactly as shown.
func (t *billsStory) approve(ctx context.Context) error {
	if err := t.decide(ctx, cleo, t.pay, "approve", "Approved"); err != nil {
		return err
	}
	t.say("approve", "Cleo approves invoice 1042; its card now says: %s", t.lastLine(t.pay))
	return nil
}

// paid waits for the end of the run.
func (t *billsStory) paid(ctx context.Context) error {
	said, err := t.answer(ctx, "TR-0001")
	if err != nil {
		return err
	}
	ledger := t.payments.Ledger()
	if len(ledger) != 1 || ledger[0].Calls != 1 ||
		ledger[0].Body != `{"amount":250,"memo":"Invoice 1042","to":"Acme Ltd"}` {
		return fmt.Errorf("the ledger is not what was approved: %+v", ledger)
	}
	t.say("answer", "%s", oneLine(said))
	t.say("ledger", "%s: %.2f EUR to %s, called once, with key %s",
		ledger[0].Reference, ledger[0].Amount, ledger[0].To, ledger[0].Key)
	return nil
}
