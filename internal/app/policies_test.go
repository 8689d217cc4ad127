package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"countersign/internal/slackdev"
)

// largeFirst asks two people about payments above a limit, and one about others.
const largeFirst = `vars: { limit: 100 }
policies:
  - { name: large, when: 'tool == "pay" && args.amount > vars.limit', approvers: { channel_members: true }, quorum: 2 }
` + anybody

// TestPolicies asks as many people as the policy for the call wants.
func TestPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{policy: largeFirst})
	w.start()
	small := w.mention("pay 100")
	w.mustClick(ben, w.card(small, 1), "approve")
	w.answer(small, "R-1")
	large := w.mention("pay 101")
	w.mustClick(ben, w.card(large, 1), "approve")
	if out := w.must("approvals", "list"); !strings.Contains(out, "req_") {
		t.Errorf("one answer of two was enough: %s", out)
	}
	w.mustClick(cleo, w.card(large, 1), "approve")
	w.answer(large, "R-2")
	w.verified()
}

// TestExampleInADirectMessage asks for a large payment by the policies of the example where nobody else is.
func TestExampleInADirectMessage(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../examples/countersign.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, policies, found := strings.Cut(string(example), "\npolicies:\n")
	if !found {
		t.Fatal("the example has no policies")
	}
	policies = "vars: { large: 1000 }\npolicies:\n" + strings.ReplaceAll(policies, "transfer_funds", "pay")
	w := newWorld(t, settings{policy: policies})
	w.start()
	dm := w.slack.DM(ann)
	if _, err := w.slack.Post(w.ctx, ann, dm, "pay 1001", ""); err != nil {
		t.Fatal(err)
	}
	told := func() (text string) {
		for _, m := range w.slack.Messages(dm) {
			text += m.Shown() + "\n"
		}
		return text
	}
	const advice = "Ask in a channel."
	w.until("the notice", func() bool { return strings.Contains(told(), advice) })
	for _, want := range []string{"Nobody here may approve", advice} {
		if strings.Count(told(), want) != 1 {
			t.Errorf("want %q once in:\n%s", want, told())
		}
	}
	w.noEffect()
}

// TestPolicyByGroup asks two people about what somebody of a group wants, and shows which policy asked.
func TestPolicyByGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{policy: `vars: { limit: 50 }
policies:
  - name: trainees
    when: tool == "pay" && "S0TRAINEES" in requester.groups && args.amount > vars.limit
    approvers: { channel_members: true }
    quorum: 2
    risk: high
    freeze: [{ from: 2090-12-24, to: 2090-12-27, except: { users: [U0BEN] } }]
` + anybody})
	w.slack.SetUserGroup(slackdev.UserGroup{ID: "S0TRAINEES", Handle: "trainees", Users: []string{ann}})
	w.start()
	thread := w.mention("pay 100")
	card := w.card(thread, 1)
	w.mustClick(ben, card, "approve")
	w.send(ben, "approve") // a call of high risk asks back
	w.until("the first of two answers", func() bool {
		m, _ := w.slack.Message(general, card.TS)
		return strings.Contains(m.Shown(), "Needs 1 more of the members of <#"+general+">")
	})
	list := w.must("approvals", "list")
	at := strings.Index(list, "req_")
	if at < 0 {
		t.Fatalf("one answer of two was enough: %s", list)
	}
	shown := w.must("approvals", "show", strings.Fields(list[at:])[0])
	check := w.must("check", "--offline")
	_, rest, _ := strings.Cut(check, "(sha256 ")
	version, _, _ := strings.Cut(rest, ")")
	for _, want := range []string{"trainees, hash ", ", version " + version + ", high risk", "vars.limit = 50",
		"frozen from 2090-12-24 00:00 UTC until 2090-12-28 00:00 UTC only U0BEN may approve"} {
		if !strings.Contains(shown, want) || version == "" {
			t.Errorf("want %q in:\n%s", want, shown)
		}
	}
	if want := "; high risk; from 2090-12-24 00:00 UTC"; !strings.Contains(check, want) {
		t.Errorf("want %q in:\n%s", want, check)
	}
	w.noEffect()
	w.mustClick(cleo, card, "approve")
	w.send(cleo, "approve")
	w.answer(thread, "R-1")
	w.verified()
}

// TestCheckPolicies lists the policies in their order, in words and as JSON.
func TestCheckPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{policy: largeFirst})
	out := w.must("check", "--offline")
	for _, want := range []string{"POLICY  MUST AGREE", "large   2 members of this channel, not the requester  " +
		`tool == "pay" && args.amount > vars.limit`, "not the requester (where none of"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in:\n%s", want, out)
		}
	}
	var report struct {
		Policy   string
		Policies []struct{ Name, When string }
	}
	if err := json.Unmarshal([]byte(w.must("check", "--offline", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Policies) != 1 || report.Policies[0].Name != "large" || report.Policies[0].When == "" ||
		report.Policy == "" {
		t.Errorf("as JSON: %+v", report)
	}
}

// TestReloadOfAWrongExpression keeps the policies in force when a condition or a gate of the new file is wrong.
func TestReloadOfAWrongExpression(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := w.start()
	good := fmt.Sprintf(agentsYAML, strings.Replace(largeFirst, "approvers: { channel_members: true }, quorum: 2",
		"approvers: { users: [U0CLEO] }", 1))
	for wrong, says := range map[string]string{
		strings.Replace(good, "vars.limit", "vars.limt", 1): "policy large: vars has no 'limt'; it has limit",
		strings.Replace(good, "> vars.limit", ">> 5", 1):    "policy large: this is not an expression: unexpected '>'",
		strings.Replace(good, "args.amount > 1\n", "requester == \"U1\"\n", 1): "needs_approval of pay: " +
			"requester is an object; write requester.id",
	} {
		w.write("countersign.yaml", wrong)
		bot.signal(syscall.SIGHUP)
		bot.says(says)
		bot.says("stays in force")
	}
	before := w.mention("pay 200")
	w.mustClick(ben, w.card(before, 1), "approve")
	w.answer(before, "R-1")

	w.write("countersign.yaml", good)
	bot.signal(syscall.SIGHUP)
	bot.says("agents file reloaded")
	after := w.mention("pay 300")
	card := w.card(after, 1)
	_ = w.click(ben, card, "approve")
	w.mustClick(cleo, card, "approve")
	w.answer(after, "R-2")
}
