package bot

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
	"countersign/store"
	"countersign/store/storetest"
)

// The two workspaces of a town. Their people and channels have the same ids.
const (
	one = "T0ONE"
	two = "T0TWO"
)

// town is two workspaces with the real service, worker, store and bots.
type town struct {
	t      *testing.T
	cloud  *slackdev.Cloud
	bank   *bank
	public string
	url    string // of the store
	policy approvals.Policy
	script func() agent.Model
	logs   *logs
	memory *storetest.Memory // nil: what the URL names
	turn   atomic.Int64
	other  *town // another process on the store: requests go to either in turn; nil: there is none

	handler atomic.Pointer[http.Handler]
	bots    *Workspaces
	engine  *approvals.Service
	store   approvals.Store
	stop    func()
}

// payingTool answers every mention with a call that has to be approved, and then with a sentence.
func payingTool() agent.Model {
	return scripted.New(pay("call_1"), scripted.Say("Acme has its money."))
}

func newTown(t *testing.T) *town {
	t.Helper()
	return newTownOn(t, nil)
}

func newTownOn(t *testing.T, memory *storetest.Memory) *town {
	t.Helper()
	k := &town{
		memory: memory,
		t:      t, bank: &bank{}, url: storeFor(t), policy: everybody{}, logs: &logs{},
		script: payingTool,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := k
		if k.other != nil && k.turn.Add(1)%2 == 0 {
			in = k.other
		}
		if h := in.handler.Load(); h != nil {
			(*h).ServeHTTP(w, r)
			return
		}
		http.Error(w, "the bot does not run", http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	k.public = server.URL
	workspace := func(id string) slackdev.Config {
		return slackdev.Config{
			Team: slackdev.Team{ID: id, Name: "The " + id + " company"}, Mode: slackdev.ModeHTTP,
			Scopes:     neededScopes(),
			RetryAfter: []time.Duration{0, 100 * time.Millisecond}, AckTimeout: *patience, TriggerLife: *patience,
		}
	}
	var err error
	k.cloud, err = slackdev.StartCloud(slackdev.CloudConfig{
		RedirectURLs: []string{k.public + PathOAuth}, Scopes: neededScopes(),
		Workspaces: []slackdev.Config{workspace(one), workspace(two)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.cloud.Close() })
	k.start()
	err = k.cloud.SetRequestURL(t.Context(), slackdev.RequestURLs{
		Events: k.public + PathEvents, Interactions: k.public + PathInteractions, Commands: k.public + PathCommands,
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *town) opened() (approvals.Store, error) {
	if k.memory != nil {
		return k.memory.Open(), nil
	}
	return store.Open(k.t.Context(), k.url, store.Config{})
}

// newTwinTown is a town that two processes serve.
func newTwinTown(t *testing.T) *town {
	t.Helper()
	k := newTownOn(t, storetest.NewMemory())
	k.other = &town{
		t: t, cloud: k.cloud, bank: k.bank, policy: k.policy, logs: k.logs, script: k.script, memory: k.memory,
		public: k.public,
	}
	k.other.start()
	return k
}

// start starts everything but Slack on the town's store.
func (k *town) start() {
	t := k.t
	t.Helper()
	store, err := k.opened()
	if err != nil {
		t.Fatal(err)
	}
	installations := approvals.NewInstallations(store, k.log())
	known, err := installations.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clients, err := NewClients(ClientConfig{APIURL: k.cloud.APIURL(), Logger: k.log()}, known)
	if err != nil {
		t.Fatal(err)
	}
	agents := oneAgent{&agent.Agent{Name: "ops", Model: k.script(), Tools: []agent.Tool{k.bank.tool()}}}
	k.engine, err = approvals.NewService(approvals.ServiceConfig{
		Store: store, Policy: k.policy, Directory: clients, Agents: agents,
		Requesters: approvals.Approvers{ChannelMembers: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	k.bots, err = NewWorkspaces(WorkspacesConfig{
		Clients: clients, Installations: installations, Known: known, Service: k.engine,
		SigningSecret: k.cloud.Workspace(one).Config().SigningSecret, DefaultAgent: "ops", Logger: k.log(),
		Alone: ofOneProcess(store),
		OAuth: OAuth{ClientID: "111.222", ClientSecret: "dev-client-secret", PublicURL: k.public},
	})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := approvals.NewWorker(approvals.WorkerConfig{
		Store: store, Agents: agents, Notifier: k.bots, Policy: k.policy, Directory: clients, Logger: k.log(),
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := k.bots.Handler()
	k.store = store
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- k.bots.Run(ctx) }()
	go func() { ended <- worker.Run(ctx) }()
	<-k.bots.Ready()
	k.handler.Store(&handler)
	k.stop = sync.OnceFunc(func() {
		k.handler.Store(nil)
		cancel()
		if err := errors.Join(<-ended, <-ended, store.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(k.stop)
}

func (k *town) log() *slog.Logger { return slog.New(slog.NewTextHandler(k.logs, nil)) }

func (k *town) restart() {
	k.t.Helper()
	k.stop()
	k.start()
}

// eventually waits until cond holds, which is looked at whenever something changes in either workspace.
func (k *town) eventually(what string, cond func() bool) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), *patience)
	defer cancel()
	changed := make(chan struct{}, 1)
	for _, id := range []string{one, two} {
		go k.cloud.Workspace(id).WaitFor(ctx, func() bool {
			select {
			case changed <- struct{}{}:
			default:
			}
			return false
		})
	}
	tick := time.NewTicker(20 * time.Millisecond) // for what is seen in the store alone
	defer tick.Stop()
	for !cond() {
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			k.t.Fatalf("not in time: %s\n%s", what, k.logs.String())
		}
	}
}

// browser is somebody's browser. It follows no redirects.
func (k *town) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		k.t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// get opens an address and returns the status, the page and where it sends the browser.
func (k *town) get(b *http.Client, address string) (status int, page, location string) {
	k.t.Helper()
	req, err := http.NewRequestWithContext(k.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	resp, err := b.Do(req)
	if err != nil {
		k.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		k.t.Fatal(err)
	}
	return resp.StatusCode, string(raw), resp.Header.Get("Location")
}

// allowed begins in the browser and agrees on Slack's page. It returns where Slack sends the browser.
func (k *town) allowed(b *http.Client, team string) string {
	k.t.Helper()
	status, _, slack := k.get(b, k.public+PathInstall)
	back, err := k.cloud.Allow(slack, team, "U0ANN")
	if status != http.StatusFound || err != nil {
		k.t.Fatalf("HTTP %d to %s: %v", status, slack, err)
	}
	return back
}

// install has Ann install the app in her workspace.
func (k *town) install(team string) {
	k.t.Helper()
	b := k.browser()
	status, page, _ := k.get(b, k.allowed(b, team))
	if status != http.StatusOK || !strings.Contains(page, "The app is installed in The "+team+" company") {
		k.t.Fatalf("HTTP %d: %s\n%s", status, page, k.logs.String())
	}
}

// mention has Ann ask for something.
func (k *town) mention(team string) (thread string) {
	k.t.Helper()
	ts, err := k.cloud.Workspace(team).Post(k.t.Context(), "U0ANN", "C0GENERAL", "<@U0BOT> pay acme", "")
	if err != nil {
		k.t.Fatal(err)
	}
	return ts
}

// card waits for the card in a thread.
func (k *town) card(team, thread string) (found slackdev.Message) {
	k.t.Helper()
	k.eventually("a card in "+team, func() bool {
		for _, m := range k.cloud.Workspace(team).Thread("C0GENERAL", thread) {
			if m.Metadata != nil && m.Metadata.EventType == cardEvent {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

func (k *town) click(team, user string, m slackdev.Message, act string) error {
	return k.cloud.Workspace(team).Click(k.t.Context(), slackdev.Click{
		User: user, Channel: m.Channel, TS: m.TS, ActionID: act,
	})
}

func (k *town) said(team, thread, words string) {
	k.t.Helper()
	k.eventually(words+" in "+team, func() bool {
		for _, m := range k.cloud.Workspace(team).Thread("C0GENERAL", thread) {
			if m.User == "U0BOT" && strings.Contains(m.Text, words) {
				return true
			}
		}
		return false
	})
}

// pending lists what waits in the workspace.
func (k *town) pending(team string) []*approvals.RequestHead {
	k.t.Helper()
	var page []*approvals.RequestHead
	err := k.store.View(k.t.Context(), func(tx approvals.Tx) (err error) {
		page, _, err = tx.QueryRequests(approvals.RequestQuery{
			Workspace: approvals.WorkspaceID(team), Status: approvals.RequestPending, Limit: 10,
		})
		return err
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return page
}

// trail lists the actions of the workspace's audit trail.
func (k *town) trail(team string) (actions []string) {
	k.t.Helper()
	ws := approvals.WorkspaceID(team)
	err := approvals.ExportAudit(k.t.Context(), k.store, ws, func(e *approvals.AuditEntry) error {
		actions = append(actions, string(e.Action)+" "+string(e.Data))
		return nil
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return actions
}

// TestTwoWorkspaces: equal ids in two workspaces are different people in different channels. Each is answered with its
// own token, also after a restart, and a click in one decides nothing in the other.
func TestTwoWorkspaces(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	k.install(one)
	k.install(two)
	first, second := k.mention(one), k.mention(two)
	a, b := k.card(one, first), k.card(two, second)
	k.restart()

	// Ben of the second workspace presses a button that is, letter for letter, the first one's.
	of := k.pending(one)[0].ID
	err := k.cloud.Workspace(two).ClickRaw(t.Context(), map[string]any{
		"type": "block_actions", "api_app_id": "A0DEV", "team": map[string]any{"id": two},
		"user": map[string]any{"id": "U0BEN"}, "trigger_id": "1.2.3",
		"container": map[string]any{"type": "message", "channel_id": a.Channel, "message_ts": a.TS},
		"channel":   map[string]any{"id": a.Channel},
		"actions": []any{map[string]any{
			"type": "button", "action_id": "approve", "value": string(of), "action_ts": "1.1", "block_id": "b",
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if left := k.pending(one); len(left) != 1 || len(left[0].Decisions) != 0 {
		t.Fatalf("somebody of another workspace has decided: %+v", left)
	}
	if err := k.click(one, "U0BEN", a, "approve"); err != nil {
		t.Fatal(err)
	}
	k.said(one, first, "Acme has its money.")
	if left := k.pending(two); len(left) != 1 || len(left[0].Decisions) != 0 || len(k.bank.payments()) != 1 {
		t.Errorf("after a click in one workspace: %+v waits in the other, payments %v", left, k.bank.payments())
	}
	if err := k.click(two, "U0BEN", b, "approve"); err != nil {
		t.Fatal(err)
	}
	k.said(two, second, "Acme has its money.")
	for _, team := range []string{one, two} {
		for _, m := range k.cloud.Workspace(team).Messages("C0GENERAL") {
			if m.User == "U0BOT" && m.ThreadTS != map[string]string{one: first, two: second}[team] {
				t.Errorf("%s got a message of the other: %s", team, m.Text)
			}
		}
	}
}

// TestNobodyOfAnotherWorkspaceDecides asks the service itself, with a policy that names a person by an id that two
// workspaces have.
func TestNobodyOfAnotherWorkspaceDecides(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	k.policy = namesBen{}
	k.restart()
	k.install(one)
	k.install(two)
	k.card(one, k.mention(one))
	r := k.pending(one)[0]
	d := approvals.Decision{
		ID: "dec_1", Workspace: one, Request: r.ID, By: approvals.NewUserID(two, "U0BEN"), Verdict: approvals.Approve,
		Digest: r.Digest, Via: "button",
	}
	if _, err := k.engine.Decide(t.Context(), d); !errors.Is(err, approvals.ErrInvalid) {
		t.Errorf("the same id of another workspace: %v", err)
	}
	d.Workspace, d.ID = two, "dec_2"
	if _, err := k.engine.Decide(t.Context(), d); !errors.Is(err, approvals.ErrNotFound) {
		t.Errorf("the same request in another workspace: %v", err)
	}
	d.Workspace, d.By, d.ID = one, approvals.NewUserID(one, "U0BEN"), "dec_3"
	if got, err := k.engine.Decide(t.Context(), d); err != nil || got.Status != approvals.RequestApproved {
		t.Errorf("the control, whom the policy names: %v", err)
	}
}

// namesBen lets Ben of the request's own workspace decide, as the agents file's ids are read.
type namesBen struct{}

func (namesBen) Requirement(
	ctx context.Context, r *approvals.Request, known approvals.PolicyFacts,
) (approvals.Requirement, error) {
	demand, err := everybody{}.Requirement(ctx, r, known)
	ben := approvals.NewUserID(r.Workspace, "U0BEN")
	demand.Seats = approvals.Quorum(1, approvals.Approvers{Users: []approvals.UserID{ben}})
	return demand, err
}

// TestUninstallOfOne: the workspace's runs stop and say so, nothing is tried for ever, the other one goes on; after a
// restart too. Installed again, what could not be shown is shown, with the new token.
func TestUninstallOfOne(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	k.install(one)
	k.install(two)
	first, second := k.mention(one), k.mention(two)
	k.card(one, first)
	b := k.card(two, second)
	old := k.cloud.Workspace(one).BotToken()
	k.cloud.Workspace(one).Uninstall()
	k.eventually("the run is stopped and its notices are given up", func() bool {
		trail := strings.Join(k.trail(one), "\n")
		return strings.Contains(trail, "installation.ended") && strings.Contains(trail, "run.cancelled") &&
			strings.Contains(trail, `notification.undeliverable {"kind":"notice"}`)
	})
	if got := k.pending(one); len(got) != 0 {
		t.Errorf("%d requests wait where nobody sees them", len(got))
	}
	absent := k.bots.Absent()
	if len(absent) != 1 || absent[0].Workspace != one ||
		absent[0].Why != "app_uninstalled" && absent[0].Why != "tokens_revoked" {
		t.Errorf("absent: %+v", absent)
	}
	if log := k.logs.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "workspace=T0ONE") {
		t.Errorf("the log does not say which workspace:\n%s", log)
	}
	k.restart()
	if absent := k.bots.Absent(); len(absent) != 1 || absent[0].Workspace != one {
		t.Errorf("after a restart: %+v", absent)
	}
	calls := len(k.cloud.Workspace(one).Calls())
	if err := k.click(two, "U0BEN", b, "approve"); err != nil {
		t.Fatal(err)
	}
	k.said(two, second, "Acme has its money.")
	if more := len(k.cloud.Workspace(one).Calls()) - calls; more != 0 {
		t.Errorf("%d calls with the token of an app that was removed", more)
	}
	k.install(one)
	if now := k.cloud.Workspace(one).BotToken(); now == old || len(k.bots.Absent()) != 0 {
		t.Errorf("installed again: %+v", k.bots.Absent())
	}
	k.said(one, first, "The run was stopped: the app was removed from the workspace")
	k.card(one, k.mention(one))
}

// TestLateRemovalIsOld: Slack repeats an event that was answered too late, and meanwhile the app was installed again.
func TestLateRemovalIsOld(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	k.install(one)
	w := k.cloud.Workspace(one)
	w.Uninstall()
	k.eventually("the app is gone", func() bool { return len(k.bots.Absent()) == 1 })
	k.eventually("both events are answered", func() bool {
		acked := 0
		for _, d := range w.Deliveries() {
			if !d.Acked.IsZero() {
				acked++
			}
		}
		return acked >= 2
	})
	k.install(one)
	before := len(w.Deliveries())
	for _, id := range append(w.EventIDs("app_uninstalled"), w.EventIDs("tokens_revoked")...) {
		if err := w.Redeliver(id); err != nil {
			t.Fatal(err)
		}
	}
	k.eventually("the old events are answered", func() bool {
		all := w.Deliveries()[before:]
		return len(all) == 2 && !all[0].Acked.IsZero() && !all[1].Acked.IsZero()
	})
	if absent := k.bots.Absent(); len(absent) != 0 {
		t.Errorf("an old event has ended the new installation: %+v", absent)
	}
	k.card(one, k.mention(one))
}

// lost removes the app from the workspace, and what Slack has to say of it is answered by something that is not the
// bot, and so is never said again.
func (k *town) lost(ws string) {
	nobody := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
	}))
	k.handler.Store(&nobody)
	w := k.cloud.Workspace(ws)
	w.Uninstall()
	k.eventually("the events are answered", func() bool {
		said := 0
		for _, d := range w.Deliveries() { // what else happened there may be told now too
			if (d.Type == "app_uninstalled" || d.Type == "tokens_revoked") && !d.Acked.IsZero() {
				said++
			}
		}
		return said == 2
	})
}

// TestRemovalThatNobodyTold: the bot was down when the app was removed, and Slack has given up telling it.
func TestRemovalThatNobodyTold(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{false, true} {
		k := newTown(t)
		k.install(one)
		thread := k.mention(one)
		card := k.card(one, thread)
		if running { // and it finds out when it has something to show
			k.lost(one)
			r := k.pending(one)[0]
			if _, err := k.engine.CancelRun(t.Context(), one, r.Run, r.Requester, ""); err != nil {
				t.Fatal(err)
			}
		} else {
			k.stop()
			k.lost(one)
			k.start()
		}
		k.eventually("the bot finds out", func() bool { return len(k.bots.Absent()) == 1 })
		k.eventually("nothing waits", func() bool { return len(k.pending(one)) == 0 })
		if why := k.bots.Absent()[0].Why; why != "account_inactive" {
			t.Errorf("%s: %s", card.TS, why)
		}
	}
}

// TestDeliveriesOfUnknownWorkspaces: a workspace that Slack knows, and this store does not.
func TestDeliveriesOfUnknownWorkspaces(t *testing.T) {
	t.Parallel()
	k := newTown(t)
	k.install(one)
	w := k.cloud.Workspace(two)
	if _, err := k.cloud.Allow(k.slackPage(), two, "U0ANN"); err != nil {
		t.Fatal(err)
	}
	form := url.Values{
		"command": {"/approvals"}, "team_id": {two}, "user_id": {"U0BEN"}, "channel_id": {"C0GENERAL"},
		"api_app_id": {"A0DEV"},
	}.Encode()
	status, answer := k.send(PathCommands, form, w.Sign([]byte(form), time.Now()))
	if status != http.StatusOK || !strings.Contains(answer, "not installed in this workspace") ||
		!strings.Contains(answer, PathInstall) {
		t.Errorf("a command: HTTP %d %s", status, answer)
	}
	form = url.Values{"payload": {`{"type":"view_submission","api_app_id":"A0DEV","team":{"id":"` + two +
		`"},"user":{"id":"U0BEN"},"view":{"id":"V1","callback_id":"x"}}`}}.Encode()
	status, answer = k.send(PathInteractions, form, w.Sign([]byte(form), time.Now()))
	if status != http.StatusOK || !strings.Contains(answer, `"response_action":"update"`) ||
		!strings.Contains(answer, "Nothing was recorded") {
		t.Errorf("a form: HTTP %d %s", status, answer)
	}
	event := strings.NewReplacer("T0DEV", two).Replace(mentionEvent)
	if status, _ = k.send(PathEvents, event, w.Sign([]byte(event), time.Now())); status != http.StatusOK {
		t.Errorf("an event: HTTP %d", status)
	}
	log := k.logs.String()
	if n := strings.Count(log, "a delivery is of a workspace in which the app is not installed"); n != 3 {
		t.Errorf("%d lines in the log:\n%s", n, log)
	}
	if len(k.pending(two)) != 0 {
		t.Error("a run was started")
	}
}

// slackPage is where the browser of somebody who begins is sent.
func (k *town) slackPage() string {
	_, _, to := k.get(k.browser(), k.public+PathInstall)
	return to
}

func (k *town) send(path, body string, h http.Header) (int, string) {
	k.t.Helper()
	req, err := http.NewRequestWithContext(k.t.Context(), http.MethodPost, k.public+path, strings.NewReader(body))
	if err != nil {
		k.t.Fatal(err)
	}
	for name, values := range h {
		req.Header[name] = values
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		k.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw)
}
