package mcptoolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/mcptoolset"
	"countersign/agent/rawtool"
	"countersign/agent/toolstatus"
)

// answers makes a server whose every call has the result.
func answers(t *testing.T, result string, events bool) agent.Tool {
	t.Helper()
	raw := &rawServer{events: events}
	raw.answer = func(w http.ResponseWriter, id, _ json.RawMessage) { raw.result(w, id, result) }
	ts, _ := raw.start(t, nil)
	return toolsOf(t, ts)["plain"]
}

func TestOutput(t *testing.T) {
	t.Parallel()
	content := func(parts ...string) string { return `{"content":[` + strings.Join(parts, ",") + `]}` }
	for _, tt := range []struct {
		result string
		want   agent.ToolOutput
	}{
		{content(`{"type":"text","text":"one"}`, `{"type":"text","text":"two"}`), agent.ToolOutput{Text: "one\ntwo"}},
		{content(`{"type":"image","mimeType":"image/png","data":"aGVsbG8="}`),
			agent.ToolOutput{Text: "[image: image/png, 5 bytes, not shown]"}},
		{content(`{"type":"audio","data":"aGk="}`),
			agent.ToolOutput{Text: "[audio: unknown type, 2 bytes, not shown]"}},
		{content(`{"type":"text","text":"see"}`, `{"type":"resource_link","uri":"file:///x","name":"x","size":7,`+
			`"mimeType":"text/plain","description":"An x."}`),
			agent.ToolOutput{Text: "see\n[link to x: file:///x, text/plain, 7 bytes]\nAn x."}},
		{content(`{"type":"resource","resource":{"uri":"file:///x","mimeType":"text/plain","text":"hello"}}`),
			agent.ToolOutput{Text: "[resource file:///x: text/plain, 5 bytes]\nhello"}},
		{content(`{"type":"resource","resource":{"uri":"file:///x","blob":"AAAA"}}`),
			agent.ToolOutput{Text: "[resource file:///x: unknown type, 3 bytes, not shown]"}},
		{content(`{"type":"hologram","depth":3}`), agent.ToolOutput{Text: `[content of type "hologram", not shown]`}},
		{`{"content":[],"structuredContent":{"z": 12345678901234567890, "a": [1, 2]}}`,
			agent.ToolOutput{Text: `{"z":12345678901234567890,"a":[1,2]}`}},
		{`{"content":[{"type":"text","text":"words"}],"structuredContent":{"z":1}}`, agent.ToolOutput{Text: "words"}},
		{`{"content":[{"type":"image","mimeType":"image/png","data":"aGVsbG8="}],` +
			`"structuredContent":{"image":"aGVsbG8=","n":1.50}}`,
			agent.ToolOutput{Text: "[image: image/png, 5 bytes, not shown]\n" +
				`{"image":"[5 bytes in base64, not shown]","n":1.50}`}},
		{`{"content":[],"structuredContent":{` +
			`"a":"data:image/png;base64,` + strings.Repeat(`iVBO\/w0K`, 50) + `",` +
			`"b":["` + strings.Repeat("QUFB", 100) + `"],"c":"` + strings.Repeat("word ", 100) + `"}}`,
			agent.ToolOutput{Text: `{"a":"[337 bytes in base64, not shown]",` +
				`"b":["[300 bytes in base64, not shown]"],"c":"` + strings.Repeat("word ", 100) + `"}`}},
		{`{"content":[]}`, agent.ToolOutput{Text: "The tool returned nothing."}},
		{`{"content":[{"type":"text","text":"no such branch"}],"isError":true}`,
			agent.ToolOutput{Text: "no such branch", Failed: true}},
		{`{"content":[],"isError":true}`, agent.ToolOutput{Text: "The tool failed and did not say why.", Failed: true}},
		{`{"content":"words"}`, agent.ToolOutput{
			Text: "The call was carried out, but its result cannot be read: it is not what the protocol says.",
		}},
		{`{"content":[{"type":"text","text":7}],"isError":true}`, agent.ToolOutput{
			Failed: true, Text: "The tool failed, and what it says cannot be read: it is not what the protocol says.",
		}},
		{`{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create",` +
			`"params":{"message":"password?"}}}}`,
			agent.ToolOutput{Failed: true, Text: "The server wants to be told something more before it goes on, " +
				"which is not possible here. The call did not finish."}},
	} {
		if !strings.HasPrefix(tt.want.Text, "The ") { // what the server itself says is counted
			tt.want.Status.Lines = toolstatus.LinesOf(tt.want.Text)
		}
		for _, events := range []bool{false, true} {
			got, err := invoke(t.Context(), answers(t, tt.result, events), `{}`)
			if err != nil {
				t.Errorf("%s: %v", tt.result, err)
			} else if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s\n%s", tt.result, diff)
			}
		}
	}
}

