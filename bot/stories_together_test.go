package bot

import (
	"context"
	"strings"
	"testing"

	"countersign/agent/scripted"
	"countersign/approvals"
)

// TestApproveAllCountsNothing: of three calls one is decided. The cards of the other two are not changed for that, and
// do not say that there are three.
func TestApproveAllCountsNothing(t *testing.T) {
	t.Parallel()
	w := newOffice(t, reached(nil), scripted.Calls(
		scripted.Call("call_1", "transfer_funds", `{"to":"acme","amount":10}`),
		scripted.Call("call_2", "transfer_funds", `{"to":"globex","amount":20}`),
		scripted.Call("call_3", "transfer_funds", `{"to":"initech","amount":30}`),
	), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay all", "")
	first, last := w.card(thread, 1), w.card(thread, 3)
	if err := w.click("U0BEN", first, "approve"); err != nil {
		t.Fatal(err)
	}
	w.settledAt(first, "ran")
	last = w.now(last)
	for _, action := range []string{"approve_all", "reject_all"} {
		if b, ok := last.Button(action); !ok || strings.ContainsAny(b.Text, "0123456789") {
			t.Errorf("%s: %+v", action, b)
		}
	}
	if err := w.click("U0BEN", last, "approve_all"); err != nil {
		t.Fatal(err)
	}
	if form := w.modalOf("U0BEN", "approve_all"); !strings.Contains(form.SubmitLabel, "Approve 2") {
		t.Errorf("the window says %s", form.SubmitLabel)
	}
}

// danForMuch has Dan alone decide about large amounts.
type danForMuch struct{ namedPolicy }

func (p danForMuch) Requirement(
	ctx context.Context, r *approvals.Request, known approvals.PolicyFacts,
) (approvals.Requirement, error) {
	if strings.Contains(string(r.Arguments), "globex") {
		p.who = approvals.Approvers{Users: usersOf("U0DAN"), Groups: []string{"S0FIN"}}
	}
	return p.namedPolicy.Requirement(ctx, r, known)
}

// TestWindowOfManyNamesPeople: of two calls Cleo may decide one. The window that answers both says who decides the
// other, by name: what is markup elsewhere is none there.
func TestWindowOfManyNamesPeople(t *testing.T) {
	t.Parallel()
	w := newOfficeOf(t, &world{
		policy: danForMuch{namedPolicy{who: approvals.Approvers{Users: usersOf("U0CLEO")}}},
		script: script{payTwice(), scripted.Say("Done.")},
	})
	thread := w.mention("U0ANN", "pay both", "")
	w.card(thread, 2)
	if err := w.click("U0CLEO", w.card(thread, 1), "approve_all"); err != nil {
		t.Fatal(err)
	}
	form := w.modalOf("U0CLEO", "approve_all")
	said := texts(t, form.Blocks)
	named := strings.Contains(said, "@U0DAN") && !strings.ContainsAny(said, "<>")
	if !named || !strings.Contains(said, "You cannot decide") {
		t.Errorf("the window says %s", said)
	}
}
