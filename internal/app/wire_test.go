package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/openaidev"
)

// hostedYAML has an MCP server that the provider calls.
const hostedYAML = `version: 1
agents:
  ops:
    instructions: You look things up.
    model: gpt-5.2
    tools:
      - type: hosted_mcp
        server_label: wiki
        server_url: https://wiki.example/mcp
        headers: { Authorization: "Bearer ${WIKI_TOKEN}" }
        require_approval: { never: { tool_names: [ask] } }
`

// TestHostedMCP answers what the provider asks for a server that it calls itself. Its credentials go to the provider
// and nowhere else.
func TestHostedMCP(t *testing.T) {
	t.Parallel()
	const token = "wiki-token-9f13"
	w := newWorld(t, settings{
		env: []string{"WIKI_TOKEN=" + token},
		mcp: []openaidev.MCPServer{{Label: "wiki", Tools: []openaidev.MCPTool{{Name: "ask", Output: "It is so."},
			{Name: "write", Output: "Written."}, {Name: "publish", Error: "no such page"}}}},
		rules: []openaidev.Rule{
			{User: "wiki (ask|write|publish)", Round: 0, Func: func(turn *openaidev.Turn) openaidev.Reply {
				return openaidev.Reply{Calls: []openaidev.Call{{Kind: openaidev.CallMCP, Server: "wiki",
					Name: turn.Match[1], Arguments: `{"page":"home"}`}}}
			}},
		},
	})
	w.write("countersign.yaml", hostedYAML+anybody)
	w.start()

	thread := w.mention("wiki write")
	card := w.card(thread, 1)
	if shown := card.Shown(); !strings.Contains(shown, "write") || !strings.Contains(shown, "page  home") ||
		!strings.Contains(shown, "https://wiki.example/mcp") {
		t.Errorf("the card does not show the call:\n%s", shown)
	}
	w.mustClick(ben, card, "approve")
	w.answer(thread, "Written.")
	w.settled(card, "ran")

	thread = w.mention("wiki publish")
	card = w.card(thread, 1)
	w.mustClick(ben, card, "approve")
	w.answer(thread, "no such page")
	w.settled(card, "failed")

	thread = w.mention("wiki write once more")
	w.mustClick(ben, w.card(thread, 1), "reject")
	w.answer(thread, "denied")

	sent := 0
	for _, r := range w.model.Requests() {
		sent += strings.Count(string(r.Body), `"headers":{"Authorization":"Bearer `+token+`"}`)
	}
	if sent != len(w.model.Requests()) {
		t.Errorf("the header is in %d of %d requests", sent, len(w.model.Requests()))
	}
	calls, err := json.Marshal(w.slack.Calls())
	if err != nil {
		t.Fatal(err)
	}
	store := w.stored()
	if !strings.Contains(store, "wiki write once more") {
		t.Error("the control: what people wrote is not found in the store")
	}
	for where, text := range map[string]string{"Slack": string(calls), "the store": store,
		"the output": w.outputs[0]()} {
		if strings.Contains(text, token) {
			t.Errorf("the credential is in %s", where)
		}
	}
	if !strings.Contains(string(store), "https://wiki.example/mcp") {
		t.Error("the store does not hold what a decision is bound to: the search above proves nothing")
	}
	w.verified()
}

// TestHostedMCPCutOff kills the program while the provider carries out a call that was approved. People are asked what
// became of it, and the provider is not told again that it is approved.
func TestHostedMCPCutOff(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}, 1), make(chan struct{})
	w := newWorld(t, settings{
		env: []string{"WIKI_TOKEN=x"},
		mcp: []openaidev.MCPServer{{Label: "wiki", Tools: []openaidev.MCPTool{{Name: "write", Output: "Written."}}}},
		rules: []openaidev.Rule{
			{User: "wiki write", Round: 0, Reply: openaidev.Reply{Calls: []openaidev.Call{{Kind: openaidev.CallMCP,
				Server: "wiki", Name: "write", Arguments: `{"page":"home"}`}}}},
			{User: "wiki write", Round: 1, Func: func(*openaidev.Turn) openaidev.Reply {
				select {
				case begun <- struct{}{}:
					<-release
				default:
				}
				return openaidev.Reply{Text: "answer: that is all."}
			}},
		},
	})
	w.write("countersign.yaml", hostedYAML+anybody)
	bot := w.start()
	thread := w.mention("wiki write")
	card := w.card(thread, 1)
	w.mustClick(ben, card, "approve")
	<-begun
	w.settled(card, "running")
	bot.kill()
	close(release)
	next := w.start()
	question := w.card(thread, 2)
	shows(t, question, "Did it happen?", "It was begun, and no result came back. It may have happened.")
	w.settled(card, "unknown whether it ran")
	w.decides(ben, question, "mark-done", "the page is there")
	w.answer(thread, "that is all")
	told := 0
	for _, r := range w.model.Requests() {
		told += strings.Count(string(r.Body), `"approve":true`)
	}
	last := string(w.model.Requests()[len(w.model.Requests())-1].Body)
	if told != 1 || !strings.Contains(last, "carried out already") || !strings.Contains(last, "the page is there") {
		t.Errorf("the provider was told %d times that the call is approved; last:\n%s", told, last)
	}
	w.judged(next)
}

