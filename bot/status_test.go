package bot

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// slow is a model that answers, or pays first, when it is let go on.
type slow struct {
	agent.Model
	gate chan struct{}
}

func (s *slow) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	select {
	case <-s.gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.Model.Respond(ctx, req)
}

// statusCalls lists the statuses that were set, in order.
func (w *world) statusCalls() (all []string) {
	for _, c := range w.slack.Calls() {
		if c.Method == methodThreadStatus || c.Method == methodSessionStatus {
			status, _ := c.Args["status"].(string)
			all = append(all, strings.Split(c.Method, ".")[1]+"="+status)
		}
	}
	return all
}

func (w *world) directly(user, text string) string {
	w.t.Helper()
	ts, err := w.slack.Post(w.ctx(), user, "D0ANN", text, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return ts
}

// inDirect waits for a message of the bot in Ann's direct conversation.
func (w *world) inDirect(thread, event string) (found slackdev.Message) {
	w.t.Helper()
	w.eventually("a message "+event, func() bool {
		for _, m := range w.slack.Thread("D0ANN", thread) {
			if m.Metadata != nil && m.Metadata.EventType == event {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

func payer() agent.Model { return scripted.New(pay("call_1"), scripted.Say("Paid.")) }

func (w *world) showsStatus(thread, want string) {
	w.t.Helper()
	w.eventually("the status "+want, func() bool { return w.slack.Status("D0ANN", thread) == want })
}

// TestStatusIsShownWhileARunWorksAndWaits: in a direct conversation people see that the run works, that it waits for
// them, and no more once it has ended; also when it is cancelled while nobody is at work on it.
func TestStatusIsShownWhileARunWorksAndWaits(t *testing.T) {
	t.Parallel()
	model := &slow{payer(), make(chan struct{})}
	w := startWorld(t, &world{policy: everybody{}, model: model})
	thread := w.directly("U0ANN", "pay acme")
	w.showsStatus(thread, wordsStatusLine)
	close(model.gate)
	w.showsStatus(thread, "waits for ann to decide transfer_funds")
	w.eventually("the session is suspended", func() bool {
		return slices.Contains(w.statusCalls(), "sessions=suspended")
	})
	page, err := w.engine.Pending(w.ctx(), approvals.PendingQuery{Workspace: testWorkspace})
	if err != nil || len(page.Requests) != 1 {
		t.Fatalf("%d pending: %v", len(page.Requests), err)
	}
	if _, err := w.engine.CancelRun(w.ctx(), testWorkspace, page.Requests[0].Run, user("U0ANN"), ""); err != nil {
		t.Fatal(err)
	}
	w.showsStatus(thread, "")
	w.eventually("the session is active", func() bool {
		all := w.statusCalls()
		return all[len(all)-1] == "sessions=active"
	})
}

// TestCardBeforeTheRunIsHeardToWait: the card may stand there before the bot hears that the run waits.
func TestCardBeforeTheRunIsHeardToWait(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	r := transfer(small)
	r.Place = approvals.Place{Surface: "slack", Channel: "D0ANN", Thread: s.mentionless(t), Direct: true}
	s.service.put(r)
	doing := func(kind approvals.ActivityKind) { s.bot.Watch(approvals.Activity{Place: r.Place, Kind: kind}) }
	doing(approvals.ActivityWorking)
	s.bot.showWhoIsAwaited(&approvals.Notification{
		Workspace: r.Workspace, Place: r.Place, Kind: approvals.NotifyCard, Card: r,
	})
	early := func() string {
		s.bot.statuses.mu.Lock()
		defer s.bot.statuses.mu.Unlock()
		if lane := s.bot.statuses.lanes[r.Place]; lane != nil {
			return lane.early
		}
		return ""
	}
	s.eventually("it is known who is awaited", func() bool { return early() != "" })
	doing(approvals.ActivityWaiting)
	s.eventually("the conversation says who", func() bool {
		return strings.HasPrefix(s.slack.Status("D0ANN", r.Place.Thread), "waits for ")
	})
}

func (s *stage) mentionless(t *testing.T) (ts string) {
	t.Helper()
	ts, err := s.slack.Post(s.ctx(), "U0ANN", "D0ANN", "pay acme", "")
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// TestStatusThatSlackRefusesIsLeft: once refused it is not tried again, and the run goes on.
func TestStatusThatSlackRefusesIsLeft(t *testing.T) {
	t.Parallel()
	w := startWorld(t, &world{policy: everybody{}, model: payer(), with: slackdev.Config{NoAgents: true}})
	for range 2 {
		thread := w.directly("U0ANN", "pay acme")
		if err := w.click("U0ANN", w.inDirect(thread, cardEvent), "approve"); err != nil {
			t.Fatal(err)
		}
		w.inDirect(thread, answerEvent)
	}
	refused := 0
	for _, c := range w.slack.Calls() {
		if c.Method == methodSessionStatus {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("tried %d times", refused)
	}
}

// TestStatusSaysWhomARunWaitsFor by their names, which call nobody, and what they are to do.
func TestStatusSaysWhomARunWaitsFor(t *testing.T) {
	t.Parallel()
	s := newStage(t, setUp{})
	s.slack.SetUserGroup(finance("U0CLEO"))
	named := func(r *approvals.Request, all ...approvals.Approvers) *approvals.Request {
		r.Requirement.Seats = nil
		for _, who := range all {
			r.Requirement.Seats = append(r.Requirement.Seats, approvals.Seat{Approvers: who})
		}
		return r
	}
	two := approvals.Approvers{Users: usersOf("U0BEN", "U0CLEO")}
	unheard, several := transfer(small), transfer(small)
	unheard.Kind, several.Beside = agent.OutcomeUnknown, []approvals.RequestID{"req_1", "req_2"}
	for want, r := range map[string]*approvals.Request{
		"waits for ben or cleo to decide transfer_funds":       named(transfer(small), two, two),
		"waits for @finance or ben to decide 3 calls":          named(several, groupOf("S0FINANCE"), onlyOf("U0BEN")),
		"waits for ben to say whether transfer_funds happened": named(unheard, onlyOf("U0BEN")),
		"waits for ben to answer a question":                   named(wonder(nil), onlyOf("U0BEN")),
		"waits for ben to give the result of deploy":           named(deploy(), onlyOf("U0BEN")),
		"waits for ben to fill in book":                        named(booking(), onlyOf("U0BEN")),
		"waits for somebody to decide transfer_funds":          named(transfer(small), onlyOf("U0NOBODY")),
		"waits for people to decide transfer_funds":            named(transfer(small)),
	} {
		got := s.bot.awaited(t.Context(), r)
		if got != want {
			t.Errorf("the status is %q, want %q", got, want)
		}
		if strings.Contains(got, "<") {
			t.Errorf("it calls somebody: %s", got)
		}
	}
}

func groupOf(id string) approvals.Approvers { return approvals.Approvers{Groups: []string{id}} }
func onlyOf(id string) approvals.Approvers  { return approvals.Approvers{Users: usersOf(id)} }

// TestStatusIsShownForAsLongAsARunWorks: Slack takes a status away two minutes after it was set
// (https://docs.slack.dev/reference/methods/assistant.threads.setStatus). That a run works is said again before that,
// also where the run begins again meanwhile, and no more once nobody is at work on it.
func TestStatusIsShownForAsLongAsARunWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const life = 2 * time.Minute
		var mu sync.Mutex
		var at time.Time // when it was said last that the run works; zero: it is not said any more
		sessions := 0
		shown := func() bool {
			mu.Lock()
			defer mu.Unlock()
			return !at.IsZero() && time.Since(at) < life
		}
		m := &memory{answer: func(method string, form url.Values) string {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case method == methodSessionStatus:
				sessions++
			case form.Get("status") == wordsStatusLine:
				at = time.Now()
			default:
				at = time.Time{}
			}
			return `{"ok":true}`
		}}
		b, err := New(Config{
			Client: m.client(t), Service: newFakeService(), AppToken: "xapp-test", DefaultAgent: "ops",
		})
		if err != nil {
			t.Fatal(err)
		}
		defer b.work.start(t.Context(), time.Second)()
		place := approvals.Place{Surface: "slack", Channel: "D0ANN", Thread: "1.000001", Direct: true}
		doing := func(kind approvals.ActivityKind) { b.Watch(approvals.Activity{Place: place, Kind: kind}) }
		doing(approvals.ActivityWorking)
		time.Sleep(statusAfter + time.Second)
		for i := range 60 {
			if synctest.Wait(); !shown() {
				t.Fatalf("nothing says that the run works, %d times ten seconds after it began", i)
			}
			if i%7 == 0 {
				doing(approvals.ActivityWorking)
			}
			time.Sleep(10 * time.Second)
		}
		doing(approvals.ActivityOver)
		if synctest.Wait(); shown() {
			t.Error("it is said that a run works that is over")
		}
		before := len(m.calls)
		time.Sleep(time.Hour)
		if synctest.Wait(); len(m.calls) != before || sessions != 2 {
			t.Errorf("%d calls after the end; %d of the session", len(m.calls)-before, sessions)
		}
	})
}
