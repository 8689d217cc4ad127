package openaimodel_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"countersign/agent"
	"countersign/agent/openaimodel"
	"countersign/internal/openaidev"
)

// manage sends a request to the server that is not one for an answer.
func manage(t *testing.T, s *openaidev.Server, method, path string) (id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var body struct{ ID string }
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil || res.StatusCode != 200 {
		t.Fatal(res.Status, err)
	}
	return body.ID
}

// earlier answers with how many messages the server has seen before the last one.
func earlier() openaidev.Script {
	count := func(t *openaidev.Turn) openaidev.Reply {
		return openaidev.Reply{Text: strconv.Itoa(len(t.Earlier))}
	}
	return openaidev.Script{Rules: []openaidev.Rule{{Round: openaidev.AnyRound, Func: count}}}
}

// Only what is new is sent; the server has the rest, until it has not.
func TestKeptByTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, earlier())
	m := modelOf(t, s, nil)
	say := func(conversation, previous string) (*agent.ModelResponse, error) {
		return m.Respond(t.Context(), &agent.ModelRequest{
			Items: []agent.Item{agent.UserMessage("hello")}, Conversation: conversation, PreviousResponseID: previous,
			Stored: conversation == "",
		})
	}
	conversation := manage(t, s, http.MethodPost, "/conversations")
	var previous string
	for _, want := range []string{"0", "1", "2"} {
		res, err := say(conversation, "")
		if err != nil || res.Items[0].Text != want {
			t.Errorf("conversation: %+v, %v, want %s", res, err, want)
		}
		res, err = say("", previous)
		if err != nil || res.Items[0].Text != want {
			t.Fatalf("previous response: %+v, %v, want %s", res, err, want)
		}
		previous = res.ID
	}
	requests := s.Requests()
	for i, want := range map[int]string{
		4: `"store":true,"conversation":"` + conversation + `"`, 5: `"store":true,"previous_response_id":"resp_`,
	} {
		if body := string(requests[i].Body); !strings.Contains(body, want) || len(requests[i].Items()) != 1 {
			t.Errorf("request %d: %s", i, body)
		}
	}
	manage(t, s, http.MethodDelete, "/conversations/"+conversation)
	manage(t, s, http.MethodDelete, "/responses/"+previous)
	for i, want := range []string{
		"it does not have the conversation any more that this goes on from",
		"it does not have the response any more that this goes on from",
	} {
		_, err := say([]string{conversation, ""}[i], []string{"", previous}[i])
		if !errors.Is(err, openaimodel.ErrGone) || !strings.Contains(err.Error(), want+"; begin a new conversation") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := m.Respond(t.Context(), &agent.ModelRequest{
		Items: []agent.Item{agent.CallOutput("c", "x")}, PreviousResponseID: previous,
	})
	if !errors.Is(err, openaimodel.ErrGone) {
		t.Errorf("got %v", err)
	}
}

// Not every refusal of a request with state on the server means that the state is gone.
func TestOtherRefusalsAreNotGone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why, body string
		status    int
		req       agent.ModelRequest
		gone      bool
	}{
		{"the model is not there", `{"error":{"message":"The model 'x' was not found","code":"model_not_found"}}`,
			404, agent.ModelRequest{Conversation: "conv_1"}, false},
		{"an output is missing", `{"error":{"message":"No tool output found for function call c.","param":"input"}}`,
			400, agent.ModelRequest{PreviousResponseID: "resp_1"}, false},
		{"nothing is kept", `{"error":{"message":"Previous response with id 'resp_1' not found.",` +
			`"code":"previous_response_not_found"}}`, 400, agent.ModelRequest{}, false},
		{"the response, by its code", `{"error":{"message":"gone","code":"previous_response_not_found"}}`, 400,
			agent.ModelRequest{PreviousResponseID: "resp_1"}, true},
		{"the conversation, by its id", `{"error":{"message":"Conversation with id 'conv_1' not found."}}`, 404,
			agent.ModelRequest{Conversation: "conv_1"}, true},
	} {
		m := newModel(t, reply(tt.status, tt.body), nil)
		if _, err := m.Respond(t.Context(), &tt.req); err == nil || errors.Is(err, openaimodel.ErrGone) != tt.gone {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
}

// What a server, or the way to it, makes of a request.
const (
	refusal        = `{"error":{"message":"no"}}`
	failedResponse = `{"id":"r","status":"failed","error":{"code":"server_error","message":"x"},"output":[]}`
)

func answers(code int, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return answer(code, body), nil }
}

