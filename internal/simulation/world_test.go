package simulation_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/toolstatus"
	"countersign/approvals"
	"countersign/internal/invariant"
	"countersign/internal/slackdev"
	"countersign/store/storetest"
)

const (
	team    = approvals.WorkspaceID("T0DEV")
	general = "C0GENERAL"
	ann     = "U0ANN"  // asks
	ben     = "U0BEN"  // decides
	cleo    = "U0CLEO" // decides
	gus     = "U0GUS"  // a guest
)

// world is everything outside of the replicas, and the replicas.
type world struct {
	t       *testing.T
	dice    *dice
	data    *storetest.Memory
	slack   *slackdev.Workspace
	toSlack *wire
	log     journal
	wg      sync.WaitGroup
	policy  approvals.Requirement

	mu       sync.Mutex
	replicas []*replica
	seen     invariant.World
}

// journal keeps what replicas log, for a failure.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{t: t, dice: newDice(seed), data: storetest.NewMemory()}
	chaos := storetest.Havoc(seed)
	chaos.Rerun = w.dice.n("rerun", 4) == 0 // it doubles the work and finds other things than faults do
	chaos.Unknown = []float64{0, 0.02, 0.1}[w.dice.n("unknown commits", 3)]
	chaos.Lose, chaos.LoseKinds = []float64{0, 0.1}[w.dice.n("lost jobs", 2)],
		[]approvals.JobKind{approvals.JobRun, approvals.JobDeliver}
	w.data.Unreliable(chaos)
	bad := []int{0, 20, 80}[w.dice.n("weather", 3)]
	var api http.Handler
	w.toSlack = &wire{name: "to Slack", dice: w.dice, wg: &w.wg, to: func() http.Handler { return api },
		lost: bad, unanswered: bad, late: bad, broken: w.slackFails(bad)}
	toApp := &wire{name: "to the app", dice: w.dice, wg: &w.wg, to: w.anyReplica,
		lost: bad, unanswered: bad, twice: 2 * bad, late: 3 * bad}
	var err error
	w.slack, api, err = slackdev.Inside(slackdev.Config{RequestURL: slackdev.RequestURLs{
		Events: "http://app.test/slack/events", Interactions: "http://app.test/slack/interactions",
		Commands: "http://app.test/slack/commands",
	}}, toApp)
	w.must(err)
	w.policy = approvals.Requirement{Policy: "default", DenyQuorum: 1, ExpiresIn: 20 * time.Minute,
		ValidFor: 15 * time.Minute, Always: []approvals.Scope{approvals.ScopeRun},
		Seats: approvals.Quorum(1+w.dice.n("seats", 2), approvals.Approvers{ChannelMembers: true})}
	if w.dice.n("reminders", 2) == 0 {
		w.policy.RemindEvery = 3 * time.Minute
	}
	if w.dice.n("escalation", 3) == 0 {
		w.policy.Escalation = approvals.Escalation{After: 5 * time.Minute,
			To: approvals.Approvers{Users: []approvals.UserID{user(cleo)}}}
	}
	for i := range 2 {
		w.replicas = append(w.replicas, w.boot(fmt.Sprint(i)))
	}
	return w
}

// note writes down what becomes of a replica.
func (w *world) note(what string) {
	kind, _, _ := strings.Cut(what, " ")
	w.dice.strike(kind)
	fmt.Fprintln(&w.log, time.Now().Format(time.StampMicro), what)
}

func user(id string) approvals.UserID { return approvals.NewUserID(team, id) }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// slackFails answers some requests as Slack does when it has trouble.
func (w *world) slackFails(bad int) func(*http.Request) *http.Response {
	answer := func(req *http.Request, status int, body string) *http.Response {
		header := http.Header{"Content-Type": {"application/json"}}
		return &http.Response{StatusCode: status, Header: header, Request: req,
			Body: io.NopCloser(strings.NewReader(body))}
	}
	return func(req *http.Request) *http.Response {
		switch {
		case w.dice.fault("Slack 500", bad):
			return answer(req, http.StatusInternalServerError, "trouble")
		case w.dice.fault("Slack 429", bad):
			resp := answer(req, http.StatusTooManyRequests, "")
			resp.Header.Set("Retry-After", fmt.Sprint(1+w.dice.n("Slack's wait", 20)))
			return resp
		case w.dice.fault("Slack internal_error", bad):
			return answer(req, http.StatusOK, `{"ok":false,"error":"internal_error"}`)
		}
		return nil
	}
}

