package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/openaidev"
	"countersign/internal/slackdev"
)

// kindsYAML is an agents file with one tool of each kind that works on this machine or waits for somebody.
const kindsYAML = `version: 1
default_agent: ops
agents:
  ops:
    instructions: You run operations.
    model: gpt-5.2
    tools:
      - { type: shell, workdir: "${WORK}" }
      - { type: apply_patch, root: "${WORK}" }
      - type: external
        name: deploy
        description: Deployed by the pipeline.
        parameters:
          { type: object, required: [ref], additionalProperties: false, properties: { ref: { type: string } } }
        needs_approval: false
      - { type: ask, name: ask_team, description: Asks the people in charge. }
      - { type: agent, agent: finance, name: ask_finance, description: Asks finance. }
  finance:
    instructions: You pay.
    model: gpt-5.2
    tools:
      - type: http
        name: pay
        description: Pays an amount.
        parameters: { type: object, required: [amount], properties: { amount: { type: number }, to: { type: string } } }
        method: POST
        url: ${EFFECTS_URL}/pay
        headers: { Authorization: "Bearer ${EFFECTS_TOKEN}" }
default_policy: { approvers: { channel_members: true } }
`

const limitsPatch = "*** Begin Patch\n*** Update File: limits.yaml\n@@\n-daily: 1000\n+daily: 2000\n*** End Patch"

// newKindsWorld is a world with a running bot that has these tools, and the directory they work in.
func newKindsWorld(t *testing.T) (*world, string) {
	work := t.TempDir()
	patch, err := json.Marshal(map[string]string{"patch": limitsPatch})
	if err != nil {
		t.Fatal(err)
	}
	call := func(user, name, arguments string) openaidev.Rule {
		return openaidev.Rule{User: user, Reply: openaidev.Reply{Calls: []openaidev.Call{{Name: name,
			Arguments: arguments}}}}
	}
	w := newWorld(t, settings{env: []string{"WORK=" + work}, rules: []openaidev.Rule{
		call("count words", "shell", `{"script":"printf 'one two\\n' > words\nwc -w < words"}`),
		call("raise the limit", "apply_patch", string(patch)),
		call("deploy", "deploy", `{"ref":"v2.4.1"}`),
		call("ask the team", "ask_team", `{"question":"Which <!here> *colour*?","options":["blue","red"]}`),
		call("ask badly", "ask_team", `{"question":"Which colour?","options":["blue"]}`),
		call("have finance", "ask_finance", `{"input":"pay 7"}`),
	}})
	w.write("countersign.yaml", kindsYAML)
	return w, work
}

// shows fails the test unless the message shows all the words, in this order.
func shows(t *testing.T, m slackdev.Message, words ...string) {
	t.Helper()
	rest := m.Shown()
	for _, want := range words {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("%q is not shown, or not in its place:\n%s", want, m.Shown())
			return
		}
		rest = after
	}
}

// TestShellCallIsApproved runs a script that people could read, once they have approved it.
func TestShellCallIsApproved(t *testing.T) {
	t.Parallel()
	w, work := newKindsWorld(t)
	w.start()
	thread := w.mention("count words")
	card := w.card(thread, 1)
	shows(t, card, "shell", "script", "printf 'one two\\n' > words\nwc -w < words", "runs", "printf", "> words",
		"where", "In ${WORK}", "Scripts are read by /bin/sh", "depends on", "content of /bin/sh")
	if _, err := os.Stat(filepath.Join(work, "words")); err == nil {
		t.Fatal("the script has run before anybody approved it")
	}
	w.mustClick(ben, card, "approve")
	w.settled(card, "Approved")
	w.answer(thread, `2`)
	if data, err := os.ReadFile(filepath.Join(work, "words")); err != nil || string(data) != "one two\n" {
		t.Errorf("the script has left %q, %v", data, err)
	}
	w.verified()
}

