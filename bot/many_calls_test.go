package bot

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
)

// TestManyCallsOfOneTurn has 30 calls of one turn wait, and two people answer all of them at once, each a different
// card at a time. Every call has a card of its own with its buttons, no answer gets lost or meets another card, and the
// run goes on when the last one is there.
func TestManyCallsOfOneTurn(t *testing.T) {
	t.Parallel()
	const calls = 30
	turn := make([]string, calls)
	for n := range turn {
		turn[n] = fmt.Sprintf(`{"amount":%d,"to":"acme"}`, n+1)
	}
	w := newWorld(t, callsWith(turn...), scripted.Say("All are settled."))
	thread := w.mention("U0ANN", "pay them all", "")
	w.card(thread, calls)

	var people sync.WaitGroup
	var want []string
	for n := range calls {
		card, who, act := w.card(thread, n+1), "U0BEN", "approve"
		if n%2 == 1 {
			who = "U0CLEO"
		}
		if n%3 == 2 {
			act = "reject"
		} else {
			want = append(want, turn[n])
		}
		if _, ok := card.Button(act); !ok {
			t.Fatalf("card %d has the buttons %v", n+1, card.Buttons())
		}
		people.Go(func() {
			if err := w.click(who, card, act); err != nil {
				t.Errorf("card %d: %v", n+1, err)
			}
		})
	}
	people.Wait()
	w.said(thread, "All are settled.")

	if got := w.bank.payments(); !slices.Equal(sorted(got), sorted(want)) {
		t.Errorf("paid %v, want %v", got, want)
	}
	for n := range calls {
		who := map[bool]string{true: "U0CLEO", false: "U0BEN"}[n%2 == 1]
		words, status := "Approved by @"+who, approvals.RequestApproved
		if n%3 == 2 {
			words, status = "Rejected by @"+who, approvals.RequestRejected
		}
		if r := w.request(thread, n+1); r.Status != status || string(r.Arguments) != turn[n] {
			t.Errorf("request %d about %s is %s", n+1, r.Arguments, r.Status)
		}
		w.shown(w.card(thread, n+1), words)
	}
}

// callsWith is a turn that pays with each of the arguments.
func callsWith(arguments ...string) scripted.Step {
	var calls []agent.Item
	for n, args := range arguments {
		calls = append(calls, scripted.Call(fmt.Sprintf("call_%d", n+1), "transfer_funds", args))
	}
	return scripted.Calls(calls...)
}

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }
