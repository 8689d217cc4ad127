package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writtenOut is an agents file without a variable, and with the address of a service that a test never reaches.
const writtenOut = `version: 1
requesters: { channel_members: true }
agents:
  clerk:
    instructions: See https://pay.example/v1 for what payments are. ü
    model: gpt-5.2
    tools:
      - { type: http, name: lookup, description: "Looks up.", method: GET, url: "https://pay.example/v1/bill?of=us" }
      - { description: "ü", type: http, name: pay, method: POST, url: https://pay.example/v1/pay,
          parameters: { type: object, properties: { amount: { type: number } }, required: [amount] } }
      - { type: http, name: elsewhere, description: "Is not called.", method: GET, url: https://else.example/ }
default_policy: { approvers: { channel_members: true }, self_approval: true }
`

// manyKinds has a step of every kind.
const manyKinds = `version: 1
agents: agents.yaml
people: { ann: {}, ben: { role: admin }, dan: { role: deactivated }, xi: { role: stranger }, app: { role: bot } }
channels:
  room: { members: [ann, ben, dan] }
  shared: { members: [ann, xi], shared: true }
  closed: { id: C0123456789, members: [ann, ben], private: true }
servers:
  pay:
    replaces: [https://pay.example/v1]
    routes:
      - { request: "GET /bill?of=us&x=1", text: none }
      - { request: GET /bill?of=us, text: 12 EUR, any_times: true }
      - { request: POST /pay, status: 500, text: out of order }
tests:
  - name: a direct message
    model:
      - { when: what do we owe, turns: [{ calls: [{ tool: lookup }] }, { reads: 12 EUR, says: 12 EUR. }] }
    steps:
      - { message: what do we owe, in: direct, by: ann, says: 12 EUR., run: done }
  - name: a thread, with commands
    model:
      - { when: pay 12, turns: [{ calls: [{ tool: pay, args: { amount: 12 } }] },
            { reads: TR-2, says: "Paid, <ok>." }] }
      - { when: thank you, turns: [{ says: "You are welcome, @ann." }] }
      - { when: pay 13, turns: [{ calls: [{ tool: pay, args: { amount: 13 } }] },
            { reads: [HTTP 500, out of order], says: It is out of order. }] }
    steps:
      - mention: pay 12, @ben
        in: closed
        thread: bill
        by: ann
        cards: [{ name: twelve, tool: pay, args: { amount: 12 }, agent: clerk }]
      - { command: /approvals mine, in: closed, by: ann, told: "${request.twelve}" }
      - { cli: [approvals, show, "${request.twelve}", --json], prints: ['"amount": 12', "${channel.closed}"] }
      - { click: show_details, by: ben, card: twelve, opens: [pay] }
      - { restart: stop }
      - cli: [approvals, decide, "${request.twelve}", --approve, --as, "${user.ann}"]
        prints: approved
        calls: [{ server: pay, request: POST /pay, body: { amount: 12 }, json: { reference: TR-2 } }]
        says: Paid, <ok>.
      - { card: twelve, status: approved, outcome: ran, decided_by: [ann], shows: [Approved by @ann], run: done }
      - { mention: thank you, thread: bill, by: ann, says: You are welcome }
      - { mention: pay 13, thread: other, in: room, by: ben, cards: [{ name: thirteen, tool: pay }] }
      - click: approve
        by: ben
        card: thirteen
        calls: [{ server: pay, request: POST /pay, any_body: true }]
        outcome: failed
        says: It is out of order.
        run: done
  - name: who is not of the workspace is not heard
    steps:
      - { mention: hello, in: shared, by: xi, told: workspace }
  - name: a cancelled run
    model:
      - { when: pay 12, turns: [{ calls: [{ tool: pay, args: { amount: 12 } }] }] }
    steps:
      - { mention: pay 12, in: room, by: ann, cards: [{ name: twelve, tool: pay }] }
      - { click: cancel_run, by: ann, card: twelve, status: cancelled, outcome: not run, run: cancelled,
          says: "@ann cancelled the run", told: You have cancelled the run }
`

// TestTestsOfManyKinds plays a step of every kind.
func TestTestsOfManyKinds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"agents.yaml": writtenOut, "kinds_test.yaml": manyKinds} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "kinds_test.yaml")
	if out, code := playTests(t, "--timeout", "30s", path); code != 0 || !strings.Contains(out, "4 played, 0 failed") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for _, c := range []struct{ old, new, want string }{
		{"replaces: [https://pay.example/v1]", "", "agents.yaml:8:9: the test calls lookup, and " +
			"https://pay.example/v1/bill?of=us is none of its servers"},
		{"pay.example/v1]", "pay.example/v2]", "no url of the agents file begins with https://pay.example/v2"},
		{"tool: lookup }", "tool: elsewhere }", "https://else.example/ is none of its servers"},
	} {
		if err := os.WriteFile(path, []byte(strings.Replace(manyKinds, c.old, c.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code := playTests(t, path); code != 2 || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit code %d, want 2 and %q:\n%s", c.new, code, c.want, out)
		}
	}
}
