package mcptoolset_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/mcptoolset"
)

// A server that prints a banner, and other things, to its standard output can be used. That it does is logged, in part.
func TestNoisyServer(t *testing.T) {
	t.Parallel()
	var log journal
	cfg := self(t, "noisy", "RAW_TOOLS", `{"tools":[`+plainTool+`]}`, "TOKEN", "hunter2hunter2")
	cfg.Logger = log.logger()
	tool := toolsOf(t, newToolset(t, mcptoolset.Config{Server: newServer(t, cfg)}))["plain"]
	for range 3 {
		if out := call(t, tool, `{}`); out.Text != "done" || out.Failed {
			t.Errorf("output %+v", out)
		}
	}
	said := log.String()
	if n := strings.Count(said, "is no message"); n != 5 || !strings.Contains(said, "server 1.0 ready") ||
		strings.Contains(said, "hunter2") {
		t.Errorf("the log says %s", said)
	}
}

// A result that is none, but the word that something was begun, is neither a success nor a failure: people have to find
// out what becomes of it. Of a tool that only reads, nothing becomes.
func TestTaskInsteadOfAResult(t *testing.T) {
	t.Parallel()
	for _, result := range []string{
		`{"task":{"taskId":"7","status":"working"}}`, `{"resultType":"task","taskId":"7"}`,
		`{"resultType":"later","content":[{"type":"text","text":"paid"}]}`,
		`{"task":{"taskId":"7"},"content":"paid"}`,
	} {
		out, err := invoke(t.Context(), answers(t, result, false), `{}`)
		if !errors.Is(err, agent.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "did not answer with a result") {
			t.Errorf("%s: %+v, %v", result, out, err)
		}
		raw := &rawServer{list: tools(readingTool)}
		raw.answer = func(w http.ResponseWriter, id, _ json.RawMessage) { raw.result(w, id, result) }
		ts, _ := raw.start(t, func(s *mcptoolset.ServerConfig, _ *mcptoolset.Config) { s.Trusted = true })
		out, err = invoke(t.Context(), toolsOf(t, ts)["plain"], `{}`)
		if err != nil || !out.Failed || !strings.Contains(out.Text, "The server began something and did not") {
			t.Errorf("%s, of a tool that reads: %+v, %v", result, out, err)
		}
	}
	if out, err := invoke(t.Context(), answers(t, `{"resultType":"complete","content":[{"type":"text","text":"paid"}]}`,
		false), `{}`); err != nil || out.Failed || out.Text != "paid" {
		t.Errorf("control: %+v, %v", out, err)
	}
}

// A tool that says of itself that it changes nothing and that it destroys is asked about, whatever the policy believes.
func TestContradictoryHints(t *testing.T) {
	t.Parallel()
	const list = `{"name":"plain","inputSchema":{"type":"object"},` +
		`"annotations":{"readOnlyHint":true,"destructiveHint":true}},` +
		`{"name":"reader","inputSchema":{"type":"object"},` +
		`"annotations":{"readOnlyHint":true,"destructiveHint":false}},` +
		`{"name":"writer","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}`
	for policy, want := range map[string]string{
		``:                                   "plain writer",
		`{"never":{"read_only":true}}`:       "plain writer",
		`{"never":{"read_only":false}}`:      "plain", // nothing asks for those that write
		`{"always":{"read_only":true}}`:      "plain reader writer",
		`{"always":{"read_only":false}}`:     "plain writer",
		`{"never":{"tool_names":["plain"]}}`: "writer", // the operator's word
	} {
		raw := &rawServer{list: tools(list)}
		ts, _ := raw.start(t, func(s *mcptoolset.ServerConfig, c *mcptoolset.Config) {
			s.Trusted = true
			if policy == "" {
				return
			}
			var err error
			if c.RequireApproval, err = parse(t, policy); err != nil {
				t.Fatal(err)
			}
		})
		var asks []string
		for _, name := range []string{"plain", "reader", "writer"} {
			tool := toolsOf(t, ts)[name]
			if tool.NeedsApproval != nil {
				asks = append(asks, name)
			}
			if name == "plain" && tool.Idempotent {
				t.Error("what may destroy is run again after a crash")
			}
		}
		if got := strings.Join(asks, " "); got != want {
			t.Errorf("%s: asks about %q, want %q", policy, got, want)
		}
	}
}
