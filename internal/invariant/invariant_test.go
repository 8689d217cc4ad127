package invariant_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/invariant"
)

// TestTrueHistory has the checker say nothing about a history in which nothing is wrong.
func TestTrueHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := tell(t)
		if len(s.world.Effects) != 1 || len(s.world.Answers) != 2 || len(s.world.Cards) != 3 {
			t.Fatalf("the story was not played: %+v", s.world)
		}
		found, err := invariant.Check(t.Context(), s.store, &s.world)
		if err != nil || len(found) > 0 {
			t.Errorf("%v, %v", found, err)
		}
	})
}

// TestClockSetBack has it say nothing about an approval that was given before the clock was set back, in time by that
// clock.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := tell(t)
		found := forged(t, s, func(f *forger) {
			r := f.request(approvals.RequestApproved)
			setBack(r)
			f.must(f.PutRequest(r))
		})
		if len(found) > 0 {
			t.Error(found)
		}
	})
}

// TestRunThatEndedBehindTheClock has it say nothing about an effect of a run that ended after it, and before it by a
// clock that was set back in between.
func TestRunThatEndedBehindTheClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		order []approvals.AuditAction // in which they are linked
		want  bool
	}{
		{"set back", []approvals.AuditAction{
			approvals.AuditRunClaimed, approvals.AuditRunSubmitted, approvals.AuditEffectIntent,
			approvals.AuditRunDone}, false},
		{"control: it had ended", []approvals.AuditAction{
			approvals.AuditRunClaimed, approvals.AuditRunDone, approvals.AuditEffectIntent}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := tell(t)
				found := forged(t, s, func(f *forger) {
					at := map[approvals.AuditAction]time.Duration{
						approvals.AuditRunSubmitted: time.Hour, approvals.AuditRunClaimed: time.Hour,
						approvals.AuditRunDone: time.Hour + time.Second, approvals.AuditEffectIntent: 2 * time.Hour}
					for i, a := range c.order {
						f.must(f.AppendAudit(&approvals.AuditEntry{Workspace: ws, Run: f.run().ID, Actor: "system",
							ID: approvals.AuditID(fmt.Sprint("aud_z", i)), At: f.now.Add(at[a]), Action: a,
							Data: []byte(`{"effect":"eff_x","tool":"pay","epoch":77}`)}))
					}
				})
				began := slices.ContainsFunc(found, func(v invariant.Violation) bool {
					return v.Invariant == 7 && strings.Contains(v.What, "began while run")
				})
				if began != c.want {
					t.Errorf("an effect of a run that had ended: %v, want %v: %v", began, c.want, found)
				}
			})
		})
	}
}

// forgery is what a control does to a true history.
type forgery struct {
	name string
	want invariant.Number
	do   func(*forger)
}

// forger changes a history in a transaction: the records by their own methods, the world as it likes.
type forger struct {
	approvals.Tx
	t     *testing.T
	world *invariant.World
	now   time.Time
}