func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func unreachable(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
}

// A turn that a conversation may have taken in is not sent twice. Without a conversation, or when the server certainly
// did not take it in, the same fault passes.
func TestConversationIsNotToldTwice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why   string
		fail  func(*http.Request) (*http.Response, error)
		again bool
	}{
		{"cut short", answers(200, `{"id":"r","output":[`), false},
		{"silence", silent, false},
		{"a connection that broke", func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}
		}, false},
		{"a gateway that gave up", answers(504, refusal), false},
		{"no connection", unreachable, true},
		{"too fast", answers(429, refusal), true},
		{"busy with another turn", answers(409, refusal), true},
		{"a server error", answers(500, refusal), true},
		{"a failed response", answers(200, failedResponse), true},
	} {
		for _, conversation := range []string{"conv_1", ""} {
			n := 0
			var err error
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, roundTripper(func(r *http.Request) (*http.Response, error) {
					if n++; n == 1 {
						return tt.fail(r)
					}
					return answer(200, completed), nil
				}), func(c *openaimodel.Config) { c.MaxAttempts = 2 })
				_, err = m.Respond(t.Context(), &agent.ModelRequest{Conversation: conversation})
			})
			again := tt.again || conversation == ""
			if (err == nil) != again || (n == 2) != again {
				t.Errorf("%s, conversation %q: %d requests, %v", tt.why, conversation, n, err)
			}
			if !again && !strings.Contains(err.Error(), "may have got the turn nevertheless") {
				t.Errorf("%s: %v", tt.why, err)
			}
		}
	}
}

// A request that says that a call is approved is not sent twice where the server may have begun to answer: it may have
// carried the call out. When the server certainly did not, or has answered it before, the same fault passes.
func TestApprovedCallIsNotSentTwice(t *testing.T) {
	t.Parallel()
	asked := parsed(t, `{"type":"mcp_approval_request","id":"m1","server_label":"wiki","name":"ask","arguments":"{}"}`)
	said := parsed(t, `{"type":"mcp_call","id":"mc","server_label":"wiki","name":"ask","arguments":"{}","output":"ok"}`)
	approved, rejected := asked.Answer(agent.ToolOutput{}), asked.Answer(agent.ToolOutput{Failed: true})
	user := agent.UserMessage("and then?")
	for _, tt := range []struct {
		why   string
		fail  func(*http.Request) (*http.Response, error)
		again bool
	}{
		{"cut short", answers(200, `{"id":"r","output":[`), false},
		{"silence", silent, false},
		{"a gateway that gave up", answers(504, refusal), false},
		{"a server error", answers(500, refusal), false},
		{"a failed response", answers(200, failedResponse), false},
		{"a conflict", answers(409, refusal), false},
		{"no connection", unreachable, true},
		{"too fast", answers(429, refusal), true},
	} {
		for name, items := range map[string][]agent.Item{
			"open": {asked, approved}, "open, and more was said": {asked, approved, user},
			"answered": {asked, approved, said, user}, "rejected": {asked, rejected},
		} {
			n := 0
			var err error
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, roundTripper(func(r *http.Request) (*http.Response, error) {
					if n++; n == 1 {
						return tt.fail(r)
					}
					return answer(200, completed), nil
				}), func(c *openaimodel.Config) { c.MaxAttempts = 2 })
				_, err = m.Respond(t.Context(), &agent.ModelRequest{Items: items})
			})
			again := tt.again || !strings.HasPrefix(name, "open")
			if (err == nil) != again || (n == 2) != again {
				t.Errorf("%s, %s: %d requests, %v", tt.why, name, n, err)
			}
			if err != nil && !strings.Contains(err.Error(), "may have been carried out nevertheless") {
				t.Errorf("%s: %v", tt.why, err)
			}
		}
	}
}

