package app_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
	"countersign/store"
	"countersign/store/seal"
)

// The people, the place, and the secrets that must never be seen.
const (
	ann     = "U0ANN"  // asks
	ben     = "U0BEN"  // may decide
	cleo    = "U0CLEO" // may decide
	gus     = "U0GUS"  // a guest
	general = "C0GENERAL"

	canaryToken  = "canary-token-5b2e"  // of the world outside
	canaryModel  = "sk-canary-8c11"     // OPENAI_API_KEY
	canaryBot    = "xoxb-canary-1f70"   // SLACK_BOT_TOKEN
	canaryApp    = "xapp-canary-77d3"   // SLACK_APP_TOKEN
	canarySigned = "canary-signing-902" // SLACK_SIGNING_SECRET
	canaryStore  = "canary-store-4d66"  // in COUNTERSIGN_STORE
)

var canaries = []string{canaryToken, canaryModel, canaryBot, canaryApp, canarySigned, canaryStore}

// patience bounds every wait; passing tests need a fraction of it.
const patience = time.Minute

// agentsYAML is the agents file of the tests; %s is the default policy.
const agentsYAML = `version: 1
default_agent: ops
agents:
  ops:
    instructions: You pay.
    model: gpt-5.2
    tools:
      - type: http
        name: pay
        description: Pays an amount.
        parameters:
          type: object
          required: [amount]
          additionalProperties: false
          properties: { amount: { type: number }, to: { type: string } }
        method: POST
        url: ${EFFECTS_URL}/pay
        headers: { Authorization: "Bearer ${EFFECTS_TOKEN}" }
        needs_approval: args.amount > 1
      - { type: function, name: current_time }
%s`

const anybody = "default_policy: { approvers: { channel_members: true } }\n"

// settings are what a test changes about its world.
type settings struct {
	slack  slackdev.Config
	policy string // anybody when empty
	http   bool   // HTTP mode
	env    []string
	faults []openaidev.Fault
	rules  []openaidev.Rule // before the others
	mcp    []openaidev.MCPServer
	pace   time.Duration // between the events of a model's stream
	// hazards has the model, whenever it pays, also call a tool that no policy allows, and has a secret argument.
	hazards bool
	// postgres has the world in a database whatever the flag says.
	postgres bool
}

// openStore opens the store as the program does.
func (w *world) openStore() approvals.Store {
	w.t.Helper()
	return w.openAt(cmp.Or(w.store, "bolt:"+filepath.Join(w.dir, "countersign.db")), false)
}

