package openaidev_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"countersign/internal/openaidev"
)

// start serves the configuration until the test ends.
func start(t *testing.T, cfg openaidev.Config) *openaidev.Server {
	t.Helper()
	s, err := openaidev.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// conversation plays an agent against a handler: it answers the calls with outputs and keeps the items.
type conversation struct {
	t       *testing.T
	handler http.Handler
	items   []json.RawMessage
	tools   string
}

const demoTools = `[
	{"type":"function","name":"get_balance",
		"parameters":{"type":"object","properties":{"account":{"type":"string"}}},"strict":false},
	{"type":"function","name":"lookup_invoice",
		"parameters":{"type":"object","properties":{"number":{"type":"string"}}},"strict":false},
	{"type":"function","name":"transfer_funds",
		"parameters":{"type":"object","properties":{"amount":{"type":"number"}}},"strict":false}]`

type reply struct {
	ID     string            `json:"id"`
	Status string            `json:"status"`
	Output []json.RawMessage `json:"output"`
	Error  struct {
		Message string `json:"message"`
	} `json:"error"`
}

type callItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Input     string `json:"input"`
	Content   []struct {
		Text string `json:"text"`
	} `json:"content"`
}

func (c *conversation) say(text string) {
	raw, _ := json.Marshal(map[string]string{"role": "user", "content": text})
	c.items = append(c.items, raw)
}

func (c *conversation) output(callID, text string) {
	raw, _ := json.Marshal(map[string]string{"type": "function_call_output", "call_id": callID, "output": text})
	c.items = append(c.items, raw)
}

// ask sends the conversation, keeps what comes back, and returns the calls and the text of it.
func (c *conversation) ask() (calls []callItem, text string) {
	c.t.Helper()
	body := fmt.Sprintf(
		`{"model":"gpt-5.2","store":false,"include":["reasoning.encrypted_content"],"tools":%s,"input":%s}`,
		c.tools, join(c.items))
	status, r := post(c.t, c.handler, body)
	if status != 200 {
		c.t.Fatalf("status %d: %s", status, r.Error.Message)
	}
	c.items = append(c.items, r.Output...)
	for _, raw := range r.Output {
		var it callItem
		if err := json.Unmarshal(raw, &it); err != nil {
			c.t.Fatal(err)
		}
		switch it.Type {
		case "function_call", "custom_tool_call":
			calls = append(calls, it)
		case "message":
			text += it.Content[0].Text
		}
	}
	return calls, text
}

func join(items []json.RawMessage) string {
	return "[" + string(bytes.Join(rawBytes(items), []byte(","))) + "]"
}

func rawBytes(items []json.RawMessage) [][]byte {
	out := make([][]byte, len(items))
	for i, it := range items {
		out[i] = it
	}
	return out
}

func post(t *testing.T, h http.Handler, body string) (int, reply) {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/v1/responses", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer sk-test")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	var r reply
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatalf("answer is no JSON: %v\n%s", err, w.Body)
	}
	return w.Code, r
}

