package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/trace"
	"countersign/approvals"
	"countersign/store"
)

const ws = approvals.WorkspaceID("T1")

// The people of the tests.
var (
	ann   = user("ann")   // asks
	bob   = user("bob")   // approves
	cara  = user("cara")  // approves
	guest = user("guest") // is a guest in the channel
	out   = user("out")   // is regular, and not in the channel
)

func user(name string) approvals.UserID { return approvals.NewUserID(ws, name) }

var place = approvals.Place{Surface: "slack", Channel: "C1", Thread: "1.1"}

// directory is a Directory in memory.
type directory struct {
	mu       sync.Mutex
	persons  map[approvals.UserID]approvals.Person
	channels map[string][]approvals.UserID
	groups   map[string][]approvals.UserID
	err      error
	asked    int
	// asksPeople has the since of every question about a person.
	asksPeople []time.Time
	// asksGroups has the since of every question for the groups of a person.
	asksGroups []time.Time
	// groupsErr is what questions about groups come to.
	groupsErr error
	// channelErr is what questions about a channel come to.
	channelErr map[string]error
	// membersErr is what listing a channel comes to.
	membersErr error
	// takes is how long each answer takes.
	takes time.Duration
	// panics has questions about a channel panic.
	panics bool
}

func newDirectory() *directory {
	d := &directory{
		persons:    map[approvals.UserID]approvals.Person{guest: {ID: guest, Why: "guest"}},
		channels:   map[string][]approvals.UserID{"C1": {ann, bob, cara, guest}, "C2": {ann, bob, cara}},
		groups:     map[string][]approvals.UserID{},
		channelErr: map[string]error{},
	}
	for _, u := range []approvals.UserID{ann, bob, cara, out} {
		d.persons[u] = approvals.Person{ID: u, Regular: true}
	}
	return d
}

// ask is called with d.mu held, and lets go of it while the answer is on its way.
func (d *directory) ask() error {
	d.asked++
	if d.takes > 0 {
		d.mu.Unlock()
		time.Sleep(d.takes)
		d.mu.Lock()
	}
	return d.err
}

func (d *directory) Person(_ context.Context, u approvals.UserID, since time.Time) (approvals.Person, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asksPeople = append(d.asksPeople, since)
	if err := d.ask(); err != nil {
		return approvals.Person{}, err
	}
	p, ok := d.persons[u]
	if !ok {
		return approvals.Person{}, approvals.ErrNotFound
	}
	return p, nil
}

func (d *directory) Members(
	_ context.Context, _ approvals.WorkspaceID, group string, _ time.Time,
) ([]approvals.UserID, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.groups[group]), errors.Join(d.ask(), d.groupsErr)
}

func (d *directory) ChannelMembers(
	_ context.Context, _ approvals.WorkspaceID, channel string,
) ([]approvals.UserID, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.channels[channel]), errors.Join(d.ask(), d.channelErr[channel], d.membersErr)
}

func (d *directory) InChannel(
	_ context.Context, _ approvals.WorkspaceID, channel string, u approvals.UserID, _ time.Time,
) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.panics {
		panic("planned")
	}
	return slices.Contains(d.channels[channel], u), errors.Join(d.ask(), d.channelErr[channel])
}

func (d *directory) GroupsOf(_ context.Context, u approvals.UserID, since time.Time) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asksGroups = append(d.asksGroups, since)
	var in []string
	for id, all := range d.groups {
		if slices.Contains(all, u) {
			in = append(in, id)
		}
	}
	return in, errors.Join(d.ask(), d.groupsErr)
}

func (d *directory) Channel(
	_ context.Context, _ approvals.WorkspaceID, channel string, _ time.Time,
) (approvals.Channel, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return approvals.Channel{Name: channel}, errors.Join(d.ask(), d.channelErr[channel])
}

