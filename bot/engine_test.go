package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/agent/trace"
	"countersign/approvals"
	"countersign/internal/slackdev"
	"countersign/store"
)

// everybody lets the people of a channel decide about what others ask for.
type everybody struct{}

func (everybody) Requirement(
	context.Context, *approvals.Request, approvals.PolicyFacts,
) (approvals.Requirement, error) {
	return approvals.Requirement{
		Policy: "default", Seats: approvals.Quorum(1, approvals.Approvers{ChannelMembers: true}), DenyQuorum: 1,
		SelfApproval: true,
		ExpiresIn:    time.Hour, OnExpiry: approvals.ExpiryReject, Always: []approvals.Scope{approvals.ScopeRun},
	}, nil
}

// bank is a tool that remembers how often it ran.
type bank struct {
	takes time.Duration // for a payment
	mu    sync.Mutex
	paid  []string
}

func (b *bank) tool() agent.Tool {
	return agent.Tool{
		Name: "transfer_funds", Description: "Moves money.", NeedsApproval: agent.AlwaysAsk,
		Parameters: json.RawMessage(`{"type":"object"}`), Validate: func(json.RawMessage) error { return nil },
		Invoke: func(_ context.Context, call *agent.ToolCall) (agent.ToolOutput, error) {
			b.mu.Lock()
			b.paid = append(b.paid, string(call.Arguments))
			b.mu.Unlock()
			time.Sleep(b.takes)
			return agent.ToolOutput{Text: "paid"}, nil
		},
	}
}

func (b *bank) payments() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.paid...)
}

type oneAgent struct{ agent *agent.Agent }

func (o oneAgent) Agent(name string) (approvals.AgentConfig, error) {
	if name != o.agent.Name {
		return approvals.AgentConfig{}, approvals.ErrNotFound
	}
	return approvals.AgentConfig{Agent: o.agent, MaxTurns: 10}, nil
}

// world is a workspace with the real service, worker, store and bot.
type world struct {
	*stage
	bank   *bank
	policy approvals.Policy
	engine *approvals.Service
	tools  []agent.Tool // beside the bank's
	model  agent.Model  // nil: the script
	url    string       // of the store
	public string       // where callbacks arrive
	store  approvals.Store
	script
	with     slackdev.Config        // what is special about the workspace
	follower approvals.Follower     // nil: the bot
	tune     func(*Bot)             // before it runs
	shape    func(*agent.Agent)     // what is special about the agent
	open     func() approvals.Store // nil: the file, of this process alone

	answersShared bool // Config.SharedAnswers

	drain time.Duration // for tools that work when everything is told to stop; zero: as approvals has it

	tracer trace.Tracer // nil: none
	spans  traced       // what tracer makes
}

type script []scripted.Step

// newWorld starts everything; restart does so again on the same workspace and store.
func newWorld(t *testing.T, steps ...scripted.Step) *world {
	t.Helper()
	return newWorldOf(t, nil, steps...)
}

// newWorldOf is newWorld for an agent with more tools.
func newWorldOf(t *testing.T, tools []agent.Tool, steps ...scripted.Step) *world {
	t.Helper()
	return startWorld(t, &world{policy: everybody{}, tools: tools, script: steps})
}

// newWorldUnder is newWorld with another policy.
func newWorldUnder(t *testing.T, policy approvals.Policy, steps ...scripted.Step) *world {
	t.Helper()
	return startWorld(t, &world{policy: policy, script: steps})
}

func startWorld(t *testing.T, w *world) *world {
	t.Helper()
	cfg := w.with
	cfg.Events = slices.Sorted(maps.Keys(eventScopes))
	if cfg.Scopes == nil {
		cfg.Scopes = neededScopes()
	}
	cfg.AckTimeout, cfg.TriggerLife = *patience, *patience
	if cfg.RetryAfter == nil {
		cfg.RetryAfter = []time.Duration{0, 100 * time.Millisecond}
	}
	ws, err := slackdev.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	if w.bank == nil {
		w.bank = &bank{}
	}
	w.stage, w.url = &stage{t: t, slack: ws, logs: &logs{}}, storeFor(t)
	w.restart()
	return w
}

