package openaimodel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"countersign/agent"
	"countersign/agent/openaimodel"
)

// Whatever a server of tools calls the arguments of a tool, OpenAI takes it: what it lacks is put in on the wire, and
// what it refuses is left out of it.
func TestSchemasThatOpenAIRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ why, schema, sent string }{
		{"no arguments", `{"type":"object"}`, `{"type":"object","properties":{}}`},
		{"no arguments, in full", ` {"$schema":"x", "type": "object", "required": [] } `,
			`{"$schema":"x","type":"object","required":[],"properties":{}}`},
		{"lists of anything", `{"type":"object","properties":{"z":{"type":"array"},"a":{"anyOf":[` +
			`{"type":["array","null"]},{"type":"array","items":{"type":"array"}}],"default":1.50}}}`,
			`{"type":"object","properties":{"z":{"type":"array","items":{}},"a":{"anyOf":[` +
				`{"type":["array","null"],"items":{}},{"type":"array","items":{"type":"array","items":{}}}],` +
				`"default":1.50}}}`},
		{"arguments called like keywords",
			`{"type":"object","properties":{"items":{"type":"string"},"type":{"const":"array"}}}`,
			`{"type":"object","properties":{"items":{"type":"string"},"type":{"const":"array"}}}`},
		{"a choice", `{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{},"b":{}}}`},
		{"choices of arguments", `{"type":"object","oneOf":[` +
			`{"properties":{"url":{"type":"string"}},"required":["url"]},` +
			`{"properties":{"files":{"type":"array"},"url":{}}}],"description":"<d>"}`, `{"type":"object",` +
			`"description":"<d>","properties":{"url":{"type":"string"},"files":{"type":"array","items":{}}}}`},
	} {
		for _, api := range []openaimodel.API{openaimodel.Responses, openaimodel.ChatCompletions} {
			s := serve(t, says("fine"))
			m := modelOf(t, s, func(c *openaimodel.Config) { c.API = api })
			_, err := m.Respond(t.Context(), &agent.ModelRequest{
				Items: []agent.Item{agent.UserMessage("x")},
				Tools: []agent.ToolDefinition{
					{Wire: agent.WireFunction, Name: "t", Parameters: json.RawMessage(tt.schema)},
				},
			})
			all := s.Requests()
			if err != nil || !strings.Contains(string(all[len(all)-1].Body), `"parameters":`+tt.sent) {
				t.Errorf("%s, %s: %v\n%s", tt.why, api, err, all[len(all)-1].Body)
			}
		}
	}
}