// On a real connection the turn is there once.
func TestConversationAfterACut(t *testing.T) {
	t.Parallel()
	s := serve(t, earlier())
	conversation := manage(t, s, http.MethodPost, "/conversations")
	say := func() (*agent.ModelResponse, error) {
		return modelOf(t, s, nil).Respond(t.Context(), &agent.ModelRequest{
			Items: []agent.Item{agent.UserMessage("hello")}, Conversation: conversation,
		})
	}
	s.Inject(openaidev.Fault{CutAfter: 100})
	if _, err := say(); err == nil {
		t.Fatal("the cut was not noticed")
	}
	if res, err := say(); err != nil || res.Items[0].Text != "1" {
		t.Errorf("%+v, %v", res, err)
	}
}

// Servers repeat what they were sent: of tools that the provider executes and of items that stand only in JSON, too.
func TestErrorsTellNothingOfHostedToolsAndItems(t *testing.T) {
	t.Parallel()
	req := &agent.ModelRequest{
		Items: []agent.Item{
			parsed(t, `{"type":"shell_call","call_id":"s",`+
				`"action":{"commands":["mysql --password=hunter2-hunter2 \"prod\""]}}`),
			parsed(t, `{"type":"mcp_approval_response","approval_request_id":"m","approve":false,`+
				`"reason":"the merger with Initech"}`),
		},
		Tools: []agent.ToolDefinition{{Name: "wiki", Wire: agent.WireHosted, Hosted: json.RawMessage(
			`{"type":"mcp","server_label":"wiki","server_url":"https://internal.example.com/mcp",` +
				`"authorization":"tok_4711","headers":{"X-Auth":"abc123xyz","X-Other":"abc123xyz-kept9",` +
				`"X-Third":"Bearer third3"}}`)}},
	}
	for _, message := range []string{
		"could not run mysql --password=hunter2-hunter2 \"prod\" there",
		"Invalid value: 'the merger with Initech'.",
		"MCP server said 401 for tok_4711 and abc123xyz",
		"MCP server said 401 for abc123xyz-kept9 and third3",
		"cannot reach https://internal.example.com/mcp now",
	} {
		body, _ := json.Marshal(map[string]any{"error": map[string]string{"message": message}})
		m := newModel(t, roundTripper(func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			return answer(424, string(body)), nil
		}), nil)
		_, err := m.Respond(t.Context(), req)
		for _, leak := range []string{
			"hunter2", "merger", "tok_4711", "abc123xyz", "kept9", "third3", "internal.example",
		} {
			if err == nil || strings.Contains(err.Error(), leak) {
				t.Errorf("%q leaks %q: %v", message, leak, err)
			}
		}
	}
	m := newModel(t, roundTripper(func(*http.Request) (*http.Response, error) {
		return answer(424, `{"error":{"message":"Error retrieving tool list from MCP server"}}`), nil
	}), nil)
	_, err := m.Respond(t.Context(), req)
	if err == nil || !strings.Contains(err.Error(), "Error retrieving tool list from MCP server") {
		t.Errorf("control: a harmless message did not come through: %v", err)
	}
}

// A server that refuses a request before it answers has carried nothing out, and the error says so. A refusal that may
// come when the answer had begun does not: a conversation may have become too long by what a call has returned.
func TestRequestsThatWereNotTaken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why   string
		fail  func(*http.Request) (*http.Response, error)
		taken bool // it may have been
	}{
		{"no connection", unreachable, false},
		{"too fast", answers(429, refusal), false},
		{"no key", answers(401, refusal), false},
		{"no right", answers(403, refusal), false},
		{"a bad request", answers(400, refusal), true},
		{"something it needs has failed", answers(424, refusal), true},
		{"a server error", answers(500, refusal), true},
		{"cut short", answers(200, `{"id":"r","output":[`), true},
		{"no JSON", answers(200, `<html>`), true},
		{"silence", silent, true},
		{"a failed response", answers(200, failedResponse), true},
	} {
		var err error
		synctest.Test(t, func(t *testing.T) {
			m := newModel(t, roundTripper(tt.fail), func(c *openaimodel.Config) { c.MaxAttempts = 1 })
			_, err = m.Respond(t.Context(), &agent.ModelRequest{Items: []agent.Item{agent.UserMessage("hello")}})
		})
		if err == nil || errors.Is(err, agent.ErrNotTaken) == tt.taken {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
}