// leaves takes the person out of the channel, and deactivate out of the workspace.
func (d *directory) leaves(channel string, u approvals.UserID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.channels[channel] = slices.DeleteFunc(slices.Clone(d.channels[channel]),
		func(m approvals.UserID) bool { return m == u })
}

func (d *directory) deactivate(u approvals.UserID) {
	d.put(approvals.Person{ID: u, Why: "deactivated"})
}

// put adds or replaces a person.
func (d *directory) put(p approvals.Person) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.persons[p.ID] = p
}

// failChannel has questions about one channel come to err.
func (d *directory) failChannel(channel string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.channelErr[channel] = err
}

func (d *directory) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

func (d *directory) failGroups(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.groupsErr = err
}

func (d *directory) setGroup(name string, all ...approvals.UserID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.groups[name] = all
}

// surface is a Notifier in memory: what people see.
type surface struct {
	mu    sync.Mutex
	calls int
	posts []post
	// intercept, if set, may answer instead.
	intercept func(n *approvals.Notification) error
}

type post struct {
	kind    approvals.NotificationKind
	place   approvals.Place
	text    string
	request approvals.RequestID
	status  approvals.RequestStatus
	outcome approvals.Outcome
	message string
	asksNow approvals.RequestID
}

func (s *surface) Notify(_ context.Context, n *approvals.Notification) (approvals.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.intercept != nil {
		if err := s.intercept(n); err != nil {
			return approvals.Delivery{}, err
		}
	}
	p := post{kind: n.Kind, place: n.Place, text: n.Text, request: n.Request, message: fmt.Sprintf("m%d", s.calls)}
	if n.Card != nil {
		p.status, p.outcome, p.asksNow = n.Card.Status, n.Card.Outcome, n.Card.AsksNow
		if len(n.Card.Cards) > 0 {
			p.message = n.Card.Cards[0].Message
		}
	}
	s.posts = append(s.posts, p)
	return approvals.Delivery{Channel: n.Place.Channel, Message: p.message}, nil
}

// fail has every notification fail; nil: no longer.
func (s *surface) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.intercept = nil; err != nil {
		s.intercept = func(*approvals.Notification) error { return err }
	}
}

func (s *surface) all() []post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.posts)
}

// texts returns what was posted of a kind, in order.
func (s *surface) texts(kind approvals.NotificationKind) (all []string) {
	for _, p := range s.all() {
		if p.kind == kind {
			all = append(all, p.text)
		}
	}
	return all
}

// status returns what the request's card shows now.
func (s *surface) status(id approvals.RequestID) (status approvals.RequestStatus) {
	for _, p := range s.all() {
		if p.request == id && p.kind == approvals.NotifyCard {
			status = p.status
		}
	}
	return status
}

// leads returns the request to which the card of another one leads now.
func (s *surface) leads(id approvals.RequestID) (to approvals.RequestID) {
	for _, p := range s.all() {
		if p.request == id && p.kind == approvals.NotifyCard {
			to = p.asksNow
		}
	}
	return to
}

// outcome returns what the request's card says now of the call.
func (s *surface) outcome(id approvals.RequestID) (outcome approvals.Outcome) {
	for _, p := range s.all() {
		if p.request == id && p.kind == approvals.NotifyCard {
			outcome = p.outcome
		}
	}
	return outcome
}

// effects counts what tools really did.
type effects struct {
	mu   sync.Mutex
	list []effect
}

type effect struct{ tool, arguments, id string }

func (e *effects) add(c *agent.ToolCall) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, effect{c.Tool, string(c.Arguments), c.EffectID})
}

func (e *effects) all() []effect {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.list)
}

// model is a Model that answers as the test says.
type model func(req *agent.ModelRequest) ([]agent.Item, error)

func (m model) Respond(_ context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	items, err := m(req)
	if err != nil {
		return nil, err
	}
	return &agent.ModelResponse{Items: items}, nil
}

func call(id, tool, arguments string) agent.Item {
	return agent.Item{Type: agent.ItemFunctionCall, CallID: id, Name: tool, Arguments: arguments}
}