// OpenAI's Chat Completions take no longer description of a function. Other servers do, so it is cut only once one was
// refused.
func TestLongDescription(t *testing.T) {
	t.Parallel()
	s := serve(t, says("fine"))
	m := modelOf(t, s, func(c *openaimodel.Config) { c.API = openaimodel.ChatCompletions })
	long := strings.Repeat("ü", 1500)
	for range 2 {
		_, err := m.Respond(t.Context(), &agent.ModelRequest{
			Items: []agent.Item{agent.UserMessage("x")},
			Tools: []agent.ToolDefinition{{Wire: agent.WireFunction, Name: "t", Description: long}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var sent []int
	for _, r := range s.Requests() {
		sent = append(sent, strings.Count(string(r.Body), "ü"))
	}
	if fmt.Sprint(sent) != "[1500 1023 1023]" {
		t.Errorf("of 1500 characters were sent %v", sent)
	}
}

// Runs that begin together, as after a start, are refused together: what the server refuses of one is left out of all.
func TestRefusedTogether(t *testing.T) {
	t.Parallel()
	const choice = `{"error":{"message":"Invalid schema for function 't': schema must have type 'object' and not ` +
		`have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.","type":"invalid_request_error",` +
		`"param":"tools[0].function.parameters","code":"invalid_function_parameters"}}`
	const long = `{"error":{"message":"Invalid 'tools[0].function.description': string too long.",` +
		`"type":"invalid_request_error","param":"tools[0].function.description","code":"string_above_max_length"}}`
	tooLong := strings.Repeat("d", 1500)
	for _, tt := range []struct {
		api                  openaimodel.API
		answer, body, refuse string
	}{
		{openaimodel.Responses, "text.json", choice, "oneOf"},
		{openaimodel.ChatCompletions, "chat_text.json", choice, "oneOf"},
		{openaimodel.ChatCompletions, "chat_text.json", long, tooLong},
	} {
		fine := recorded(t, tt.answer)
		var refused, ended sync.WaitGroup
		refused.Add(2)
		m := newModel(t, roundTripper(func(r *http.Request) (*http.Response, error) {
			if body, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(body), tt.refuse) {
				return answer(200, fine), err
			}
			refused.Done() // both are under way
			refused.Wait()
			return answer(400, tt.body), nil
		}), func(c *openaimodel.Config) { c.API = tt.api })
		for range 2 {
			ended.Go(func() {
				_, err := m.Respond(t.Context(), &agent.ModelRequest{
					Items: []agent.Item{agent.UserMessage("x")},
					Tools: []agent.ToolDefinition{{
						Wire: agent.WireFunction, Name: "t", Description: tooLong,
						Parameters: json.RawMessage(`{"type":"object","properties":{},"oneOf":[{},{}]}`),
					}},
				})
				if err != nil {
					t.Errorf("%s: %v", tt.api, err)
				}
			})
		}
		ended.Wait()
	}
}

// What the server refuses is known by its own words, also where those of the conversation are the same, which are taken
// out of what people read.
func TestRefusedInWordsOfTheConversation(t *testing.T) {
	t.Parallel()
	const choice = `{"error":{"message":"Invalid schema for function 't': schema must have type 'object' and not ` +
		`have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.","type":"invalid_request_error",` +
		`"param":"tools[0].function.parameters","code":"invalid_function_parameters"}}`
	const layout = "Keep files at the top level of the repository."
	for _, tt := range []struct {
		api                        openaimodel.API
		answer, body, said, refuse string
	}{
		{openaimodel.Responses, "text.json", choice, layout, "oneOf"},
		{openaimodel.ChatCompletions, "chat_text.json", choice, layout, "oneOf"},
		{openaimodel.Responses, "text.json", `{"error":{"message":"Encrypted content is not supported with this ` +
			`model.","type":"invalid_request_error"}}`, "The log says: Encrypted content is not supported.", "include"},
		{openaimodel.ChatCompletions, "chat_text.json", `{"detail":"Unknown field 'stream_options'."}`,
			"What are stream_options?", `stream_options":{`},
		{openaimodel.ChatCompletions, "chat_text.json", `{"detail":[{"loc":["body","stream_options"],` +
			`"msg":"Extra inputs are not permitted","input":{"include_usage":true}}]}`, "Hello.", `stream_options":{`},
	} {
		fine, n := recorded(t, tt.answer), 0
		m := newModel(t, roundTripper(func(r *http.Request) (*http.Response, error) {
			n++
			if body, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(body), tt.refuse) {
				return answer(200, fine), err
			}
			return answer(400, tt.body), nil
		}), func(c *openaimodel.Config) { c.API, c.Streaming = tt.api, true })
		_, err := m.Respond(t.Context(), &agent.ModelRequest{
			Items: []agent.Item{agent.UserMessage(tt.said)},
			Tools: []agent.ToolDefinition{{
				Wire: agent.WireFunction, Name: "t",
				Parameters: json.RawMessage(`{"type":"object","properties":{},"oneOf":[{},{}]}`),
			}},
		})
		if err != nil || n != 2 {
			t.Errorf("%s, %q: %v after %d requests", tt.api, tt.said, err, n)
		}
	}
}

// An agent with more tools than OpenAI takes reads what to do about it.
func TestTooManyTools(t *testing.T) {
	t.Parallel()
	m := modelOf(t, serve(t, says("fine")), func(c *openaimodel.Config) { c.API = openaimodel.ChatCompletions })
	req := &agent.ModelRequest{Items: []agent.Item{agent.UserMessage("x")}}
	for i := range 129 {
		req.Tools = append(req.Tools, agent.ToolDefinition{Wire: agent.WireFunction, Name: fmt.Sprint("t", i)})
	}
	_, err := m.Respond(t.Context(), req)
	if err == nil || !strings.Contains(err.Error(), "length 129 instead; give the agent fewer tools") {
		t.Error(err)
	}
}

// A turn of more calls than OpenAI takes in one message is sent as several messages, each with its outputs.
func TestManyCallsInOneTurn(t *testing.T) {
	t.Parallel()
	s := serve(t, says("fine"))
	m := modelOf(t, s, func(c *openaimodel.Config) { c.API = openaimodel.ChatCompletions })
	items := []agent.Item{agent.UserMessage("x")}
	for i := range 300 {
		items = append(items, agent.Item{
			Type: agent.ItemFunctionCall, CallID: fmt.Sprint("call_", i), Name: "count", Arguments: "{}",
		})
	}
	for i := range 300 {
		items = append(items, agent.Item{
			Type: agent.ItemFunctionCallOutput, CallID: fmt.Sprint("call_", i), Output: "1",
		})
	}
	if _, err := m.Respond(t.Context(), &agent.ModelRequest{Items: items}); err != nil {
		t.Error(err)
	}
	if n := len(s.Requests()[0].Outputs()); n != 300 {
		t.Errorf("%d of 300 outputs were sent", n)
	}
}

// A call with a name that no tool can have is answered, and the conversation goes on: OpenAI refuses such names in what
// the model is said to have called. It refuses long ids too, which other servers make, and itself at times.
func TestCallsThatOpenAIRefusesToHear(t *testing.T) {
	t.Parallel()
	long := "call_" + strings.Repeat("0123456789abcdef", 4)
	limits := map[openaimodel.API]int{openaimodel.Responses: 64, openaimodel.ChatCompletions: 40}
	for _, name := range []string{"multi_tool_use.parallel", "", strings.Repeat("n", 65), "pay"} {
		for _, id := range []string{"call_1", "chatcmpl-tool-0123456789abcdef0123456789abcdef", long} {
			for api, limit := range limits {
				s := serve(t, says("fine"))
				m := modelOf(t, s, func(c *openaimodel.Config) { c.API = api })
				raw, err := json.Marshal(map[string]string{
					"type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": "{}",
				})
				if err != nil {
					t.Fatal(err)
				}
				call, err := agent.ParseItem(raw)
				if err != nil {
					t.Fatal(err)
				}
				_, err = m.Respond(t.Context(), &agent.ModelRequest{Items: []agent.Item{
					agent.UserMessage("x"), call, agent.CallOutput(id, "no such tool"),
				}})
				if err != nil {
					t.Errorf("%s, %q: %v", api, name, err)
				}
				for at, output := range s.Requests()[0].Outputs() {
					if output != "no such tool" || len(at) > limit || (at == id) != (len(id) <= limit) {
						t.Errorf("%s, %q: call %s has the output %q", api, name, at, output)
					}
				}
				if body := string(s.Requests()[0].Body); api == openaimodel.Responses && name == "pay" && id != long &&
					!strings.Contains(body, string(raw)) {
					t.Errorf("a call that can be sent is not sent as it was: %s", body)
				}
			}
		}
	}
}

// What the server keeps of a conversation has its calls under their own ids, however long they are.
func TestLongIDOfACallThatTheServerKeeps(t *testing.T) {
	t.Parallel()
	id := "call_" + strings.Repeat("0123456789abcdef", 4)
	var body string
	fine := recorded(t, "text.json")
	m := newModel(t, roundTripper(func(r *http.Request) (*http.Response, error) {
		data, err := io.ReadAll(r.Body)
		body = string(data)
		return answer(200, fine), err
	}), nil)
	_, err := m.Respond(t.Context(), &agent.ModelRequest{
		PreviousResponseID: "resp_1", Items: []agent.Item{agent.CallOutput(id, "done")},
	})
	if err != nil || !strings.Contains(body, id) {
		t.Errorf("%v: %s", err, body)
	}
}