func handler(t *testing.T, s openaidev.Script) *openaidev.Handler {
	t.Helper()
	h, err := openaidev.NewHandler(openaidev.Config{Script: s})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A request that is repeated gets the same ids, written differently too; another request gets others.
func TestIDsFollowFromTheRequest(t *testing.T) {
	t.Parallel()
	h := handler(t, openaidev.Demo())
	ask := func(body string) reply {
		_, r := post(t, h, body)
		return r
	}
	one := ask(`{"model":"m","tools":` + demoTools + `,"input":[{"role":"user","content":"pay invoice 1042"}]}`)
	again := ask(`{"tools":` + demoTools + `,"input":[ {"role":"user", "content":"pay invoice 1042"} ], "model":"m"}`)
	other := ask(`{"model":"m","tools":` + demoTools + `,"input":[{"role":"user","content":"pay invoice 1043"}]}`)
	if one.ID != again.ID || !bytes.Equal(one.Output[1], again.Output[1]) {
		t.Errorf("the same request got other ids: %s, %s", one.Output[1], again.Output[1])
	}
	if one.ID == other.ID || bytes.Equal(one.Output[1], other.Output[1]) {
		t.Errorf("another request got the same ids: %s", other.Output[1])
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const (
		user   = `{"role":"user","content":"hi"}`
		call   = `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`
		output = `{"type":"function_call_output","call_id":"c1","output":"ok"}`
		tl     = `{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{"type":"string"}},` +
			`"required":["a"],"additionalProperties":false},"strict":true}`
	)
	input := func(items ...string) string { return `{"model":"m","input":[` + strings.Join(items, ",") + `]}` }
	with := func(rest string) string { return `{"model":"m","input":[` + user + `],` + rest + `}` }
	open := func(schema string) string {
		return `"tools":[{"type":"function","name":"f","strict":false,"parameters":{` + schema + `}}]`
	}
	for _, tt := range []struct{ why, body, want string }{
		{"not JSON", `{"model":`, "could not parse"},
		{"no model", `{"input":"hi"}`, "'model'"},
		{"no input", `{"model":"m"}`, "'input'"},
		{"unknown parameter", with(`"temprature":1`), "Unknown parameter: 'temprature'"},
		{"orphan call", input(user, call), "No tool output found for function call c1"},
		{"orphan output", input(user, output), "No tool call found for function call output with call_id c1"},
		{"output before its call", input(user, output, call), "No tool call found"},
		{"same call id twice", input(user, call, output, call, output), "Duplicate function call"},
		{"two outputs for one call", input(user, call, output, output), "Duplicate function call output"},
		{"call without arguments", input(`{"type":"function_call","call_id":"c","name":"f"}`),
			"Missing required parameter"},
		{"output that is an object",
			input(call, `{"type":"function_call_output","call_id":"c1","output":{"a":1}}`), "expected a string"},
		{"unknown item type", input(`{"type":"surprise","id":"x"}`), "Invalid value: 'surprise'"},
		{"same item id twice",
			input(`{"id":"m1","role":"user","content":"a"}`, `{"id":"m1","role":"user","content":"a"}`),
			"Duplicate item"},
		{"wrong part for the role",
			input(`{"role":"assistant","content":[{"type":"input_text","text":"a"}]}`), "'output_text'"},
		{"no role", input(`{"type":"message","content":"a"}`), "'assistant'"},
		{"reasoning without content while nothing is stored", `{"model":"m","store":false,` +
			`"input":[{"type":"reasoning","id":"rs_1","summary":[]},` + call + "," + output + `]}`, "not found"},
		{"reasoning that was changed",
			input(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`, call, output),
			"could not be verified"},
		{"reasoning at the end", input(`{"type":"reasoning","id":"rs_1","summary":[]}`), "required following item"},
		{"tool without a name", with(`"tools":[{"type":"function"}]`), "tools[0].name"},
		{"tool without a type", with(`"tools":[{"name":"f"}]`), "tools[0].type"},
		{"tool without parameters", with(`"tools":[{"type":"function","name":"f"}]`), "type: \"None\""},
		{"two tools of a name", with(`"tools":[` + tl + `,` + tl + `]`), "unique"},
		{"strict, property not required",
			with(`"tools":[` + strings.Replace(tl, `"required":["a"]`, `"required":[]`, 1) + `]`), "Missing 'a'"},
		{"strict, open object", with(`"tools":[` + strings.Replace(tl, `,"additionalProperties":false`, ``, 1) + `]`),
			"additionalProperties"},
		{"strict, unsupported keyword inside",
			with(`"tools":[` + strings.Replace(tl, `{"type":"string"}`, `{"type":"string","default":"x"}`, 1) + `]`),
			"'default' is not permitted"},
		{"not strict, no properties", with(open(`"type":"object"`)), "In context=(), object schema missing properties"},
		{"not strict, a list of anything",
			with(open(`"type":"object","properties":{"v":{"type":"array","items":{"type":"array"}}}`)),
			"In context=('properties', 'v', 'items'), array schema missing items"},
		{"not strict, a choice", with(open(`"type":"object","properties":{},"oneOf":[{}]`)), "at the top level"},
		{"tool choice without such a tool",
			with(`"tools":[` + tl + `],"tool_choice":{"type":"function","name":"g"}`), "not found in 'tools'"},
		{"unknown tool choice", with(`"tool_choice":"maybe"`), "Supported values"},
		{"server-side state", with(`"previous_response_id":"resp_1"`), "not found"},
		{"few tokens", with(`"max_output_tokens":3`), "integer below minimum"},
		{"unknown effort", with(`"reasoning":{"effort":"extreme"}`), "extreme"},
		{"unknown include", with(`"include":["everything"]`), "everything"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			status, r := post(t, handler(t, openaidev.Script{}), tt.body)
			if status < 400 || status >= 500 || !strings.Contains(r.Error.Message, tt.want) {
				t.Errorf("got %d %q, want a refusal with %q", status, r.Error.Message, tt.want)
			}
		})
	}
	for _, tt := range []struct{ why, body string }{
		{"a string as input", `{"model":"m","input":"hi"}`},
		{"a pair", input(user, call, output)},
		{"outputs in another order",
			input(user, call,
				`{"type":"function_call","call_id":"c2","name":"f","arguments":"{}"}`,
				`{"type":"function_call_output","call_id":"c2","output":"b"}`, output)},
		{"a strict tool that qualifies", with(`"tools":[` + tl + `],"tool_choice":{"type":"function","name":"f"}`)},
		{"an open schema that is not strict",
			with(`"tools":[{"type":"function","name":"f","strict":false,"parameters":` +
				`{"type":"object","properties":{"a":{"type":"object"},"b":{"anyOf":[{}]}},"default":{}}}]`)},
	} {
		t.Run("control: "+tt.why, func(t *testing.T) {
			t.Parallel()
			if status, r := post(t, handler(t, openaidev.Script{}), tt.body); status != 200 {
				t.Errorf("got %d %q, want 200", status, r.Error.Message)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := start(t, openaidev.Config{APIKey: "sk-right"})
	for key, want := range map[string]int{"": 401, "Bearer sk-wrong": 401, "sk-right": 401, "Bearer sk-right": 200} {
		req, _ := http.NewRequest(
			http.MethodPost, s.URL()+"/responses", strings.NewReader(`{"model":"m","input":"hi"}`))
		if key != "" {
			req.Header.Set("Authorization", key)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("key %q: status %d, want %d", key, res.StatusCode, want)
		}
	}
	if n := len(s.Requests()); n != 1 {
		t.Errorf("%d requests recorded, want the accepted one", n)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	s := openaidev.Script{Rules: []openaidev.Rule{
		{User: `weather in (\w+)`,
			Reply: openaidev.Reply{Calls: []openaidev.Call{{Name: "weather", Arguments: `{"city":"$1"}`}}}},
		{User: `weather`, Round: 1, Output: `rain`, Reply: openaidev.Reply{Text: `Take an umbrella: $output`}},
		{User: `weather`, Round: openaidev.AnyRound, Func: func(t *openaidev.Turn) openaidev.Reply {
			return openaidev.Reply{Text: "In " + t.Output().Argument("city") + ": " + t.Output().Field("sky")}
		}},
		{User: `odd`, Reply: openaidev.Reply{
			Raw: []json.RawMessage{[]byte(`{"type":"novelty","id":"n1","x":[1]}`)}, Text: "odd",
		}},
		{User: `quote (.*)`, Reply: openaidev.Reply{Text: "$1 costs $$5", Calls: []openaidev.Call{
			{Name: "quote", Arguments: `{"text":"${1}!"}`}, {Name: "raw", Kind: openaidev.CallCustom, Arguments: "$1"},
		}}},
	}}
	for _, tt := range []struct{ output, want string }{
		{"rain all day", "Take an umbrella: rain all day"},
		{`{"sky":"blue"}`, "In Rome: blue"},
	} {
		c := &conversation{t: t, handler: handler(t, s), tools: "[]"}
		c.say("what is the weather in Rome")
		calls, _ := c.ask()
		if len(calls) != 1 || calls[0].Arguments != `{"city":"Rome"}` {
			t.Fatalf("calls %+v", calls)
		}
		c.output(calls[0].CallID, tt.output)
		if _, text := c.ask(); text != tt.want {
			t.Errorf("text %q, want %q", text, tt.want)
		}
	}
	c := &conversation{t: t, handler: handler(t, s), tools: "[]"}
	c.say("something odd")
	if _, text := c.ask(); text != "odd" {
		t.Errorf("text %q", text)
	}
	c.say("again")
	c.ask() // the novelty comes back and is accepted
	c = &conversation{t: t, handler: handler(t, s), tools: "[]"}
	c.say(`quote "it"`)
	calls, text := c.ask()
	if text != `"it" costs $5` || len(calls) != 2 || calls[0].Arguments != `{"text":"\"it\"!"}` ||
		calls[1].Input != `"it"` {
		t.Errorf("%q %+v", text, calls)
	}
	for _, bad := range []openaidev.Rule{
		{User: "("}, {Output: "("}, {User: "(a)", Reply: openaidev.Reply{Text: "$2"}},
		{Reply: openaidev.Reply{Reasoning: "$x"}},
		{Reply: openaidev.Reply{Calls: []openaidev.Call{{Name: "f", Arguments: "$1"}}}},
	} {
		_, err := openaidev.NewHandler(openaidev.Config{Script: openaidev.Script{Rules: []openaidev.Rule{bad}}})
		if err == nil {
			t.Errorf("rule %+v was accepted", bad)
		}
	}
}

// fetch sends a request over the network and returns what arrived.
func fetch(t *testing.T, s *openaidev.Server, stream bool) (*http.Response, []byte, error) {
	t.Helper()
	body := fmt.Sprintf(`{"model":"m","input":"hi","stream":%t}`, stream)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/responses", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer k")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res, data, err
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := start(t, openaidev.Config{Script: openaidev.Script{Faults: []openaidev.Fault{
		{Status: 429, Code: "rate_limit_exceeded", Message: "slow down", Header: http.Header{"Retry-After": {"3"}}},
		{Reset: true},
		{Body: "<html>", Header: http.Header{"Content-Type": {"text/html"}}, Status: 502},
		{CutAfter: 10},
		{CutAfter: -1},
		{},
	}}})
	res, data, err := fetch(t, s, false)
	if err != nil || res.StatusCode != 429 || res.Header.Get("Retry-After") != "3" ||
		!strings.Contains(string(data), "slow down") {
		t.Errorf("status fault: %v %s", err, data)
	}
	if _, _, err = fetch(t, s, false); err == nil {
		t.Error("reset: no error")
	}
	if res, data, err = fetch(t, s, false); err != nil || res.StatusCode != 502 || string(data) != "<html>" {
		t.Errorf("body fault: %v %s", err, data)
	}
	if _, data, err = fetch(t, s, false); err == nil || len(data) != 10 {
		t.Errorf("cut after 10: %v, %d bytes", err, len(data))
	}
	if res, data, err = fetch(t, s, true); err == nil || len(data) != 0 || res.StatusCode != 200 {
		t.Errorf("cut after the headers: %v, %d bytes", err, len(data))
	}
	for range 2 { // the zero fault, and no fault any more
		if res, _, err = fetch(t, s, false); err != nil || res.StatusCode != 200 {
			t.Errorf("control: %v", err)
		}
	}
	if n := len(s.Requests()); n != 7 {
		t.Errorf("%d requests recorded, want 7", n)
	}
}

func TestHangUntilReleased(t *testing.T) {
	t.Parallel()
	arrived := make(chan openaidev.Request, 2)
	s := start(t, openaidev.Config{OnRequest: func(r openaidev.Request) { arrived <- r }})
	s.Inject(openaidev.Fault{Hang: true})
	done := make(chan error, 1)
	go func() {
		res, _, err := fetch(t, s, false)
		if err == nil && res.StatusCode != 200 {
			err = fmt.Errorf("status %d", res.StatusCode)
		}
		done <- err
	}()
	<-arrived
	select {
	case err := <-done:
		t.Fatalf("answered while hanging: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	for {
		s.Release() // the request hangs a moment after it was reported
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// A stream is a sequence of numbered events that ends with the same response a plain request gets.
func TestStream(t *testing.T) {
	t.Parallel()
	s := start(t, openaidev.Config{Script: openaidev.Script{Rules: []openaidev.Rule{{
		Round: openaidev.AnyRound,
		Reply: openaidev.Reply{
			Reasoning: "think", Text: "one two", Calls: []openaidev.Call{{Name: "f", Arguments: `{"a": 1}`}},
		},
	}}}})
	_, data, err := fetch(t, s, true)
	if err != nil {
		t.Fatal(err)
	}
	var text, last string
	for i, frame := range strings.Split(strings.TrimSuffix(string(data), "\n\n"), "\n\n") {
		head, payload, ok := strings.Cut(frame, "\ndata: ")
		if !ok {
			t.Fatalf("frame %d: %q", i, frame)
		}
		var e struct {
			Type   string `json:"type"`
			Number int    `json:"sequence_number"`
			Delta  string `json:"delta"`
		}
		if err := json.Unmarshal([]byte(payload), &e); err != nil || e.Number != i || head != "event: "+e.Type {
			t.Fatalf("frame %d: %v %q", i, err, frame)
		}
		if e.Type == "response.output_text.delta" {
			text += e.Delta
		}
		last = payload
	}
	if text != "one two" {
		t.Errorf("text %q", text)
	}
	var final struct {
		Response json.RawMessage `json:"response"`
	}
	if err := json.Unmarshal([]byte(last), &final); err != nil {
		t.Fatal(err)
	}
	_, plain, err := fetch(t, s, false)
	if err != nil {
		t.Fatal(err)
	}
	var a, b reply
	_ = json.Unmarshal(final.Response, &a)
	_ = json.Unmarshal(plain, &b)
	if a.ID == "" || a.ID != b.ID || join(a.Output) != join(b.Output) {
		t.Errorf("stream ended with\n%s\nplain answer was\n%s", final.Response, plain)
	}
}