// openAt opens a store with the keys of the program.
func (w *world) openAt(at string, readOnly bool) approvals.Store {
	w.t.Helper()
	c := store.Config{ReadOnly: readOnly}
	for _, variable := range w.extra {
		if keys, ok := strings.CutPrefix(variable, keysVariable("")); ok {
			var err error
			if c.Keys, err = seal.Parse(keys); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	st, err := store.Open(w.ctx, at, c)
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// openFile opens the store in the file of the world, wherever the world's own is.
func (w *world) openFile() approvals.Store {
	w.t.Helper()
	st, err := store.Open(w.ctx, "bolt:"+filepath.Join(w.dir, "countersign.db"), store.Config{})
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

// world is everything around the program.
type world struct {
	t       *testing.T
	ctx     context.Context
	dir     string
	slack   *slackdev.Workspace
	model   *openaidev.Server
	effects *effects
	listen  string
	store   string // COUNTERSIGN_STORE; empty: the file in dir
	extra   []string
	outputs []func() string

	secrets   []string // must be nowhere
	hidden    []string // values of secret arguments
	forbidden []string // tools that no policy allows

	mu      sync.Mutex
	noticed noticed
}

func newWorld(t *testing.T, s settings) *world {
	t.Helper()
	binary(t) // building takes its time; the clock starts afterwards
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, dir: t.TempDir(), effects: newEffects(t), listen: "127.0.0.1:0", extra: s.env,
		secrets: canaries}
	if *onStore == "postgres" || s.postgres {
		w.store = databaseURL(t)
	}
	c := s.slack
	c.BotToken, c.AppToken, c.SigningSecret = canaryBot, canaryApp, canarySigned
	if c.RetryAfter == nil {
		c.RetryAfter = []time.Duration{0, 300 * time.Millisecond, time.Second}
	}
	if s.http {
		w.listen = freeAddress(t)
		c.Mode = slackdev.ModeHTTP
		base := "http://" + w.listen + "/slack/"
		c.RequestURL = slackdev.RequestURLs{Events: base + "events", Interactions: base + "interactions",
			Commands: base + "commands"}
	}
	if s.policy == "" {
		s.policy = anybody
	}
	agents := agentsYAML
	if s.hazards {
		agents = w.hazards(&s)
	}
	var err error
	if w.slack, err = slackdev.Start(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.slack.Close() })
	w.model, err = openaidev.Start(openaidev.Config{Script: openaidev.Script{Rules: append(s.rules, rules()...),
		Faults: s.faults, MCP: s.mcp}, Pace: s.pace, APIKey: canaryModel})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.model.Close() })
	w.write("countersign.yaml", fmt.Sprintf(agents, s.policy))
	t.Cleanup(w.noSecrets)
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// env is the environment of the program.
func (w *world) env(more ...string) []string {
	mode := "socket"
	if w.slack.Config().Mode == slackdev.ModeHTTP {
		mode = "http"
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "TMPDIR=" + w.dir,
		"SLACK_BOT_TOKEN=" + canaryBot, "SLACK_APP_TOKEN=" + canaryApp, "SLACK_SIGNING_SECRET=" + canarySigned,
		"SLACK_API_URL=" + w.slack.APIURL(), "OPENAI_API_KEY=" + canaryModel, "OPENAI_BASE_URL=" + w.model.URL(),
		"COUNTERSIGN_LISTEN=" + w.listen, "COUNTERSIGN_SLACK_MODE=" + mode, "COUNTERSIGN_LOG_LEVEL=debug",
		"EFFECTS_URL=" + w.effects.server.URL, "EFFECTS_TOKEN=" + canaryToken, "GORACE=halt_on_error=1",
	}
	if w.store != "" {
		env = append(env, "COUNTERSIGN_STORE="+w.store)
	}
	return append(append(env, w.extra...), more...)
}

// spawn starts the program without waiting for anything.
func (w *world) spawn(path string, env []string, args ...string) *process {
	p := spawn(w.t, path, w.dir, env, args...)
	w.outputs = append(w.outputs, p.out.String)
	return p
}

// start starts the bot and waits until it hears Slack.
func (w *world) start(more ...string) *process {
	w.t.Helper()
	p := w.spawn(binary(w.t), w.env(more...), "run")
	ready := "msg=ready"
	if slices.Contains(more, "COUNTERSIGN_LOG_FORMAT=json") {
		ready = `"msg":"ready"`
	}
	p.says(ready)
	return p
}

// run runs a command to its end and returns what it printed and its exit code. One that does not end fails the test.
func (w *world) run(args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, cli(w.t), args...)
	cmd.Dir, cmd.Env = w.dir, w.env()
	var out, complaint output
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	w.outputs = append(w.outputs, out.String, complaint.String)
	if w.ctx.Err() != nil {
		w.t.Fatalf("%q does not end:\n%s%s", args, out.String(), complaint.String())
	}
	return out.String(), complaint.String(), cmd.ProcessState.ExitCode()
}

// noSecrets searches everything that was printed, posted or stored for the canaries.
func (w *world) noSecrets() {
	told, held := w.places()
	seen := maps.Clone(told)
	maps.Copy(seen, held)
	for where, text := range seen {
		for _, canary := range canaries {
			if strings.Contains(text, canary) {
				w.t.Errorf("%s holds the secret %q", where, canary)
			}
		}
	}
	for where, text := range told {
		if strings.Contains(text, "goroutine ") && strings.Contains(where, "output") {
			w.t.Errorf("%s holds a stack:\n%s", where, text)
		}
	}
}

// mention posts a mention of ann and returns its thread.
func (w *world) mention(text string) string {
	w.t.Helper()
	return w.mentionBy(ann, text)
}

func (w *world) mentionBy(user, text string) string {
	w.t.Helper()
	ts, err := w.slack.Post(w.ctx, user, general, "<@"+w.slack.Config().App.BotUserID+"> "+text, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return ts
}

// until waits for a condition on the workspace.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	if err := w.slack.WaitFor(ctx, cond); err != nil {
		w.t.Fatalf("%s: %v\n%s", what, err, w.transcript())
	}
}

func (w *world) transcript() string {
	var b strings.Builder
	for _, m := range w.slack.Messages(general) {
		fmt.Fprintf(&b, "%s %s: %s\n", m.TS, m.User, m.Shown())
	}
	return b.String()
}

func isCard(m slackdev.Message) bool {
	return m.Metadata != nil && m.Metadata.EventType == "countersign_approval"
}

// cards are the thread's cards.
func (w *world) cards(thread string) []slackdev.Message {
	return slices.DeleteFunc(w.slack.Thread(general, thread), func(m slackdev.Message) bool { return !isCard(m) })
}