func (w *world) restart() {
	t := w.t
	t.Helper()
	if w.stop != nil {
		if err := w.stop(); err != nil {
			t.Fatal(err)
		}
		w.eventually("nothing is delivered to the bot that was", func() bool { return w.slack.Connections() == 0 })
	}
	if w.open != nil {
		w.serve(w.open(), false)
		return
	}
	st, err := store.Open(t.Context(), w.url, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w.serve(st, ofOneProcess(st))
}

// serve starts everything but Slack on a store. alone says that no other process serves the workspace.
func (w *world) serve(st approvals.Store, alone bool) {
	t := w.t
	t.Helper()
	w.store = st
	logger := slog.New(slog.NewTextHandler(w.logs, nil))
	client, err := NewClient(ClientConfig{
		Token: w.slack.Config().BotToken, APIURL: w.slack.APIURL(), Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	model := w.model
	if model == nil {
		model = scripted.New(w.script...)
	}
	ops := &agent.Agent{Name: "ops", Model: model, Tools: append([]agent.Tool{w.bank.tool()}, w.tools...)}
	if w.shape != nil {
		w.shape(ops)
	}
	known := oneAgent{ops}
	w.engine, err = approvals.NewService(approvals.ServiceConfig{
		Store: st, Policy: w.policy, Directory: client, Agents: known,
		Requesters: mayAsk(""), PublicURL: w.public, Tracer: w.tracer,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.bot, err = New(Config{
		Client: client, Service: w.engine, AppToken: w.slack.Config().AppToken, DefaultAgent: "ops", Alone: alone,
		Logger: logger, SharedAnswers: func() bool { return w.answersShared }, Tracer: w.tracer,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.bot.landing = patientLanding()
	if w.tune != nil {
		w.tune(w.bot)
	}
	follower := w.follower
	if follower == nil {
		follower = w.bot
	}
	worker, err := approvals.NewWorker(approvals.WorkerConfig{
		Store: st, Agents: known, Notifier: w.bot, Policy: w.policy, Directory: client, PublicURL: w.public,
		Reader: w.bot, Requesters: mayAsk, Watcher: w.bot, Follower: follower, Logger: logger,
		Tracer: w.tracer, Drain: w.drain,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- w.bot.Run(ctx) }()
	go func() { ended <- worker.Run(ctx) }()
	var once sync.Once
	var result error
	w.stop = func() error {
		once.Do(func() {
			cancel()
			result = errors.Join(<-ended, <-ended, st.Close())
		})
		return result
	}
	t.Cleanup(func() { w.stop() })
	w.eventually("the bot is ready", func() bool { return isReady(w.bot.Ready()) })
}

func mayAsk(approvals.WorkspaceID) approvals.Approvers {
	return approvals.Approvers{ChannelMembers: true}
}

// card waits for the n-th card in the thread.
func (w *world) card(thread string, n int) slackdev.Message {
	w.t.Helper()
	var found []slackdev.Message
	w.eventually(fmt.Sprintf("card %d", n), func() bool {
		found = nil
		for _, m := range w.slack.Thread("C0GENERAL", thread) {
			if m.Metadata != nil && m.Metadata.EventType == cardEvent {
				found = append(found, m)
			}
		}
		return len(found) >= n
	})
	return found[n-1]
}

func (w *world) said(thread, words string) {
	w.t.Helper()
	w.eventually("an answer with "+words, func() bool {
		for _, m := range w.slack.Thread("C0GENERAL", thread) {
			if m.User == "U0BOT" && strings.Contains(m.Text, words) {
				return true
			}
		}
		return false
	})
}

func pay(id string) scripted.Step {
	return scripted.Calls(scripted.Call(id, "transfer_funds", `{"to":"acme","amount":1200}`))
}

func TestWholeStory(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted=%v", restarted), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, pay("call_1"), scripted.Say("Acme has its money."))
			thread := w.mention("U0ANN", "pay acme", "")
			card := w.card(thread, 1)
			if !strings.Contains(texts(t, card.Blocks), "amount  1200\nto  acme") {
				t.Errorf("the card shows %s", card.Blocks)
			}
			if restarted {
				w.restart()
			}
			if err := w.click("U0GUS", card, "approve"); err != nil {
				t.Fatal(err)
			}
			w.whispered("U0GUS", "Guests cannot decide. Other members of a channel can: open the thread.")
			if got := w.bank.payments(); len(got) != 0 {
				t.Fatalf("ran before anybody approved: %v", got)
			}
			if err := w.click("U0BEN", card, "approve"); err != nil {
				t.Fatal(err)
			}
			w.said(thread, "Acme has its money.")
			if got := w.bank.payments(); len(got) != 1 || got[0] != `{"amount":1200,"to":"acme"}` {
				t.Errorf("payments: %v", got)
			}
			w.eventually("the card shows the decision", func() bool {
				m, _ := w.slack.Message(card.Channel, card.TS)
				return !decidable(m) && strings.Contains(texts(t, m.Blocks), "Approved by @U0BEN")
			})
			if again, _ := w.slack.Message(card.Channel, card.TS); strings.Contains(again.Text, "acme") {
				t.Errorf("the fallback text shows arguments: %s", again.Text)
			}
		})
	}
}

func TestRejectedCallNeverRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Then not."))
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	if err := w.click("U0BEN", card, "reject_with_reason"); err != nil {
		t.Fatal(err)
	}
	form := w.modalOf("U0BEN", "reject_with_reason")
	if _, err := w.slack.Submit(w.ctx(), "U0BEN", form.ID, reasoned("wrong account")); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Then not.")
	if got := w.bank.payments(); len(got) != 0 {
		t.Errorf("a rejected call ran: %v", got)
	}
	w.eventually("the card quotes the reason", func() bool {
		m, _ := w.slack.Message(card.Channel, card.TS)
		return strings.Contains(texts(t, m.Blocks), "wrong account")
	})
}

// always gives a standing answer of the scope by the form.
func (w *world) always(user string, card slackdev.Message, action, scope string) {
	w.t.Helper()
	if err := w.click(user, card, action); err != nil {
		w.t.Fatal(err)
	}
	if got := w.submits(user, action, map[string]any{"How far": scope}); got != nil {
		w.t.Fatalf("the form answers %v", got)
	}
}

func TestAlwaysHoldsForOneRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), pay("call_2"), scripted.Say("Paid twice."))
	first := w.mention("U0ANN", "pay acme twice", "")
	w.always("U0BEN", w.card(first, 1), "always_approve", "run")
	w.said(first, "Paid twice.")
	if got := len(w.bank.payments()); got != 2 {
		t.Errorf("%d payments", got)
	}
	second := w.mention("U0ANN", "pay acme twice", "")
	w.card(second, 1)
	if got := len(w.bank.payments()); got != 2 {
		t.Errorf("another run did not ask: %d payments", got)
	}
}

// TestConvergesUnderFaults breaks the Web API while a run is under way. There is one effect, one card and one answer.
func TestConvergesUnderFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Acme has its money."))
	for _, f := range []slackdev.Fault{
		{Method: methodPost, Reset: true, AfterEffect: true}, {Method: methodPost, RetryAfter: time.Second},
		{Method: methodUpdate, Status: 500}, {Method: methodUpdate, Reset: true, AfterEffect: true},
	} {
		w.slack.Fail(f)
	}
	thread := w.mention("U0ANN", "pay acme", "")
	card := w.card(thread, 1)
	if err := w.click("U0BEN", card, "approve"); err != nil {
		t.Fatal(err)
	}
	w.slack.DropConnections()
	w.said(thread, "Acme has its money.")
	w.eventually("the card shows the decision", func() bool {
		m, _ := w.slack.Message(card.Channel, card.TS)
		return !decidable(m)
	})
	answers, cards := 0, 0
	for _, m := range w.slack.Thread("C0GENERAL", thread) {
		if m.Metadata != nil && m.Metadata.EventType == answerEvent {
			answers++
		}
		if m.Metadata != nil && m.Metadata.EventType == cardEvent {
			cards++
		}
	}
	if answers != 1 || cards != 1 || len(w.bank.payments()) != 1 {
		t.Errorf("%d answers, %d cards, payments %v", answers, cards, w.bank.payments())
	}
}

func TestPendingIsListedByTheRealService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pay("call_1"), scripted.Say("Done."))
	thread := w.mention("U0ANN", "pay acme", "")
	id := requestOf(t, w.card(thread, 1))
	if m := w.command("U0BEN", ""); !strings.Contains(texts(t, m.Blocks), id) {
		t.Errorf("the list: %s", m.Blocks)
	}
	m := w.command("U0BEN", "show "+id)
	if err := w.click("U0BEN", m, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Done.")
	if m := w.command("U0BEN", "all"); !strings.Contains(m.Text, "Nothing waits") {
		t.Errorf("afterwards: %s", m.Text)
	}
}
