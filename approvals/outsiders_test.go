package approvals_test

import (
	"errors"
	"testing"
	"time"

	"countersign/approvals"
)

// outsiders are those who decide nothing, by why.
var outsiders = map[approvals.UserID]string{
	user("gus"): "guest", user("lea"): "deactivated", user("sam"): "of another workspace", user("bot"): "bot",
}

// eve is a full member of the workspace, in the same places as the outsiders.
var eve = user("eve")

// askedOfAll is a requirement that names all of them, wherever one can be named.
func askedOfAll() approvals.Requirement {
	users := []approvals.UserID{eve, bob}
	for u := range outsiders {
		users = append(users, u)
	}
	q := named(1, users...)
	q.Always = []approvals.Scope{approvals.ScopeRun, approvals.ScopeThread}
	return q
}

// letIn makes all of them known to the bench, in the channel, with the glass to break and bob's place to take.
func letIn(b *bench) {
	b.people.mu.Lock()
	defer b.people.mu.Unlock()
	b.policy.glass = approvals.Emergency{People: approvals.Approvers{Users: []approvals.UserID{eve, bob}}, Notify: "C9"}
	until := time.Now().AddDate(1, 0, 0)
	away := []approvals.Delegation{{From: bob, To: eve, Until: until}}
	for u, why := range outsiders {
		b.people.persons[u] = approvals.Person{ID: u, Why: why}
		b.people.channels["C1"] = append(b.people.channels["C1"], u)
		b.policy.glass.People.Users = append(b.policy.glass.People.Users, u)
		away = append(away, approvals.Delegation{From: bob, To: u, Until: until})
	}
	b.people.persons[eve] = approvals.Person{ID: eve, Regular: true}
	b.people.channels["C1"] = append(b.people.channels["C1"], eve)
	b.policy.delegates(away...)
}

// TestOutsidersDecideNothing tries every way in, for a guest, somebody who has left, somebody of another workspace and
// a bot, all of whom the policy names. The control is a member of the workspace in their place, who succeeds.
func TestOutsidersDecideNothing(t *testing.T) {
	t.Parallel()
	simply := func(t *testing.T) (*bench, *approvals.Request) { return waitingFor(t, askedOfAll()) }
	answering := func(v approvals.Verdict) func(*bench, *approvals.Request, approvals.UserID) error {
		return func(b *bench, r *approvals.Request, u approvals.UserID) error {
			_, err := b.decide(r, u, v, "as agreed")
			return err
		}
	}
	for name, way := range map[string]struct {
		asked func(t *testing.T) (*bench, *approvals.Request)
		act   func(b *bench, r *approvals.Request, u approvals.UserID) error
	}{
		"approve":         {simply, answering(approvals.Approve)},
		"reject":          {simply, answering(approvals.Reject)},
		"always approve":  {simply, answering(approvals.AlwaysApprove)},
		"always reject":   {simply, answering(approvals.AlwaysReject)},
		"break the glass": {simply, answering(approvals.BreakGlass)},
		"grant": {simply, func(b *bench, r *approvals.Request, u approvals.UserID) error {
			return b.grant(r, u, approvals.AlwaysApprove, approvals.GrantTerms{Scope: approvals.ScopeThread})
		}},
		"edit": {simply, func(b *bench, r *approvals.Request, u approvals.UserID) error {
			_, err := b.edit(r, u, `{"amount":6}`)
			return err
		}},
		"for somebody who is away": {simply, func(b *bench, r *approvals.Request, u approvals.UserID) error {
			_, err := b.onBehalf(r, u, bob)
			return err
		}},
		"batch": {simply, func(b *bench, r *approvals.Request, u approvals.UserID) error {
			answers, err := b.service.DecideAll(b.Context(), batchOf(u, approvals.Approve, r))
			if err != nil {
				return err
			}
			return answers[0].Err
		}},
		"cancel the run": {simply, func(b *bench, r *approvals.Request, u approvals.UserID) error {
			_, err := b.service.CancelRun(b.Context(), ws, r.Run, u, "")
			return err
		}},
		"see secret values": {
			func(t *testing.T) (*bench, *approvals.Request) { return secretly(t, askedOfAll()) },
			func(b *bench, r *approvals.Request, u approvals.UserID) error {
				_, err := b.reveal(r, u)
				return err
			},
		},
		"fill in": {
			func(t *testing.T) (*bench, *approvals.Request) {
				b := newBench(t)
				b.policy.always(askedOfAll())
				b.agent(books(`{"guests":2,"table":"t1"}`), b.book())
				b.start()
				return b, b.question(b.submit())
			},
			func(b *bench, r *approvals.Request, u approvals.UserID) error {
				_, err := b.fill(r, u, `{"date":"d","guests":1}`)
				return err
			},
		},
		"answer a question": {
			func(t *testing.T) (*bench, *approvals.Request) {
				b := newBench(t)
				b.policy.always(askedOfAll())
				return b, b.question(b.asksTeam(`{"question":"Which colour?"}`))
			},
			func(b *bench, r *approvals.Request, u approvals.UserID) error {
				_, err := b.answer(r, u, "red")
				return err
			},
		},
		"provide a result": {deployed, answering(approvals.ProvideResult)},
		"make a callback's token": {deployed, func(b *bench, r *approvals.Request, u approvals.UserID) error {
			_, err := b.service.IssueCallback(b.Context(), wish(r, u))
			return err
		}},
		"say what became of a call": {
			func(t *testing.T) (*bench, *approvals.Request) { return unknown(t, askedOfAll(), bob) },
			answering(approvals.MarkDone),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := way.asked(t)
			letIn(b)
			for u, why := range outsiders {
				if err := way.act(b, r, u); !errors.Is(err, approvals.ErrUnauthorized) {
					t.Errorf("%s: %v", why, err)
				}
				if now := b.request(r.ID); now.Status != approvals.RequestPending || len(now.Decisions) > 0 {
					t.Fatalf("%s: it is %s, with %d answers", why, now.Status, len(now.Decisions))
				}
			}
			if err := way.act(b, r, eve); err != nil {
				t.Errorf("control: %v", err)
			}
		})
	}
}

// deployed is a call that waits for its result, of which all may give it.
func deployed(t *testing.T) (*bench, *approvals.Request) {
	b := newBench(t)
	b.public = "https://bot.example"
	b.serve(b.mortal)
	b.policy.always(askedOfAll())
	b.agent(model(deploys), external())
	b.start()
	return b, b.question(b.submit())
}