// anyReplica is the balancer in front of the replicas: it sends a request to one that is there.
func (w *world) anyReplica() http.Handler {
	w.mu.Lock()
	defer w.mu.Unlock()
	alive := slices.DeleteFunc(slices.Clone(w.replicas), func(p *replica) bool { return p.dead.Load() })
	if len(alive) == 0 {
		return nil
	}
	p := alive[w.dice.n("balancer", len(alive))]
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if p.pass() != nil {
			panic(http.ErrAbortHandler)
		}
		p.handler.ServeHTTP(rw, r)
		if p.pass() != nil {
			panic(http.ErrAbortHandler)
		}
	})
}

// Requirement implements approvals.Policy.
func (w *world) Requirement(
	context.Context, *approvals.Request, approvals.PolicyFacts,
) (approvals.Requirement, error) {
	return w.policy, nil
}

func (w *world) click(c invariant.Click) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Clicks = append(w.seen.Clicks, c)
}

var errModel = errors.New("the model has trouble")

// respond is the model: it asks for some calls, and answers once it has their outputs.
func (w *world) respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	w.mu.Lock()
	w.seen.Asked = append(w.seen.Asked, slices.Clone(req.Items))
	w.mu.Unlock()
	if err := wait(ctx, w.dice.pause("model", 5*time.Second)); err != nil {
		return nil, err
	}
	if w.dice.fault("model", 15) {
		return nil, errModel
	}
	turn, calls, began := 0, 0, ""
	for i, it := range req.Items {
		switch {
		case it.Type == agent.ItemMessage && it.Role == agent.RoleUser:
			turn, calls, began = i, 0, cmp.Or(began, it.Text)
		case it.Type == agent.ItemFunctionCall:
			calls++
		}
	}
	if calls == 0 {
		_, thread, _ := strings.Cut(began, "please, ")
		return &agent.ModelResponse{Items: w.wishes(thread, turn)}, nil
	}
	answer := agent.AssistantMessage(fmt.Sprintf("answer after %d items", turn))
	return &agent.ModelResponse{Items: []agent.Item{answer}}, nil
}

// wishes are what the model asks for in its first turn. Their ids differ between threads, and between the runs of one.
func (w *world) wishes(thread string, turn int) (items []agent.Item) {
	for i, tool := range []string{"pay", "note", "look", "pay"}[:1+w.dice.n("calls", 4)] {
		items = append(items, agent.Item{Type: agent.ItemFunctionCall,
			CallID: fmt.Sprintf("c%s_%d_%d", thread, turn, i), Name: tool,
			Arguments: fmt.Sprintf(`{"amount":%d}`, i+1)})
	}
	return items
}

// tools of the agent: pay waits for people, look does too and may happen again, note waits for nobody.
func tools(invoke func(context.Context, *agent.ToolCall) (agent.ToolOutput, error)) []agent.Tool {
	schema := json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number"}}}`)
	valid := func(json.RawMessage) error { return nil }
	return []agent.Tool{
		{Name: "pay", Parameters: schema, Validate: valid, NeedsApproval: agent.AlwaysAsk, Invoke: invoke},
		{Name: "look", Parameters: schema, Validate: valid, NeedsApproval: agent.AlwaysAsk, Invoke: invoke,
			Idempotent: true},
		{Name: "note", Parameters: schema, Validate: valid, Invoke: invoke},
	}
}

// carryOut is the world outside: what arrives there happens, and then somebody may still wait for the answer in vain. A
// call that arrives again may be refused, as by a server that is at work on the first.
func (w *world) carryOut(ctx context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
	w.mu.Lock()
	again := slices.ContainsFunc(w.seen.Effects, func(e invariant.Effect) bool { return e.Key == c.EffectID })
	w.mu.Unlock()
	if again && w.dice.fault("a call refused", 500) {
		return agent.ToolOutput{Text: "in progress", Failed: true, Status: toolstatus.Status{HTTP: 409}}, nil
	}
	w.mu.Lock()
	w.seen.Effects = append(w.seen.Effects,
		invariant.Effect{Key: c.EffectID, Tool: c.Tool, Arguments: string(c.Arguments)})
	w.mu.Unlock()
	if err := wait(ctx, w.dice.pause("tool", 10*time.Second)); err != nil {
		return agent.ToolOutput{}, err
	}
	return agent.ToolOutput{Text: c.Tool + " done"}, nil
}