// TestHostedMCPNever lets the provider call what the file says.
func TestHostedMCPNever(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{
		env: []string{"WIKI_TOKEN=x"},
		mcp: []openaidev.MCPServer{{Label: "wiki", Tools: []openaidev.MCPTool{{Name: "ask", Output: "It is so."}}}},
		rules: []openaidev.Rule{{User: "wiki ask", Round: 0, Reply: openaidev.Reply{
			Text: "I have asked.", Calls: []openaidev.Call{{Kind: openaidev.CallMCP, Server: "wiki", Name: "ask",
				Arguments: `{}`}},
		}}},
	})
	w.write("countersign.yaml", hostedYAML+anybody)
	w.start()
	thread := w.mention("wiki ask")
	w.answer(thread, "I have asked.")
	if n := len(w.cards(thread)); n != 0 {
		t.Errorf("%d cards", n)
	}
}

// TestNativeForms runs commands and patches in the provider's own forms.
func TestNativeForms(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	w := newWorld(t, settings{
		env: []string{"WORK=" + work},
		rules: []openaidev.Rule{
			{User: "count", Round: 0, Reply: openaidev.Reply{Calls: []openaidev.Call{{Kind: openaidev.CallShell,
				Arguments: `{"commands":["echo one > a","cat a"]}`}}}},
			{User: "note", Round: 0, Reply: openaidev.Reply{Calls: []openaidev.Call{{
				Kind: openaidev.CallApplyPatch, Arguments: `{"type":"create_file","path":"note.md","diff":"+Noted.\n"}`,
			}}}},
		},
	})
	w.write("countersign.yaml", `version: 1
agents:
  ops:
    instructions: You run operations.
    model: gpt-5.2
    tools:
      - { type: shell, workdir: "${WORK}", native: true }
      - { type: apply_patch, root: "${WORK}", native: true }
`+anybody)
	w.start()
	thread := w.mention("count")
	card := w.card(thread, 1)
	if entries, err := os.ReadDir(work); err != nil || len(entries) != 0 {
		t.Errorf("something ran without a decision: %v, %v", entries, err)
	}
	w.mustClick(ben, card, "approve")
	w.answer(thread, `"stdout":"one\n"`)

	thread = w.mention("note")
	w.mustClick(ben, w.card(thread, 1), "approve")
	w.answer(thread, "answer:")
	if text, err := os.ReadFile(filepath.Join(work, "note.md")); err != nil || string(text) != "Noted." {
		t.Errorf("note: %q, %v", text, err)
	}
	w.verified()
}

// TestChatCompletions takes an agent with the other API from the mention to the answer.
func TestChatCompletions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	file, err := os.ReadFile(filepath.Join(w.dir, "countersign.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("countersign.yaml", strings.Replace(string(file), "model: gpt-5.2",
		"model: gpt-5.2\n    api: chat_completions", 1))
	w.start()
	thread := w.mention("pay 7")
	card := w.card(thread, 1)
	w.noEffect()
	w.mustClick(ben, card, "approve")
	w.answer(thread, "R-1")
	w.onlyEffect(`{"amount":7,"to":"acct"}`)
	for _, r := range w.model.Requests() {
		if r.Path != "/v1/chat/completions" {
			t.Errorf("a request went to %s", r.Path)
		}
	}
}

// TestRecordOnly runs what the file wants recorded without asking, and marks it.
func TestRecordOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	file, err := os.ReadFile(filepath.Join(w.dir, "countersign.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("countersign.yaml", strings.Replace(string(file), "needs_approval: args.amount > 1",
		"needs_approval: args.amount > 1\n        approval: audit", 1))
	w.start()
	reviews := func() int {
		out, complaint, code := w.run("audit", "export")
		if code != 0 {
			t.Fatal(complaint)
		}
		return strings.Count(out, `"review":true`)
	}
	thread := w.mention("pay 1")
	w.answer(thread, "R-1")
	if n := reviews(); n != 0 {
		t.Errorf("%d calls marked that the gate lets through", n)
	}
	thread = w.mention("pay 7")
	w.answer(thread, "R-2")
	if n := len(w.cards(thread)); n != 0 {
		t.Errorf("%d cards", n)
	}
	if n := reviews(); n != 1 {
		t.Errorf("%d calls marked, want one", n)
	}
	w.verified()
}
