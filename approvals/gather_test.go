package approvals_test

import (
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
)

// TestQuorumsOfOneTurn asks about two calls of one turn, which the same people approve: one takes one of them,
// the other three. Both are asked about, whichever comes first.
func TestQuorumsOfOneTurn(t *testing.T) {
	t.Parallel()
	for _, order := range [][]agent.Item{
		{call("c1", "look", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)},
		{call("c2", "pay", `{"amount":2}`), call("c1", "look", `{"amount":1}`)},
	} {
		t.Run(order[0].Name+" first", func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
				q := lenient()
				if r.Tool.Name == "pay" {
					quorum(&q, 3)
				}
				return q, nil
			})
			b.model(asks(order...))
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			if n := len(b.pending(id)); n != 2 {
				step(deliverJob(place))
				t.Errorf("%d of 2 calls are asked about; notices %q", n, b.surface.texts(approvals.NotifyNotice))
			}
			b.stop()
		})
	}
}

// TestStandingRejectionLeavesEnough gives a standing rejection that settles its own request and is one of the two that
// another one takes: that one waits on, because enough people are left for its three approvals.
func TestStandingRejectionLeavesEnough(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, u := range []approvals.UserID{user("dan"), user("eve")} {
		b.people.persons[u] = approvals.Person{ID: u, Regular: true}
		b.people.channels["C1"] = append(b.people.channels["C1"], u)
	}
	b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
		q := lenient()
		if string(r.Arguments) == `{"amount":2}` {
			quorum(&q, 3)
			q.DenyQuorum = 2
		}
		return q, nil
	})
	b.model(asks(call("c2", "pay", `{"amount":2}`), call("c1", "pay", `{"amount":1}`)))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	all := b.pending(id)
	b.must(all[1], bob, approvals.AlwaysReject, "no")
	if got := b.request(all[0].ID); got.Status != approvals.RequestPending {
		t.Errorf("one of two needed rejections, four people left: %s, %q", got.Status, got.Note)
	}
	b.stop()
}

// TestStandingAnswerOfTwoMeetsAnotherSet has a standing answer of two people meet a request whose approvers are named
// otherwise: the rights of both are looked up under its requirement too.
func TestStandingAnswerOfTwoMeetsAnotherSet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
		q := lenient()
		quorum(&q, 2)
		if string(r.Arguments) == `{"amount":1}` {
			askOf(&q, approvals.Approvers{Users: []approvals.UserID{bob, cara}})
		}
		return q, nil
	})
	b.model(asks(call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)))
	step := b.step()
	id := b.submit()
	if err := step(runJob(id)); err != nil {
		t.Fatal(err)
	}
	all := b.pending(id)
	b.must(all[0], bob, approvals.AlwaysApprove, "")
	b.must(all[0], cara, approvals.AlwaysApprove, "")
	if got := b.request(all[1].ID); got.Status != approvals.RequestApproved {
		t.Errorf("both may approve all calls of the tool, and have: %s", got.Status)
	}
	b.stop()
}

// TestAnySeatCanSayWhatHappened has one of two groups empty when it is unknown whether the call was carried out: the
// members of the other are asked.
func TestAnySeatCanSayWhatHappened(t *testing.T) {
	t.Parallel()
	for _, empty := range []string{"S1", "S2"} {
		t.Run(empty, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.people.setGroup("S1", cara)
			b.people.setGroup("S2", bob)
			b.policy.always(with(func(q *approvals.Requirement) { q.Seats = oneEach("S1", "S2") }))
			b.dying(asks(call("c1", "pay", `{"amount":5}`)), "pay", 1)
			b.start()
			r := b.question(b.submit())
			b.must(r, cara, approvals.Approve, "")
			b.must(r, bob, approvals.Approve, "")
			b.until("the crash", func() bool { return b.mortal.dead.Load() })
			b.people.setGroup(empty)
			b.reopen()
			b.start()
			b.until("question or end", func() bool { return len(b.pending(r.Run)) > 0 || b.run(r.Run).Status.Ended() })
			if len(b.pending(r.Run)) == 0 {
				b.until("delivered", b.delivered)
				t.Errorf("nobody is asked what happened: %q", b.surface.texts(approvals.NotifyNotice))
			}
			b.stop()
		})
	}
}

// TestAnySeatCanProvideTheResult has the one member of one group decline to report a result that a member of the other
// may report as well.
func TestAnySeatCanProvideTheResult(t *testing.T) {
	t.Parallel()
	for _, by := range []approvals.UserID{bob, cara} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.people.setGroup("S1", cara)
			b.people.setGroup("S2", bob)
			b.policy.always(with(func(q *approvals.Requirement) { q.Seats, q.DenyQuorum = oneEach("S1", "S2"), 2 }))
			b.agent(model(deploys), external())
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			r := b.must(b.pending(id)[0], by, approvals.Reject, "not I")
			if r.Kind != agent.ExternalResult || r.Status != approvals.RequestPending {
				t.Errorf("kind %s, %s, %q", r.Kind, r.Status, r.Note)
			}
			b.stop()
		})
	}
}

