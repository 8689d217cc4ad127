package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/scripted"
	"countersign/approvals"
	"countersign/internal/slackdev"
)

// canaries are what must never leave: values of a secret argument as the model wrote it and as somebody changed it, and
// what the process is configured with.
func (w *world) canaries() map[string]string {
	return map[string]string{
		"secret argument": "canary-first-4711", "secret argument, typed": "canary-typed-0815",
		"secret argument, filled in": "canary-filled-2342",
		"bot token":                  w.slack.Config().BotToken, "app token": w.slack.Config().AppToken,
		"signing secret": w.slack.Config().SigningSecret,
	}
}

// wireFirst are the arguments that the model writes.
const wireFirst = `{"amount":5,"pin":"canary-first-4711","to":"acme"}`

// wireTool has a secret argument, and lets it out wherever it may say something of the call.
func wireTool(b *bank) agent.Tool {
	tool := b.tool()
	tool.Name, tool.Secret = "wire", []string{"pin"}
	tool.Parameters = json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number"},
		"pin":{"type":"string"},"to":{"type":"string"},"memo":{"type":"string"}},"required":["amount"]}`)
	tool.Because = func(_ context.Context, call *agent.ToolCall) string { return `pin != "" and amount > 1` }
	tool.Explain = func(call *agent.ToolCall) []string { return []string{"wires " + string(call.Arguments)} }
	tool.Headline = func(call *agent.ToolCall) string { return "Wire " + string(call.Arguments) }
	return tool
}

// TestSecretsNeverLeave goes over every surface of calls with a secret argument: cards, their copies, details, forms
// and their errors, asking back, lists, history, grants, the Home tab, edited and completed calls, precedents. Neither
// a request to Slack nor an acknowledgement, a log line, a span or an export holds a value; what people type is where
// they typed.
func TestSecretsNeverLeave(t *testing.T) {
	t.Parallel()
	b := &bank{}
	tool := wireTool(b)
	fill := tool
	fill.Name, fill.Fields = "complete", []string{"pin"}
	const first = wireFirst
	policy := demands(func(_ *approvals.Request, q *approvals.Requirement) {
		q.Always = []approvals.Scope{approvals.ScopeRun, approvals.ScopeThread}
		q.Because = `pin == "canary" and to == "acme"`
		q.Notify = approvals.Notify{Named: approvals.NamingDM, Channel: "C0APPROVE"}
	})
	spans := newTraced()
	w := startWorld(t, &world{policy: policy, tools: []agent.Tool{tool, fill}, spans: spans, tracer: spans.tracer(),
		script: script{
			scripted.Calls(scripted.Call("call_1", "wire", first)), scripted.Say("Wired."),
			scripted.Calls(scripted.Call("call_2", "wire", first)), scripted.Say("Wired again."),
			scripted.Calls(scripted.Call("call_3", "complete", `{"amount":7,"to":"acme"}`)), scripted.Say("Completed."),
		}})
	w.slack.SetChannel(slackdev.Channel{
		ID: "C0APPROVE", Name: "approvals", BotMember: true, Members: []string{"U0CLEO", "U0BEN"},
	})
	thread := w.mention("U0ANN", "wire it with canary-first-4711", "")
	card := w.card(thread, 1)
	for _, form := range []string{"reject_with_reason", "always_approve", "always_reject", "cancel_run"} {
		if err := w.slack.CloseView(w.ctx(), "U0BEN", w.opened("U0BEN", card, form).ID, true); err != nil {
			t.Fatal(err)
		}
	}
	w.opened("U0BEN", card, "edit_arguments")
	if answer := w.submits("U0BEN", "edit_arguments", map[string]any{"memo": "", "amount": "5"}); answer == nil {
		t.Error("an edit that changes nothing was taken")
	}
	if err := w.slack.CloseView(w.ctx(), "U0BEN", w.modalOf("U0BEN", "edit_arguments").ID, true); err != nil {
		t.Fatal(err)
	}
	if err := w.click("U0BEN", card, "show_details"); err != nil {
		t.Fatal(err)
	}
	if err := w.clickIn("U0BEN", w.modalOf("U0BEN", viewDetails), "ask_back"); err != nil {
		t.Fatal(err)
	}
	w.submits("U0BEN", "ask_back", map[string]any{"Your question": "Is it due?"})
	w.shown(card, "“Is it due?”")
	w.mention("U0ANN", "It is.", thread)
	w.shown(card, "“It is.”")
	for _, v := range w.slack.Views("U0BEN") {
		_ = w.slack.CloseView(w.ctx(), "U0BEN", v.ID, true) // some are closed with those above them
	}
	w.opened("U0BEN", card, "edit_arguments")
	w.submits("U0BEN", "edit_arguments", map[string]any{"pin": "canary-typed-0815", "amount": "6"})
	again := w.card(thread, 2)
	for _, list := range []string{"mine", "all", "history", "grants"} {
		w.command("U0CLEO", list)
	}
	w.home("U0CLEO")
	if err := w.click("U0CLEO", again, "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Wired.")
	w.mention("U0ANN", "once more", thread)
	third := w.card(thread, 3)
	if err := w.click("U0CLEO", third, "show_details"); err != nil { // compared with the edited call
		t.Fatal(err)
	}
	if shown := w.modalOf("U0CLEO", viewDetails).Shown(); !strings.Contains(shown, "Last approved call") {
		t.Errorf("the details compare with nothing: %s", shown)
	}
	w.opened("U0CLEO", third, "always_approve")
	w.submits("U0CLEO", "always_approve", map[string]any{
		"How far": "thread", "Only while these stay the same": []string{"to"},
	})
	w.said(thread, "Wired again.")
	w.command("U0CLEO", "grants")
	w.mention("U0ANN", "and complete it", thread)
	w.opened("U0BEN", w.card(thread, 4), "provide_input")
	w.submits("U0BEN", "provide_input", map[string]any{"pin": "canary-filled-2342"})
	if err := w.click("U0CLEO", w.card(thread, 5), "approve"); err != nil {
		t.Fatal(err)
	}
	w.said(thread, "Completed.")
	w.command("U0CLEO", "history all")
	w.home("U0BEN")
	if got := b.payments(); len(got) != 3 || !strings.Contains(strings.Join(got, ""), "canary-filled-2342") {
		t.Fatalf("the control: the tool itself gets the values, and got %v", got)
	}
	w.holdsNone()
}

// home opens somebody's Home tab and waits for it.
func (w *world) home(user string) {
	w.t.Helper()
	if err := w.slack.OpenHome(w.ctx(), user); err != nil {
		w.t.Fatal(err)
	}
	w.eventually("a Home tab", func() bool { return w.slack.HomeView(user) != nil })
}

// holdsNone fails when something that leaves the process holds one of the canaries. Control: put into any of these
// places, each of them is found.
func (w *world) holdsNone() {
	w.t.Helper()
	places := w.leaving()
	for _, found := range w.leaks(places) {
		w.t.Error(found)
	}
	for place, text := range places {
		for what, canary := range w.canaries() {
			planted := map[string]string{place: text[:len(text)/2] + canary + text[len(text)/2:]}
			if canary != "" && len(w.leaks(planted)) == 0 {
				w.t.Errorf("control: the %s in %s was not found", what, place)
			}
		}
	}
}

// leaks says which of the places hold a canary.
func (w *world) leaks(places map[string]string) (found []string) {
	for place, text := range places {
		for what, canary := range w.canaries() {
			if canary != "" && strings.Contains(text, canary) {
				found = append(found, fmt.Sprintf("%s holds the %s: %.300s", place, what,
					text[max(0, strings.Index(text, canary)-150):]))
			}
		}
	}
	return found
}

// leaving is all that leaves the process.
func (w *world) leaving() map[string]string {
	w.t.Helper()
	places := map[string]string{"the log": w.logs.String()}
	for i, s := range w.spans.GetSpans() {
		places[fmt.Sprintf("span %d, %s", i, s.Name)] = fmt.Sprintf("%+v", s)
	}
	for i, c := range w.slack.Calls() {
		raw, err := json.Marshal(c.Args)
		if err != nil {
			w.t.Fatal(err)
		}
		places[fmt.Sprintf("request %d, %s", i, c.Method)] = string(raw)
	}
	for i, d := range w.slack.Deliveries() {
		places[fmt.Sprintf("acknowledgement %d of %s", i, d.Type)] = string(d.AckPayload)
	}
	var exported strings.Builder
	export := json.NewEncoder(&exported)
	err := approvals.ExportAudit(w.ctx(), w.store, testWorkspace, func(e *approvals.AuditEntry) error {
		return export.Encode(e)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	each := func(r *approvals.ExportedRequest) error { return export.Encode(r) }
	err = approvals.ExportRequests(w.ctx(), w.store, approvals.RequestExport{}, each)
	if err != nil {
		w.t.Fatal(err)
	}
	places["an export"] = exported.String()
	if len(places) < 40 || exported.Len() < 1000 {
		w.t.Fatalf("looked at %d places: too few to say anything", len(places))
	}
	return places
}

// TestSecretsNotInDigests: reminders, and the list that takes the place of many cards, hold no value either.
func TestSecretsNotInDigests(t *testing.T) {
	t.Parallel()
	policy := demands(func(_ *approvals.Request, q *approvals.Requirement) {
		q.Seats = approvals.Quorum(1, approvals.Approvers{Users: usersOf("U0DAN")})
		q.Notify = approvals.Notify{Named: approvals.NamingDM}
		q.RemindEvery = 500 * time.Millisecond
	})
	spans := newTraced()
	w := newOfficeOf(t, &world{policy: policy, tools: []agent.Tool{wireTool(&bank{})}, spans: spans,
		tracer: spans.tracer(),
		script: script{scripted.Calls(scripted.Call("call_1", "wire", wireFirst)), scripted.Say("Wired.")}})
	const all = 5
	for range all {
		w.mention("U0ANN", "wire it", "")
	}
	dm := w.slack.DM("U0DAN")
	w.eventually("a list of what waits", func() bool {
		return slices.ContainsFunc(w.slack.Messages(dm), func(m slackdev.Message) bool {
			return m.Metadata != nil && m.Metadata.EventType == listEvent && strings.Contains(m.Text, wordsWaitingForYou(all))
		})
	})
	w.eventually("a reminder", func() bool {
		return slices.ContainsFunc(w.slack.Messages("C0GENERAL"), func(m slackdev.Message) bool {
			return m.Metadata != nil && m.Metadata.EventType == noticeEvent && strings.Contains(m.Text, "waits for")
		})
	})
	w.holdsNone()
}