func TestHugeOutput(t *testing.T) {
	t.Parallel()
	everyTransport(t, func(t *testing.T, cfg mcptoolset.ServerConfig) {
		tool := toolsOf(t, newToolset(t, mcptoolset.Config{Server: newServer(t, cfg)}))["huge"]
		out := call(t, tool, `{}`).Text
		want := strings.Repeat("ü", 32<<10) + "\n[truncated: 65536 bytes shown of 2097152]"
		if out != want {
			t.Errorf("%d bytes, end %q", len(out), out[max(0, len(out)-60):])
		}
	})
	// More than a message may have is no answer.
	tool := answers(t, `{"content":[{"type":"text","text":"`+strings.Repeat("x", 17<<20)+`"}]}`, false)
	if _, err := invoke(t.Context(), tool, `{}`); !errors.Is(err, agent.ErrOutcomeUnknown) {
		t.Errorf("17 MiB: %v", err)
	}
}

// What reaches the server is the canonical arguments and the effect id.
func TestRequest(t *testing.T) {
	t.Parallel()
	var got json.RawMessage
	raw := &rawServer{list: tools(`{"name":"pay.out","inputSchema":{"type":"object"}}`)}
	raw.answer = func(w http.ResponseWriter, id, params json.RawMessage) {
		got = params
		raw.result(w, id, `{"content":[]}`)
	}
	ts, _ := raw.start(t, func(_ *mcptoolset.ServerConfig, c *mcptoolset.Config) { c.ToolPrefix = "bank_" })
	call(t, toolsOf(t, ts)["bank_pay_out"], `{"amount":12345678901234567890,"to":"<A&B>"}`)
	var params struct {
		Meta      map[string]string `json:"_meta"`
		Name      string            `json:"name"`
		Arguments json.RawMessage   `json:"arguments"`
	}
	if err := json.Unmarshal(got, &params); err != nil {
		t.Fatal(err)
	}
	const large = "12345678901234567890"
	sent := string(params.Arguments)
	canonical, err := rawtool.Canonical([]byte(strings.Replace(sent, large, "1", 1)))
	if err != nil || string(canonical) != `{"amount":1,"to":"<A&B>"}` || !strings.Contains(sent, large) {
		t.Errorf("arguments %s (%v)", params.Arguments, err)
	}
	if params.Name != "pay.out" || params.Meta["countersign/effect_id"] != "eff_7" {
		t.Errorf("params %s", got)
	}
}

// What is known of a call without a result depends on how far it got.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	status := func(code int) func(*rawServer) {
		return func(s *rawServer) {
			s.answer = func(w http.ResponseWriter, _, _ json.RawMessage) { http.Error(w, "hunter2hunter2", code) }
		}
	}
	refuses := func(code int, message string) func(*rawServer) {
		return func(s *rawServer) {
			s.answer = func(w http.ResponseWriter, id, _ json.RawMessage) {
				s.write(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message))
			}
		}
	}
	for _, tt := range []struct {
		why     string
		set     func(*rawServer)
		want    string
		unknown bool
		output  string
	}{
		{why: "a protocol error is an answer", output: "The server answered with error -32602: no such tool",
			set: refuses(-32602, "no such tool")},
		{why: "an error in the midst of the work", output: "The server answered with error -32603: timed out" +
			"\n[The server may have acted all the same. Do not count on it that nothing was done.]",
			set: refuses(-32603, "timed out")},
		{why: "not let in", set: status(http.StatusForbidden), want: "HTTP 403 is no answer", unknown: true},
		{why: "too many requests", set: status(http.StatusTooManyRequests),
			want: "HTTP 429 is no answer", unknown: true},
		{why: "never found", set: status(http.StatusNotFound), want: "HTTP 404 is no answer", unknown: true},
		{why: "a broken server", set: status(http.StatusInternalServerError), unknown: true},
		{why: "a broken gateway", set: status(http.StatusBadGateway), unknown: true},
		{why: "too slow a client", set: status(http.StatusRequestTimeout), unknown: true},
		{why: "an end without an answer", unknown: true, set: func(s *rawServer) {
			s.answer = func(http.ResponseWriter, json.RawMessage, json.RawMessage) { panic(http.ErrAbortHandler) }
		}},
		{why: "a stream without an answer", unknown: true, set: func(s *rawServer) {
			s.answer = func(w http.ResponseWriter, _, _ json.RawMessage) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"id\":99999,\"result\":{\"content\":[]}}\n\n")
			}
		}},
		{why: "no JSON", unknown: true, set: func(s *rawServer) {
			s.answer = func(w http.ResponseWriter, _, _ json.RawMessage) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":`)
			}
		}},
	} {
		raw := &rawServer{}
		tt.set(raw)
		ts, _ := raw.start(t, func(s *mcptoolset.ServerConfig, _ *mcptoolset.Config) {
			s.Headers = map[string]string{"Authorization": "Bearer hunter2hunter2"}
		})
		out, err := invoke(t.Context(), toolsOf(t, ts)["plain"], `{}`)
		switch {
		case tt.output != "":
			if err != nil || !out.Failed || out.Text != tt.output {
				t.Errorf("%s: %+v, %v", tt.why, out, err)
			}
		case err == nil || errors.Is(err, agent.ErrOutcomeUnknown) != tt.unknown ||
			!strings.Contains(err.Error(), tt.want):
			t.Errorf("%s: %+v, %v", tt.why, out, err)
		case strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: the error shows a secret: %v", tt.why, err)
		}
	}
}