// TestNobodyToAskWhatHappened has nobody left who could say what became of a call: its request says that it is unknown.
func TestNobodyToAskWhatHappened(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.people.setGroup("S1", bob)
	b.policy.always(with(func(q *approvals.Requirement) { q.Seats = oneEach("S1") }))
	b.dying(asks(call("c1", "pay", `{"amount":5}`)), "pay", 1)
	b.start()
	r := b.question(b.submit())
	b.must(r, bob, approvals.Approve, "")
	b.until("the crash", func() bool { return b.mortal.dead.Load() })
	b.people.setGroup("S1")
	b.reopen()
	b.start()
	b.reaches(r.Run, approvals.RunDone)
	if got := b.request(r.ID); got.Outcome != approvals.OutcomeUnknown {
		t.Errorf("outcome %q", got.Outcome)
	}
	if _, err := b.service.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
	b.stop()
}

// TestLaterStandingAnswerCoversLate gives two standing answers about a tool, of different people, while the run is
// under way: the later one counts for the call that is asked about next.
func TestLaterStandingAnswerCoversLate(t *testing.T) {
	t.Parallel()
	for name, approveLast := range map[string]bool{"approved last": true, "rejected last": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.policy.set(func(r *approvals.Request) (approvals.Requirement, error) {
				q := lenient()
				switch string(r.Arguments) {
				case `{"amount":1}`:
					askOf(&q, approvals.Approvers{Users: []approvals.UserID{bob}})
				case `{"amount":2}`:
					askOf(&q, approvals.Approvers{Users: []approvals.UserID{cara}})
				}
				return q, nil
			})
			waiting := map[string]*approvals.Request{}
			answer := func() {
				if approveLast {
					b.must(waiting[`{"amount":2}`], cara, approvals.AlwaysReject, "none")
				}
				b.must(waiting[`{"amount":1}`], bob, approvals.AlwaysApprove, "")
				if !approveLast {
					b.must(waiting[`{"amount":2}`], cara, approvals.AlwaysReject, "none")
				}
			}
			finance := &agent.Agent{Name: "finance", Tools: b.tools(), Model: threeTasks(answer)}
			b.agent(asks(call("c1", "ask_finance", `{"input":"one"}`), call("c2", "ask_finance", `{"input":"two"}`),
				call("c3", "ask_finance", `{"input":"three"}`)), finance.AsTool("ask_finance", "Ask finance."))
			b.start()
			id := b.submit()
			b.until("three questions", func() bool { return len(b.pending(id)) == 3 })
			b.reaches(id, approvals.RunWaiting)
			for _, r := range b.pending(id) {
				waiting[string(r.Arguments)] = r
			}
			b.must(waiting[`{"amount":9}`], bob, approvals.Approve, "")
			b.reaches(id, approvals.RunDone)
			paid := 0
			for _, e := range b.effects.all() {
				if e.arguments == `{"amount":3}` {
					paid++
				}
			}
			if (paid == 1) != approveLast {
				t.Errorf("the last call ran %d times", paid)
			}
			b.stop()
		})
	}
}

// threeTasks is a model that pays for the tasks one and two, and for the third looks first. It calls answer before it
// pays for the third.
func threeTasks(answer func()) agent.Model {
	return model(func(req *agent.ModelRequest) ([]agent.Item, error) {
		text, told := req.Items[0].Text, len(outputs(req))
		switch {
		case strings.Contains(text, "one") && told == 0:
			return []agent.Item{call("n1", "pay", `{"amount":1}`)}, nil
		case strings.Contains(text, "two") && told == 0:
			return []agent.Item{call("n1", "pay", `{"amount":2}`)}, nil
		case strings.Contains(text, "three") && told == 0:
			return []agent.Item{call("n1", "look", `{"amount":9}`)}, nil
		case strings.Contains(text, "three") && told == 1:
			answer()
			return []agent.Item{call("n2", "pay", `{"amount":3}`)}, nil
		}
		return []agent.Item{agent.AssistantMessage("inside done")}, nil
	})
}

// TestStandingAnswerMeetsEarlierVote has a standing answer of two people meet a request that one of them has approved
// already: the other one completes it. Somebody who has rejected it does not approve it by a standing answer.
func TestStandingAnswerMeetsEarlierVote(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		earlier approvals.Verdict
		want    approvals.RequestStatus
	}{
		{approvals.Approve, approvals.RequestApproved},
		{approvals.Reject, approvals.RequestPending},
	} {
		t.Run(string(c.earlier), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.people.persons[user("dan")] = approvals.Person{ID: user("dan"), Regular: true}
			b.people.channels["C1"] = append(b.people.channels["C1"], user("dan"))
			b.policy.always(with(func(q *approvals.Requirement) {
				quorum(q, 2)
				q.DenyQuorum = 2
			}))
			b.model(asks(call("c1", "pay", `{"amount":1}`), call("c2", "pay", `{"amount":2}`)))
			step := b.step()
			id := b.submit()
			if err := step(runJob(id)); err != nil {
				t.Fatal(err)
			}
			all := b.pending(id)
			b.must(all[1], bob, c.earlier, "for now")
			b.must(all[0], bob, approvals.AlwaysApprove, "")
			b.must(all[0], cara, approvals.AlwaysApprove, "")
			got := b.request(all[1].ID)
			if got.Status != c.want {
				t.Errorf("%s, want %s", got.Status, c.want)
			}
			if n := len(got.Decisions); c.want == approvals.RequestApproved && n != 2 {
				t.Errorf("%d decisions, want bob's and cara's", n)
			}
			b.stop()
		})
	}
}