// TestPatchOfAChangedFileIsAskedAgain changes the file between question and approval: nothing is patched, the card says
// Stale, and the new card is about the file as it is.
func TestPatchOfAChangedFileIsAskedAgain(t *testing.T) {
	t.Parallel()
	w, work := newKindsWorld(t)
	file := filepath.Join(work, "limits.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	write("daily: 1000\n")
	w.start()
	thread := w.mention("raise the limit")
	first := w.card(thread, 1)
	shows(t, first, "updated limits.yaml (+1 −1)", "patch", "-daily: 1000", "where", "In ${WORK}",
		"depends on", "limits.yaml")
	write("daily: 1000\nmonthly: 5000\n")
	w.mustClick(ben, first, "approve")
	second := w.card(thread, 2)
	w.settled(first, "Stale")
	if got := read(); got != "daily: 1000\nmonthly: 5000\n" {
		t.Fatalf("the approval of the old file has changed the new one: %q", got)
	}
	w.mustClick(cleo, second, "approve")
	w.settled(second, "Approved")
	w.answer(thread, "The patch is applied.")
	if got := read(); got != "daily: 2000\nmonthly: 5000\n" {
		t.Errorf("after the second approval: %q", got)
	}
	w.verified()
}

// TestResultFromTheCommandLine answers a call that somebody else carries out, and says which answers it takes.
func TestResultFromTheCommandLine(t *testing.T) {
	t.Parallel()
	w, _ := newKindsWorld(t)
	w.start()
	thread := w.mention("deploy")
	card := w.card(thread, 1)
	shows(t, card, "Result needed: deploy", "ref", "v2.4.1", "Provide result")
	out, _, _ := w.run("approvals", "list")
	if !strings.Contains(out, "result") || !strings.Contains(out, "deploy") {
		t.Errorf("list:\n%s", out)
	}
	button, _ := card.Button("provide_result")
	id := button.Value
	if out, _, code := w.run("approvals", "show", id); code != 0 ||
		!strings.Contains(out, "for the result of the call") {
		t.Errorf("show: %d\n%s", code, out)
	}
	if _, complaint, code := w.run("approvals", "decide", id, "--approve", "--as", ben); code != 1 ||
		!strings.Contains(complaint, "--provide-result or --reject") {
		t.Errorf("--approve: %d %s", code, complaint)
	}
	if _, complaint, code := w.run("approvals", "decide", id, "--provide-result", "--as", ben); code != 2 ||
		!strings.Contains(complaint, "--provide-result needs --reason") {
		t.Errorf("without a reason: %d %s", code, complaint)
	}
	if out, complaint, code := w.run("approvals", "decide", id, "--provide-result", "--reason", "build 4711",
		"--as", ben); code != 0 {
		t.Errorf("--provide-result: %d %s%s", code, out, complaint)
	}
	w.settled(card, "result provided")
	w.answer(thread, "build 4711")
	w.verified()
}

// TestQuestionFromTheCommandLine answers what an agent asks of its own accord. Of a question with one option nobody is
// asked, and the model reads why.
func TestQuestionFromTheCommandLine(t *testing.T) {
	t.Parallel()
	w, _ := newKindsWorld(t)
	w.start()
	w.answer(w.mention("ask badly"), "options: give 2 to 20")
	thread := w.mention("ask the team")
	card := w.card(thread, 1)
	shows(t, card, "Question: Which", "'s agent", "asks:", "Which <!here> *colour*?", "1. ", "blue", "2. ", "red",
		"Press the one that is right", "Needs 1 of ")
	for _, wrong := range []string{"approve", "provide_result", "retry"} {
		if _, ok := card.Button(wrong); ok {
			t.Errorf("the card offers %s", wrong)
		}
	}
	button, _ := card.Button("reject")
	id := button.Value
	if out, _, _ := w.run("approvals", "list"); !strings.Contains(out, "answer") || !strings.Contains(out, "ask_team") {
		t.Errorf("list:\n%s", out)
	}
	for wrong, want := range map[string]string{
		"--approve":                      "answer with --answer or --reject",
		"--provide-result --reason blue": "answer with --answer or --reject",
		"--answer green":                 `none of the options, which are "blue", "red"`,
		"--answer blue --answer red":     "one of the options is the answer, not several",
	} {
		flags := append([]string{"approvals", "decide", id, "--as", ben}, strings.Fields(wrong)...)
		if _, complaint, code := w.run(flags...); code != 1 || !strings.Contains(complaint, want) {
			t.Errorf("%s: %d %s", wrong, code, complaint)
		}
	}
	if _, complaint, code := w.run("approvals", "callback", id, "--as", ben); code != 1 {
		t.Errorf("a callback: %d %s", code, complaint)
	}
	if out := w.must("approvals", "decide", id, "--answer", "red", "--as", ben); !strings.Contains(out, "is answered") {
		t.Errorf("--answer printed %q", out)
	}
	w.settled(card, "Answered")
	w.answer(thread, `"answers":["red"]`)
	w.verified()
}

// TestShowPrintsWhatACallDependsOn prints for the operator what the card shows.
func TestShowPrintsWhatACallDependsOn(t *testing.T) {
	t.Parallel()
	w, _ := newKindsWorld(t)
	w.start()
	card := w.card(w.mention("count words"), 1)
	button, _ := card.Button("approve")
	out, complaint, code := w.run("approvals", "show", button.Value)
	for _, want := range []string{"whether the call may run", "workdir ${WORK}", "depends on   program /bin/sh sha256:",
		"in words     runs printf"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d, want %q in\n%s%s", code, want, out, complaint)
		}
	}
}

// TestCardNamesTheAgentsOnTheWay says which agent calls, and which one uses it.
func TestCardNamesTheAgentsOnTheWay(t *testing.T) {
	t.Parallel()
	w, _ := newKindsWorld(t)
	w.start()
	thread := w.mention("have finance settle the bill")
	card := w.card(thread, 1)
	shows(t, card, "pay", "finance", ", used by ops calls pay", "sends  POST ")
	w.noEffect()
	w.mustClick(ben, card, "approve")
	w.settled(card, "Approved")
	w.answer(thread, "answer:")
	w.onlyEffect(`{"amount":7,"to":"acct"}`)
}