// outputs returns the outputs of the current run's calls, by call id. Only what follows the last user message counts.
func outputs(req *agent.ModelRequest) map[string]string {
	found := map[string]string{}
	for _, it := range req.Items {
		switch {
		case it.Type == agent.ItemMessage && it.Role == agent.RoleUser:
			clear(found)
		case it.Type == agent.ItemFunctionCallOutput:
			found[it.CallID] = it.Output
		}
	}
	return found
}

// asks is a model that makes the calls in its first turn and then answers with what it was told.
func asks(calls ...agent.Item) model {
	return func(req *agent.ModelRequest) ([]agent.Item, error) {
		told := outputs(req)
		if len(told) == 0 {
			return calls, nil
		}
		var b strings.Builder
		for _, c := range calls {
			fmt.Fprintf(&b, "%s: %s\n", c.CallID, told[c.CallID])
		}
		return []agent.Item{agent.AssistantMessage(strings.TrimSpace(b.String()))}, nil
	}
}

// agents is an Agents in memory.
type agents struct {
	mu  sync.Mutex
	all map[string]approvals.AgentConfig
}

func (a *agents) Agent(name string) (approvals.AgentConfig, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, ok := a.all[name]
	if !ok {
		return c, approvals.ErrNotFound
	}
	return c, nil
}

func (a *agents) set(c approvals.AgentConfig) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all[c.Agent.Name] = c
}

// bench is one installation: a store, a service, and a worker that can be stopped, dropped and started again.
type bench struct {
	testing.TB
	url     string // of the store
	store   approvals.Store
	mortal  *mortal // store, as the service and the worker see it
	people  *directory
	policy  *policy
	agents  *agents
	surface *surface
	effects *effects
	service *approvals.Service
	worker  approvals.WorkerConfig
	limits  approvals.Limits
	log     *slog.Logger
	public  string // URL
	tracer  trace.Tracer
	trigger *deploySystem
	stop    func()
	events  int
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := benchWithoutStore(t)
	b.url = storeFor(t)
	b.open()
	t.Cleanup(func() {
		b.stop()
		b.store.Close()
	})
	return b
}

// benchWithoutStore is a bench that is to be given a store with serve.
func benchWithoutStore(t testing.TB) *bench {
	warnings := &slog.HandlerOptions{Level: slog.LevelWarn}
	b := &bench{
		TB: t, people: newDirectory(), policy: &policy{}, agents: &agents{all: map[string]approvals.AgentConfig{}},
		surface: &surface{}, effects: &effects{},
		log: slog.New(slog.NewTextHandler(t.Output(), warnings)), stop: func() {},
	}
	b.policy.always(lenient())
	b.model(asks(call("c1", "pay", `{"amount":5}`)))
	return b
}

// open opens the store and makes a service on it.
func (b *bench) open() {
	b.Helper()
	var err error
	if b.store, err = store.Open(b.Context(), b.url, store.Config{Logger: b.log}); err != nil {
		b.Fatal(err)
	}
	b.mortal = &mortal{Store: b.store}
	b.serve(b.mortal)
}