func (f *forger) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// forged has do change a story, and returns what the checker finds in it then.
func forged(t *testing.T, s *story, do func(*forger)) []invariant.Violation {
	t.Helper()
	err := s.store.Update(t.Context(), func(tx approvals.Tx) error {
		do(&forger{Tx: tx, t: t, world: &s.world, now: tx.Now()})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := invariant.Check(t.Context(), s.store, &s.world)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// request returns the request of a status.
func (f *forger) request(status approvals.RequestStatus) *approvals.Request {
	f.t.Helper()
	page, _, err := f.QueryRequests(approvals.RequestQuery{Workspace: ws, Status: status, Limit: 1})
	f.must(err)
	all, err := f.Requests(ws, []approvals.RequestID{page[0].ID})
	f.must(err)
	return all[0]
}

func (f *forger) run() *approvals.Run {
	f.t.Helper()
	r, err := f.Run(ws, f.request(approvals.RequestApproved).Run)
	f.must(err)
	return r
}

func (f *forger) effect() *approvals.EffectRecord {
	f.t.Helper()
	all, err := f.EffectsOfRun(ws, f.run().ID)
	f.must(err)
	return all[0]
}

// entry appends an entry to the trail.
func (f *forger) entry(action approvals.AuditAction, r *approvals.Request, data string) {
	f.t.Helper()
	id := approvals.AuditID("aud_z" + string(action))
	f.must(f.AppendAudit(&approvals.AuditEntry{Workspace: ws, ID: id, At: f.now,
		Action: action, Actor: "system", Run: r.Run, Request: r.ID, Data: []byte(data)}))
}

// send has the call of the request sent to a system that carries it out.
func (f *forger) send(r *approvals.Request) {
	f.t.Helper()
	n := len(f.world.Effects)
	r.Trigger = &approvals.TriggerState{Status: approvals.TriggerSending, Effect: "eff_s", Attempt: n}
	f.must(f.PutRequest(r))
	f.must(f.AppendAudit(&approvals.AuditEntry{Workspace: ws, ID: approvals.AuditID(fmt.Sprint("aud_z", n)), At: f.now,
		Action: approvals.AuditTrigger, Actor: "system", Run: r.Run, Request: r.ID,
		Data: []byte(`{"effect":"eff_s","tool":"pay","kind":"sending"}`)}))
	f.world.Effects = append(f.world.Effects, invariant.Effect{Key: "eff_s", Tool: r.Tool.Name,
		Arguments: string(r.Arguments)})
}

// setBack gives a request the times that it has where the clock was set back by two days while it waited.
func setBack(r *approvals.Request) {
	r.Asked = r.Created.Add(-48 * time.Hour)
	r.Expires = r.Asked.Add(r.Requirement.ExpiresIn)
}

// forgeries has at least one control for every invariant.
var forgeries = []forgery{
	{"a click that was taken is not recorded", 1, func(f *forger) {
		id := f.request(approvals.RequestPending).ID
		f.world.Clicks = append(f.world.Clicks, invariant.Click{Request: id, By: ben, Verdict: approvals.Approve})
	}},
	{"a decision has vanished", 1, func(f *forger) {
		r := f.request(approvals.RequestRejected)
		r.Decisions = nil
		f.must(f.PutRequestHead(&r.RequestHead))
	}},
	{"a decision is not in the trail", 1, func(f *forger) {
		r := f.request(approvals.RequestPending)
		r.Decisions = []approvals.Decision{{ID: "dec_x", Workspace: ws, Request: r.ID, By: ben,
			Verdict: approvals.Approve}}
		f.must(f.PutRequestHead(&r.RequestHead))
	}},
	{"something happened without a record", 2, func(f *forger) {
		f.world.Effects = append(f.world.Effects, invariant.Effect{Key: "eff_x", Tool: "pay"})
	}},
	{"an effect was begun without an approval", 2, func(f *forger) {
		f.entry(approvals.AuditEffectIntent, f.request(approvals.RequestRejected), `{"effect":"eff_x","tool":"pay"}`)
	}},
	{"an effect was begun before its approval", 2, func(f *forger) {
		f.now = f.now.Add(-time.Hour)
		f.entry(approvals.AuditEffectIntent, f.request(approvals.RequestApproved), `{"effect":"eff_x","tool":"pay"}`)
	}},
	{"a call was sent without an approval", 2, func(f *forger) {
		f.send(f.request(approvals.RequestRejected))
	}},
	{"too few have approved", 2, func(f *forger) {
		r := f.request(approvals.RequestApproved)
		r.Requirement.Seats = approvals.Quorum(2, approvals.Approvers{ChannelMembers: true})
		f.must(f.PutRequest(r))
	}},
	{"somebody approved who may not", 2, func(f *forger) { f.world.Deciders = []approvals.UserID{ann} }},
	{"an approval came too late", 2, func(f *forger) {
		r := f.request(approvals.RequestApproved)
		r.Expires = r.Created
		f.must(f.PutRequest(r))
	}},
	{"an approval came too late, and the clock was set back since the question", 2, func(f *forger) {
		r := f.request(approvals.RequestApproved)
		setBack(r)
		r.Decisions[0].At = r.Expires.Add(time.Minute)
		f.must(f.PutRequest(r))
	}},
	{"an approval came too late, and the clock was set back afterwards", 2, func(f *forger) {
		r := f.request(approvals.RequestApproved)
		setBack(r)
		r.Decisions[0].At = r.Created.Add(r.Requirement.ExpiresIn + time.Minute)
		f.must(f.PutRequest(r))
	}},
	{"one person has answered for two", 2, func(f *forger) {
		r := f.request(approvals.RequestApproved)
		r.Requirement.Seats = approvals.Quorum(2, approvals.Approvers{ChannelMembers: true})
		again := r.Decisions[0]
		again.ID, again.For = "dec_x", approvals.NewUserID(ws, "cleo")
		r.Decisions = append(r.Decisions, again)
		f.must(f.PutRequest(r))
	}},
	{"an approval follows from an answer that nobody gave", 2, func(f *forger) {
		r := f.request(approvals.RequestApproved)
		other := f.request(approvals.RequestRejected)
		r.Decisions[0].Standing = &approvals.StandingAnswer{Request: other.ID, Decision: other.Decisions[0].ID}
		f.must(f.PutRequestHead(&r.RequestHead))
	}},
	{"an effect was begun after its approval was revoked", 2, func(f *forger) {
		r := f.request(approvals.RequestApproved)
		f.entry(approvals.AuditRequestStale, r, "")
		f.now = f.now.Add(time.Second)
		f.entry(approvals.AuditEffectIntent, r, `{"effect":"eff_x","tool":"pay"}`)
	}},
	{"an effect was begun when its approval held no longer", 2, func(f *forger) {
		r := f.request(approvals.RequestApproved)
		f.now = f.now.Add(r.Requirement.ValidFor + time.Minute)
		f.entry(approvals.AuditEffectIntent, r, `{"effect":"eff_x","tool":"pay"}`)
	}},
	{"a grant for another agent", 2, func(f *forger) { f.granted(func(g *approvals.Grant) { g.Agent = "sales" }) }},
	{"a grant for another thread", 2, func(f *forger) {
		f.granted(func(g *approvals.Grant) { g.Scope, g.Place.Thread = approvals.ScopeThread, "elsewhere" })
	}},
	{"a grant for another channel", 2, func(f *forger) {
		f.granted(func(g *approvals.Grant) { g.Scope, g.Place.Channel = approvals.ScopeChannel, "C2" })
	}},
	{"a call happened twice", 3, func(f *forger) {
		f.world.Effects = append(f.world.Effects, f.world.Effects[0])
	}},
	{"a call was sent twice", 3, func(f *forger) {
		f.send(f.request(approvals.RequestApproved))
		f.send(f.request(approvals.RequestApproved))
	}},
	{"a run hangs", 4, func(f *forger) {
		r := f.run()
		r.Status = approvals.RunRunning
		f.must(f.PutRun(r))
	}},
	{"a run waits for nothing", 4, func(f *forger) {
		r := f.request(approvals.RequestPending)
		r.Status = approvals.RequestCancelled
		f.must(f.PutRequest(r))
	}},
	{"nobody was asked", 4, func(f *forger) {
		id := f.request(approvals.RequestPending).ID
		f.world.Cards = slices.DeleteFunc(f.world.Cards, func(c invariant.Card) bool { return c.Request == id })
	}},
	{"an answer did not arrive", 4, func(f *forger) { f.world.Answers = f.world.Answers[1:] }},
	{"an answer arrived twice", 4, func(f *forger) {
		f.world.Answers = append(f.world.Answers, f.world.Answers[0])
	}},
	{"a card asks on", 5, func(f *forger) { f.card(approvals.RequestApproved).Decides = true }},
	{"a card says something else", 5, func(f *forger) { f.card(approvals.RequestRejected).Shown = "Approved" }},
	{"a copy that was withdrawn asks on", 5, func(f *forger) {
		f.world.Cards = append(f.world.Cards, f.world.Cards[0])
		f.world.Cards[0].Withdrawn, f.world.Cards[0].Decides = true, true
	}},
	{"a card is there twice", 5, func(f *forger) { f.world.Cards = append(f.world.Cards, f.world.Cards[0]) }},
	{"a request was settled twice", 6, func(f *forger) {
		f.entry(approvals.AuditRequestRejected, f.request(approvals.RequestApproved), "")
	}},
	{"a request is not what it was settled as", 6, func(f *forger) {
		r := f.request(approvals.RequestRejected)
		r.Status = approvals.RequestApproved
		f.must(f.PutRequest(r))
	}},
	{"an epoch that nobody had", 7, func(f *forger) {
		e := f.effect()
		e.Epoch += 7
		f.must(f.PutEffect(e))
	}},
	{"one epoch for two", 7, func(f *forger) {
		f.entry(approvals.AuditRunClaimed, f.request(approvals.RequestApproved), `{"epoch":1}`)
	}},
	{"an effect of a run that had ended", 7, func(f *forger) {
		f.entry(approvals.AuditEffectIntent, f.request(approvals.RequestApproved), `{"effect":"eff_x","tool":"pay"}`)
	}},
	{"a run is gone", 8, func(f *forger) { f.must(f.DeleteRun(ws, f.run().ID)) }},
	{"another call was approved than ran", 9, func(f *forger) {
		e := f.effect()
		e.Digest = agent.Digest{1}
		f.must(f.PutEffect(e))
	}},
	{"other arguments arrived", 9, func(f *forger) { f.world.Effects[0].Arguments = `{"amount":6}` }},
	{"other arguments were sent", 9, func(f *forger) {
		f.send(f.request(approvals.RequestApproved))
		f.world.Effects[len(f.world.Effects)-1].Arguments = `{"amount":6}`
	}},
	{"a decision about something else", 9, func(f *forger) {
		r := f.request(approvals.RequestApproved)
		r.Decisions[0].Digest = agent.Digest{1}
		f.must(f.PutRequestHead(&r.RequestHead))
	}},
	{"a workspace too many", 10, func(f *forger) { f.world.Workspaces = []approvals.WorkspaceID{"T2"} }},
	{"a decision from elsewhere", 10, func(f *forger) {
		r := f.request(approvals.RequestApproved)
		r.Decisions[0].By = "T2/ben"
		f.must(f.PutRequestHead(&r.RequestHead))
	}},
	{"a secret in a log", 11, func(f *forger) { f.world.Told["log"] = "token xoxb-canary" }},
	{"a secret in a record", 11, func(f *forger) {
		r := f.run()
		r.Failure = "token xoxb-canary"
		f.must(f.PutRun(r))
	}},
	{"a secret in a saved state", 11, func(f *forger) {
		f.must(f.PutState(ws, f.run().ID, agent.Delta{Head: []byte(`{"token":"xoxb-canary"}`)}))
	}},
	{"a secret in a thread's memory", 11, func(f *forger) {
		f.must(f.AppendSession(ws, f.run().Place, "x", []byte(`["xoxb-canary"]`)))
	}},
	{"a secret in a dead letter", 11, func(f *forger) {
		f.must(f.PutNotification(&approvals.Notification{Workspace: ws, ID: "not_x", Kind: approvals.NotifyNotice,
			Place: f.run().Place, Created: f.now, Dead: f.now, Text: "xoxb-canary"}))
	}},
	{"a secret in a file", 11, func(f *forger) { f.world.Held["file"] = "token xoxb-canary" }},
	{"a hidden value on a card", 11, func(f *forger) { f.world.Told["card"] = "memo for-ben" }},
	{"a hidden value in the trail", 11, func(f *forger) {
		f.entry(approvals.AuditRunDone, f.request(approvals.RequestApproved), `{"why":"for-ben"}`)
	}},
	{"a leak", 12, func(f *forger) { f.world.Resources[0].After = 40 }},
	{"a notification that nobody delivers", 12, func(f *forger) {
		f.must(f.PutNotification(&approvals.Notification{Workspace: ws, ID: "not_x", Kind: approvals.NotifyNotice,
			Place: f.run().Place, Created: f.now}))
	}},
	{"a message that nobody reads", 12, func(f *forger) {
		f.must(f.PutInput(&approvals.QueuedInput{Workspace: ws, Place: f.run().Place, ID: "in_x", By: ann, At: f.now}))
	}},
	{"a call without its output", 13, func(f *forger) {
		i := slices.IndexFunc(f.world.Asked, func(items []agent.Item) bool { return len(items) > 2 })
		f.world.Asked[i] = f.world.Asked[i][:len(f.world.Asked[i])-1]
	}},
	{"two outputs of a call", 13, func(f *forger) {
		i := slices.IndexFunc(f.world.Asked, func(items []agent.Item) bool { return len(items) > 2 })
		items := f.world.Asked[i]
		f.world.Asked[i] = append(items, items[len(items)-1])
	}},
	{"a call that ran is told as rejected", 13, func(f *forger) {
		f.output(approvals.RequestApproved).Output = agent.DefaultRejection
	}},
	{"a call that was rejected is told as one that ran", 13, func(f *forger) {
		f.output(approvals.RequestRejected).Output = "paid"
	}},
	{"a call that was rejected is told as one that nobody answered", 13, func(f *forger) {
		f.output(approvals.RequestRejected).Output =
			"This call was not carried out: nobody answered the request for approval in time."
	}},
	{"a call that ran is told as one of which nobody knows", 13, func(f *forger) {
		f.output(approvals.RequestApproved).Output =
			"It is not known whether this call was carried out, and it will not be tried again."
	}},
	{"a call that ran is told as one that its run cut off", 13, func(f *forger) {
		r := f.run()
		r.Status = approvals.RunWaiting
		f.must(f.PutRun(r))
		f.output(approvals.RequestApproved).Output =
			"There is no result: the run ended before this call was decided or had finished."
	}},
	{"a call that ran is told as one that nobody could be asked about", 13, func(f *forger) {
		f.output(approvals.RequestApproved).Output = "This call was not carried out: it needs approval, but nobody may."
	}},
	{"a call that ran is told as one that somebody found to have run", 13, func(f *forger) {
		f.output(approvals.RequestApproved).Output =
			`The outcome of this call was unknown; a person has found out that it was carried out. Their words: "paid"`
	}},
	{"a call that ran is told as carried out elsewhere", 13, func(f *forger) {
		f.output(approvals.RequestApproved).Output = `A person has carried this call out and reports, as data: "paid"`
	}},
	{"what a tool has returned is told otherwise", 13, func(f *forger) {
		f.output(approvals.RequestApproved).Output = "refused"
	}},
	{"a call that ran is told as failed", 13, func(f *forger) {
		e := f.effect()
		e.Output.Failed = true
		f.must(f.PutEffect(e))
	}},
	{"the words of who rejected are not told", 13, func(f *forger) {
		r := f.request(approvals.RequestRejected)
		r.Decisions[0].Reason = "too much"
		f.must(f.PutRequestHead(&r.RequestHead))
	}},
	{"a forbidden call", 14, func(f *forger) { f.world.Forbidden = []string{"pay"} }},
}

// granted has the payment begin under a grant that covers it but for what other changes.
func (f *forger) granted(other func(*approvals.Grant)) {
	f.t.Helper()
	r, e := f.request(approvals.RequestApproved), f.effect()
	g := &approvals.Grant{
		Workspace: ws, ID: "grant_x", Scope: approvals.ScopeWorkspace, Place: r.Place, Run: r.Run, Agent: e.Agent,
		Tool: "pay", Created: f.now.Add(-time.Hour), Expires: f.now.Add(time.Hour),
	}
	other(g)
	f.must(f.PutGrant(g))
	e.Grant = g.ID
	f.must(f.PutEffect(e))
	f.entry(approvals.AuditEffectIntent, r, `{"effect":"`+e.ID+`","tool":"pay","grant":"grant_x"}`)
}

// output is what the model was told of the call of the request of that status.
func (f *forger) output(status approvals.RequestStatus) *agent.Item {
	f.t.Helper()
	call := f.request(status).Interruption
	for i, items := range f.world.Asked {
		for j, it := range items {
			if it.Type == agent.ItemFunctionCallOutput && strings.HasSuffix(call, "/"+it.CallID) {
				return &f.world.Asked[i][j]
			}
		}
	}
	f.t.Fatalf("the model was told nothing of %s", call)
	return nil
}

func (f *forger) card(status approvals.RequestStatus) *invariant.Card {
	id := f.request(status).ID
	return &f.world.Cards[slices.IndexFunc(f.world.Cards, func(c invariant.Card) bool { return c.Request == id })]
}

// TestForgedHistories is the control of the checker: it must reject each history in which one thing is not as it was,
// and say which invariant that breaks.
func TestForgedHistories(t *testing.T) {
	t.Parallel()
	tried := map[invariant.Number]bool{}
	for _, c := range forgeries {
		tried[c.want] = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := tell(t)
				found := forged(t, s, c.do)
				if !slices.ContainsFunc(found, func(v invariant.Violation) bool { return v.Invariant == c.want }) {
					t.Errorf("I%d was not missed: %v", c.want, found)
				}
			})
		})
	}
	for n := invariant.Number(1); n <= 14; n++ {
		if !tried[n] {
			t.Errorf("no control for I%d", n)
		}
	}
}
