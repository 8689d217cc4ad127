package mcptoolset_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/mcptoolset"
)

// TestSecretsDoNotReachModels has servers repeat what they were configured with: in answers, errors, and in what they
// say about their tools.
func TestSecretsDoNotReachModels(t *testing.T) {
	t.Parallel()
	const secret = "tok-4711/hunter2"
	check := func(what, text string) {
		t.Helper()
		if strings.Contains(text, "4711") || strings.Contains(text, "hunter2") || !strings.Contains(text, "said") {
			t.Errorf("%s: %.200q", what, text)
		}
	}
	type handler = func(w http.ResponseWriter, id, params json.RawMessage)
	over := func(cfg func(*mcptoolset.ServerConfig), answer func(*rawServer) handler) agent.Tool {
		raw := &rawServer{list: tools(`{"name":"plain","description":"said ` + secret +
			`","inputSchema":{"type":"object","title":"said tok-4711\/hunter2"}}`)}
		raw.answer = answer(raw)
		ts, _ := raw.start(t, func(s *mcptoolset.ServerConfig, _ *mcptoolset.Config) { cfg(s) })
		return toolsOf(t, ts)["plain"]
	}
	for what, cfg := range map[string]func(*mcptoolset.ServerConfig){
		"a header": func(s *mcptoolset.ServerConfig) {
			s.Headers = map[string]string{"Authorization": "Bearer " + secret}
		},
		"a header with a variable": func(s *mcptoolset.ServerConfig) {
			s.Headers = map[string]string{"X-Key": "k=" + secret}
			s.WrittenHeaders = map[string]string{"X-Key": "k=${KEY}"}
		},
		"a URL": func(s *mcptoolset.ServerConfig) { s.URL, s.WrittenURL = s.URL+"/"+secret, "${SERVER}/${HOOK}" },
	} {
		for kind, result := range map[string]string{
			"text":       `{"content":[{"type":"text","text":"said ` + secret + `"}]}`,
			"structured": `{"content":[],"structuredContent":{"said":"` + strings.ReplaceAll(secret, "/", `\/`) + `"}}`,
			"cut":        `{"content":[{"type":"text","text":"said ` + strings.Repeat("x", 64<<10-14) + secret + `"}]}`,
		} {
			tool := over(cfg, func(s *rawServer) handler {
				return func(w http.ResponseWriter, id, _ json.RawMessage) { s.result(w, id, result) }
			})
			check(what+" in "+kind, call(t, tool, `{}`).Text)
			check(what+" in a description", tool.Description)
			check(what+" in a schema", string(tool.Parameters))
		}
		tool := over(cfg, func(s *rawServer) handler {
			return func(w http.ResponseWriter, id, _ json.RawMessage) {
				s.write(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"said %s"}}`, id, secret))
			}
		})
		check(what+" in an error", call(t, tool, `{}`).Text)
	}
	cfg := self(t, "server", "API_TOKEN", secret, "GREETING", "good morning", "SAID", "said "+secret)
	cfg.WrittenEnv = map[string]string{"API_TOKEN": "${TOKEN}", "GREETING": "good morning", "SAID": "said ${TOKEN}"}
	out := call(t, toolsOf(t, newToolset(t, mcptoolset.Config{Server: newServer(t, cfg)}))["environment"], `{}`).Text
	check("the environment", out)
	if !strings.Contains(out, "good morning") {
		t.Errorf("control: what is no secret is hidden: %s", out)
	}
}