// card waits until the thread has n cards and returns the last.
func (w *world) card(thread string, n int) slackdev.Message {
	w.t.Helper()
	w.until(fmt.Sprintf("%d cards", n), func() bool { return len(w.cards(thread)) >= n })
	cards := w.cards(thread)
	if len(cards) != n {
		w.t.Fatalf("%d cards, want %d", len(cards), n)
	}
	return cards[n-1]
}

// said are the bot's messages in the thread that are no cards.
func (w *world) said(thread string) []string {
	var texts []string
	for _, m := range w.slack.Thread(general, thread) {
		if m.User == w.slack.Config().App.BotUserID && !isCard(m) {
			texts = append(texts, m.Shown())
		}
	}
	return texts
}

// answer waits for a message of the bot that holds the text.
func (w *world) answer(thread, text string) {
	w.t.Helper()
	w.until(fmt.Sprintf("an answer with %q", text), func() bool {
		return slices.ContainsFunc(w.said(thread), func(s string) bool { return strings.Contains(s, text) })
	})
}

// click presses the button, or the line of the menu, that stands for the action.
func (w *world) click(user string, card slackdev.Message, action string) error {
	c, ok := card.Press(user, action)
	if !ok {
		return fmt.Errorf("%w: %s", slackdev.ErrNoElement, action)
	}
	w.decider(user)
	if err := w.slack.Click(w.ctx, c); err != nil {
		return err
	}
	verdict := approvals.Verdict(action)
	if isCard(card) && (verdict == approvals.Approve || verdict == approvals.Reject) {
		w.taken(user, requestOf(card), verdict)
	}
	return nil
}

// send submits the window that an action opens, as it opens.
func (w *world) send(user, callback string) {
	w.t.Helper()
	w.until("the window "+callback, func() bool {
		views := w.slack.Views(user)
		return len(views) > 0 && views[len(views)-1].CallbackID == callback
	})
	if answer, err := w.slack.Submit(w.ctx, user, "", nil); err != nil || answer["response_action"] == "errors" {
		w.t.Fatalf("%v, %v", answer, err)
	}
}

func (w *world) mustClick(user string, card slackdev.Message, action string) {
	w.t.Helper()
	if err := w.click(user, card, action); err != nil {
		w.t.Fatal(err)
	}
}

// clickAgain clicks as people do who are told to try again.
func (w *world) clickAgain(user string, card slackdev.Message, action string) {
	w.t.Helper()
	err := w.click(user, card, action)
	for ; errors.Is(err, slackdev.ErrTrouble); err = w.click(user, card, action) {
		w.until("a connection", func() bool { return w.slack.Connections() > 0 })
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// settled waits until the card shows the word and nothing to decide with.
func (w *world) settled(card slackdev.Message, word string) {
	w.t.Helper()
	w.until("the card to say "+word, func() bool {
		m, _ := w.slack.Message(general, card.TS)
		return strings.Contains(m.Shown(), word) && !decidable(m)
	})
}

// decidable reports whether a message has a button that decides.
func decidable(m slackdev.Message) bool {
	return slices.ContainsFunc(m.Actions(), func(action string) bool {
		switch action {
		case "approve", "reject", "always_approve", "always_reject", "reject_with_reason",
			"mark_done", "retry", "give_up", "provide_result", "provide_input", "edit_arguments":
			return true
		}
		return false
	})
}

// outputs are the outputs that the model was sent, by call id, from the last request.
func (w *world) lastOutputs() map[string]string {
	requests := w.model.Requests()
	if len(requests) == 0 {
		return nil
	}
	return requests[len(requests)-1].Outputs()
}

// onlyEffect fails the test unless exactly this one call reached the world outside.
func (w *world) onlyEffect(body string) {
	w.t.Helper()
	calls := w.effects.all()
	if len(calls) != 1 || calls[0].body != body || calls[0].key == "" ||
		calls[0].authorization != "Bearer "+canaryToken {
		w.t.Errorf("effects: %d calls with %q, want one with %q", len(calls), bodies(calls), body)
	}
}

func bodies(calls []effect) []string {
	var all []string
	for _, c := range calls {
		all = append(all, c.body)
	}
	return all
}

func (w *world) noEffect() {
	w.t.Helper()
	if calls := w.effects.all(); len(calls) > 0 {
		w.t.Errorf("something has run: %q", bodies(calls))
	}
}

// verified fails the test unless the audit trail is in order.
func (w *world) verified() {
	w.t.Helper()
	if out, complaint, code := w.run("audit", "verify"); code != 0 || !strings.HasPrefix(out, "audit: ok") {
		w.t.Errorf("audit verify: %d %s%s", code, out, complaint)
	}
}