// A time limit that somebody else has set ends the wait for an answer: that says nothing about the call.
func TestTimeOfTheCallerIsUp(t *testing.T) {
	t.Parallel()
	for list, unknown := range map[string]bool{plainTool: true, readingTool: false} {
		ended := make(chan struct{})
		raw := &rawServer{list: tools(list)}
		raw.answer = func(http.ResponseWriter, json.RawMessage, json.RawMessage) { <-ended }
		ts, _ := raw.start(t, func(s *mcptoolset.ServerConfig, _ *mcptoolset.Config) { s.Trusted = true })
		tool := toolsOf(t, ts)["plain"]
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := invoke(ctx, tool, `{}`)
		cancel()
		close(ended)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, agent.ErrOutcomeUnknown) != unknown {
			t.Errorf("%s: %v", list, err)
		}
	}
}

// Nothing that a server asks is answered, and calls go on all the same.
func TestRefusesRequests(t *testing.T) {
	t.Parallel()
	everyTransport(t, func(t *testing.T, cfg mcptoolset.ServerConfig) {
		out := call(t, toolsOf(t, newToolset(t, mcptoolset.Config{Server: newServer(t, cfg)}))["nosy"], `{}`).Text
		lines := strings.Split(out, "\n")
		for i, what := range []string{"sampling", "elicitation", "roots"} {
			if !strings.HasPrefix(lines[i], what+": ") || strings.HasSuffix(lines[i], "<nil>") {
				t.Errorf("the server got an answer: %s", lines[i])
			}
		}
		if lines[len(lines)-1] != "ping: <nil>" {
			t.Errorf("control: %s", lines[len(lines)-1])
		}
	})
}

// A server that is started gets its own variables and few others.
func TestEnvironment(t *testing.T) {
	t.Setenv("COUNTERSIGN_TEST_SECRET", "not for servers")
	t.Setenv("LANG", "tlh")
	tool := toolsOf(t, newToolset(t, mcptoolset.Config{Server: newServer(t, self(t, "server", "GREETING",
		"for the server"))}))["environment"]
	out := call(t, tool, `{}`).Text
	if strings.Contains(out, "not for servers") || !strings.Contains(out, "GREETING=for the server") ||
		!strings.Contains(out, "LANG=tlh") {
		t.Errorf("environment:\n%s", out)
	}
}

// A server that has taken a call, and whose answer's stream breaks, may have carried the call out, whatever it says
// about the rest of the stream. Nothing is sent again.
func TestLostStream(t *testing.T) {
	t.Parallel()
	for _, status := range []int{
		http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusInternalServerError,
	} {
		var carriedOut atomic.Int64
		raw := &rawServer{streams: status, answer: func(w http.ResponseWriter, _, _ json.RawMessage) {
			carriedOut.Add(1)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 1\nretry: 1\ndata:\n\n")
		}}
		ts, _ := raw.start(t, nil)
		out, err := invoke(t.Context(), toolsOf(t, ts)["plain"], `{}`)
		if !errors.Is(err, agent.ErrOutcomeUnknown) {
			t.Errorf("%d: output %+v, %v", status, out, err)
		}
		if n := carriedOut.Load(); n != 1 {
			t.Errorf("%d: carried out %d times", status, n)
		}
	}
}

// A redirect says nothing about the request that followed it.
func TestLostBehindRedirect(t *testing.T) {
	t.Parallel()
	var carriedOut atomic.Int64
	raw := &rawServer{list: tools(plainTool), answer: func(w http.ResponseWriter, _, _ json.RawMessage) {
		carriedOut.Add(1)
		panic(http.ErrAbortHandler)
	}}
	mux := http.NewServeMux()
	mux.Handle("/mcp/", raw)
	mux.Handle("/mcp", http.RedirectHandler("/mcp/", http.StatusTemporaryRedirect))
	srv := overHTTP(t, mux)
	ts := newToolset(t, mcptoolset.Config{
		Server: newServer(t, mcptoolset.ServerConfig{Name: "raw", URL: srv.URL + "/mcp"}),
	})
	out, err := invoke(t.Context(), toolsOf(t, ts)["plain"], `{}`)
	if !errors.Is(err, agent.ErrOutcomeUnknown) || carriedOut.Load() != 1 {
		t.Errorf("carried out %d times: output %+v, %v", carriedOut.Load(), out, err)
	}
}