// serve makes service and worker configuration on a store.
func (b *bench) serve(st approvals.Store) {
	b.Helper()
	var err error
	b.service, err = approvals.NewService(approvals.ServiceConfig{
		Store: st, Policy: b.policy, Directory: b.people, Agents: b.agents,
		Requesters: approvals.Approvers{ChannelMembers: true}, Limits: b.limits, Logger: b.log,
		PublicURL: b.public, Tracer: b.tracer,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.worker = approvals.WorkerConfig{
		Store: st, Agents: b.agents, Notifier: b.surface, Policy: b.policy, Directory: b.people,
		Limits: b.limits, Logger: b.log, PublicURL: b.public, Tracer: b.tracer,
	}
	if b.trigger != nil {
		b.worker.Triggers = b.trigger
	}
}

// reopen is a restart: the store is closed and opened again. Behind a process that died the leases that it had have
// lapsed.
func (b *bench) reopen() {
	b.Helper()
	b.stop()
	died := b.mortal.dead.Load()
	if err := b.store.Close(); err != nil {
		b.Fatal(err)
	}
	if b.open(); died {
		b.lapse()
	}
}

// start runs a worker in the background; stop ends it.
func (b *bench) start() {
	b.Helper()
	w, err := approvals.NewWorker(b.worker)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	b.mortal.onDie = cancel
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	b.stop = func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
		b.stop = func() {}
	}
}

// step makes a worker that does only what the test tells it to: one job at a time.
func (b *bench) step() func(approvals.Job) error {
	b.Helper()
	st := &stepped{mortal: b.mortal, handlers: make(chan func(context.Context, approvals.Job) error)}
	cfg := b.worker
	cfg.Store = st
	w, err := approvals.NewWorker(cfg)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	b.mortal.onDie = cancel
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	b.stop = func() {
		cancel()
		<-done
		b.stop = func() {}
	}
	handle := <-st.handlers
	return func(j approvals.Job) error { return handle(ctx, j) }
}

// runJob, deliverJob and expireJob are the jobs of things.
func runJob(id approvals.RunID) approvals.Job {
	return approvals.Job{Workspace: ws, Kind: approvals.JobRun, ID: string(id)}
}

func deliverJob(p approvals.Place) approvals.Job {
	return approvals.Job{Workspace: ws, Kind: approvals.JobDeliver, ID: p.Key(), Place: &p}
}

func expireJob(id approvals.RequestID) approvals.Job {
	return approvals.Job{Workspace: ws, Kind: approvals.JobTimer, ID: string(id)}
}

// tools returns the tools of the test agent: pay waits for people, note does not, look is idempotent and does not.
func (b *bench) tools() []agent.Tool {
	record := func(_ context.Context, c *agent.ToolCall) (agent.ToolOutput, error) {
		b.effects.add(c)
		return agent.ToolOutput{Text: c.Tool + " done"}, nil
	}
	schema := json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number"}}}`)
	valid := func(json.RawMessage) error { return nil }
	return []agent.Tool{
		{Name: "pay", Description: "Pays.", Parameters: schema, Validate: valid,
			NeedsApproval: agent.AlwaysAsk, Invoke: record},
		{Name: "note", Description: "Notes.", Parameters: schema, Validate: valid, Invoke: record},
		{Name: "look", Description: "Looks.", Parameters: schema, Validate: valid,
			Idempotent: true, NeedsApproval: agent.AlwaysAsk, Invoke: record},
	}
}

// model makes the agent answer with m.
func (b *bench) model(m agent.Model) { b.agent(m, b.tools()...) }

func (b *bench) agent(m agent.Model, tools ...agent.Tool) {
	b.agents.set(approvals.AgentConfig{Agent: &agent.Agent{Name: "ops", Model: m, Tools: tools}})
}

func (b *bench) submission(by approvals.UserID, at approvals.Place, text string) approvals.Submission {
	b.events++
	return approvals.Submission{
		Workspace: ws, Keys: []string{fmt.Sprintf("event-%d", b.events)}, Place: at, Requester: by,
		Agent: "ops", Text: text, Message: fmt.Sprintf("1.%d", b.events),
	}
}

// submit has ann ask for a run.
func (b *bench) submit() approvals.RunID {
	b.Helper()
	return b.submitAt(place)
}

func (b *bench) submitAt(at approvals.Place) approvals.RunID {
	b.Helper()
	receipt, err := b.service.Submit(b.Context(), b.submission(ann, at, "please"))
	if err != nil {
		b.Fatal(err)
	}
	return receipt.Run
}

func (b *bench) run(id approvals.RunID) *approvals.Run {
	b.Helper()
	r, err := b.service.Run(b.Context(), ws, id)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func (b *bench) request(id approvals.RequestID) *approvals.Request {
	b.Helper()
	r, err := b.service.Request(b.Context(), ws, id)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// requests lists all requests of a run in the order of their creation.
func (b *bench) requests(run approvals.RunID) (all []*approvals.Request) {
	b.Helper()
	err := b.store.View(b.Context(), func(tx approvals.Tx) error {
		heads, err := tx.RequestsOfRun(ws, run)
		if err != nil {
			return err
		}
		var ids []approvals.RequestID
		for _, h := range heads {
			ids = append(ids, h.ID)
		}
		all, err = tx.Requests(ws, ids)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// pending lists the pending requests of a run.
func (b *bench) pending(run approvals.RunID) (all []*approvals.Request) {
	b.Helper()
	for _, r := range b.requests(run) {
		if r.Status == approvals.RequestPending {
			all = append(all, r)
		}
	}
	return all
}

// until waits for the condition.
func (b *bench) until(what string, ok func() bool) {
	b.Helper()
	pause := 500 * time.Microsecond
	if *onStore == "postgres" {
		pause *= 10 // who asks a server all the time holds it up
	}
	deadline := time.Now().Add(*patience)
	for !ok() {
		if time.Now().After(deadline) {
			b.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(pause)
	}
}

// reaches waits for the run to reach a status and returns it.
func (b *bench) reaches(id approvals.RunID, status approvals.RunStatus) *approvals.Run {
	b.Helper()
	b.until(fmt.Sprintf("run %s to be %s", id, status), func() bool { return b.run(id).Status == status })
	return b.run(id)
}

// question waits for the run to ask one question and returns it.
func (b *bench) question(id approvals.RunID) *approvals.Request {
	b.Helper()
	b.until("a pending request", func() bool { return len(b.pending(id)) > 0 })
	return b.pending(id)[0]
}

func (b *bench) decide(
	r *approvals.Request, by approvals.UserID, v approvals.Verdict, reason string,
) (*approvals.Request, error) {
	return b.service.Decide(b.Context(), approvals.Decision{
		Workspace: r.Workspace, Request: r.ID, By: by, Verdict: v, Reason: reason, Digest: r.Digest, Via: "button",
	})
}

// must decides and fails the test when that is refused.
func (b *bench) must(r *approvals.Request, by approvals.UserID, v approvals.Verdict, reason string) *approvals.Request {
	b.Helper()
	got, err := b.decide(r, by, v, reason)
	if err != nil {
		b.Fatal(err)
	}
	return got
}

// refused decides and fails the test when that is not refused as wanted.
func (b *bench) refused(r *approvals.Request, by approvals.UserID, v approvals.Verdict, want error) {
	b.Helper()
	if _, err := b.decide(r, by, v, "because"); !errors.Is(err, want) {
		b.Fatalf("%s by %s: have %v, want %v", v, by, err, want)
	}
}

// seal links what was appended into the trail's chains, as the workers of a shared store do after a while.
func (b *bench) seal() {
	b.Helper()
	if err := approvals.SealNow(b.Context(), b.store); err != nil {
		b.Fatal(err)
	}
}

// trail returns the actions of the audit trail, in order, and checks the chain.
func (b *bench) trail() (all []approvals.AuditAction) {
	b.Helper()
	if _, err := b.service.VerifyAudit(b.Context()); err != nil {
		b.Fatal(err)
	}
	err := approvals.ExportAudit(b.Context(), b.store, "", func(e *approvals.AuditEntry) error {
		all = append(all, e.Action)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// count returns how often the action is in the trail.
func (b *bench) count(action approvals.AuditAction) (n int) {
	b.Helper()
	for _, a := range b.trail() {
		if a == action {
			n++
		}
	}
	return n
}

// fact returns one fact of an audit entry.
func fact(e *approvals.AuditEntry, name string) string {
	var facts map[string]any
	if len(e.Data) == 0 || json.Unmarshal(e.Data, &facts) != nil {
		return ""
	}
	return fmt.Sprint(facts[name])
}
