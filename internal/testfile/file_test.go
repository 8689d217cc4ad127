package testfile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/internal/agentsfile"
	"countersign/internal/testfile"
)

// head is a file up to its tests.
const head = `version: 1
agents: sub/agents.yaml
env: { URL: "${servers.pay}/v1" }
people:
  ann: {}
  ben: { id: U111, role: guest }
groups: { approvers: { members: [ben] } }
channels: { team-a: { members: [ann, ben] } }
servers: { pay: { routes: [{ request: POST /pay, json: {} }] } }
tests:
`

const one = head + `  - name: a
    steps:
      - mention: hello
        by: ann
        cards: [{ name: c, tool: t }]
      - click: approve
        by: ben
        card: c
        status: approved
`

// TestParse fills in what a file may leave out, and tells where things are.
func TestParse(t *testing.T) {
	t.Parallel()
	f, err := testfile.Parse("dir/x_test.yaml", []byte(one))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{f.AgentsPath(), f.People["ann"].ID, f.People["ben"].ID, f.Groups["approvers"].ID,
		f.Channels["team-a"].ID, f.Tests[0].Steps[0].In, f.Tests[0].Steps[1].At.String()}
	want := []string{"dir/sub/agents.yaml", "U0ANN", "U111", "S0APPROVERS", "C0TEAMA", "team-a", "dir/x_test.yaml:16:9"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestProblems says what is wrong with a file, and where.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, want string }{
		{"version: 1", "version: 2", "1:1: version 2 is not supported"},
		{"people:", "peeple:", `4:1: unknown key "peeple" in the test file; did you mean "people"?`},
		{"agents: sub/agents.yaml\n", "", `1:1: the test file needs "agents"`},
		{"agents: sub/agents.yaml", "agents: 7", "2:9: agents is text, not a whole number; put it in quotes"},
		{"ann: {}", "ann:", "5:7: ann is a mapping, not nothing; write {} where there is nothing to say"},
		{"ann: {}", "ann: { roll: guest }", `5:10: unknown key "roll" in ann; did you mean "role"?`},
		{"role: guest", "role: gest", `did you mean "guest"?`},
		{"id: U111", "id: nobody", `6:8: id of ben: "nobody" is not as Slack's: U0123456789`},
		{"id: U111", "id: U0ANN", "ben has the id U0ANN, which is that of ann"},
		{"[ann, ben]", "[ann, bn]", `8:21: there is no person "bn" here; did you mean "ben"?`},
		{"${servers.pay}", "${servers.pai}", `did you mean "servers.pay"?`},
		{"URL:", "OPENAI_API_KEY:", "OPENAI_API_KEY is set by the test itself"},
		{"POST /pay", "POST pay", `"POST pay" is no request`},
		{"json: {}", "json: {}, text: x", "json or with text, not both"},
		{"json: {}", "status: 99", "status is between 200 and 599"},
		{"  - name: a\n    steps:", "  - name: a\n    modle: []\n    steps:", `did you mean "model"?`},
		{"by: ann", "by: an", `13:9: there is no person "an" here; did you mean "ann"?`},
		{"        by: ann\n", "", "the step needs by: who does it"},
		{"click: approve", "click: approve\n        mention: x", "a step does one thing, not mention and click"},
		{"card: c\n", "card: d\n", `there is no card "d" here; did you mean "c"?`},
		{"        card: c\n        status: approved\n", "", "the step needs card"},
		{"status: approved", "status: aproved", `did you mean "approved"?`},
		{"        status: approved\n", "", "the step expects nothing"},
		{"cards: [{ name: c, tool: t }]", "calls: [{ server: pay, request: GET /pay }]", "nothing answers GET /pay"},
		{"cards: [{ name: c, tool: t }]", "cards: [{ name: c }]", `needs "tool"`},
		{"mention: hello", "message: hello", "the bot hears a message without a mention in direct messages only"},
		{"mention: hello", "mention: hello\n        in: direct", "in a direct message nobody is mentioned"},
		{"mention: hello", "mention: hello\n        in: team-b", `there is no channel "team-b" here`},
		{"click: approve\n        by: ben\n        card: c\n        status: approved", "cli: [run]",
			"cli: run does not end"},
		{"    steps:", "    model: [{ when: x, turns: [{ says: a }, { says: b }] }]\n    steps:",
			"a turn without calls is the last one"},
		{"    steps:", "    model: [{ when: x, turns: [{ reads: a, says: b }] }]\n    steps:",
			"the first turn reads no outputs"},
		{"    steps:", "    left_waiting: [d]\n    steps:", `there is no card "d" here`},
		{one[strings.Index(one, "    steps:"):], "    steps: []\n", "it cannot fail"},
		{one[strings.Index(one, "  - name: a"):], "  []\n", "tests is empty"},
	} {
		text := strings.Replace(one, c.old, c.new, 1)
		if text == one {
			t.Errorf("%q is not in the file", c.old)
		}
		_, err := testfile.Parse("x_test.yaml", []byte(text))
		if _, ok := errors.AsType[agentsfile.Problems](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: got %v, want %q", c.new, c.old, err, c.want)
		}
	}
}
