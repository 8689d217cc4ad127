package mcptoolset

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// However a stream of events is cut into pieces, the response is found in it, and no other.
func FuzzExchange(f *testing.F) {
	const response = `{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}`
	f.Add("event: message\ndata: "+response+"\n\n", 3, true)
	f.Add(": hello\r\n\r\nid: 1\r\ndata:\r\n\r\n"+
		"data: {\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}\r\n\r\ndata: "+response+"\r\n\r\n", 1, true)
	f.Add("data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\"result\":{}}\n\n", 5, true)
	f.Add("data: {\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}\n\n"+
		"data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n", 100, true)
	f.Add(response, 4, false)
	f.Fuzz(func(t *testing.T, stream string, piece int, events bool) {
		id, err := jsonrpc.MakeID(float64(7))
		if err != nil {
			t.Fatal(err)
		}
		x := &exchange{id: id}
		res := &http.Response{
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(stream)),
		}
		if events {
			res.Header.Set("Content-Type", "text/event-stream; charset=utf-8")
		}
		x.record(res)
		buf := make([]byte, max(1, piece%1000))
		for err == nil {
			_, err = res.Body.Read(buf)
			_ = x.answer()
		}
		answer := x.answer()
		if answer != nil && answer.ID != id {
			t.Errorf("the response to another request: %v", answer.ID)
		}
		if strings.HasPrefix(stream, "event: message\ndata: "+response+"\n\n") && events && answer == nil {
			t.Error("the response was not found")
		}
	})
}

func TestExchange(t *testing.T) {
	t.Parallel()
	id, _ := jsonrpc.MakeID(float64(7))
	for _, tt := range []struct {
		kind, body string
		want       string // the result, or "" when there is no response
	}{
		{"application/json", `{"jsonrpc":"2.0","id":7,"result":{"b":1, "a":2}}`, `{"b":1, "a":2}`},
		{"application/json; charset=utf-8", `{"jsonrpc":"2.0","id":7,"result":{}}`, `{}`},
		{"application/json", `{"jsonrpc":"2.0","id":8,"result":{}}`, ""},
		{"application/json", `{"jsonrpc":"2.0","id":7,"resu`, ""},
		{"text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n", `{}`},
		{"text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", `{}`},
		{"text/event-stream", "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\"result\":{}}\n\n", `{}`},
		{"text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}\n\n", ""},
		{"text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}\n\n: \nevent: message\r\n" +
			"data:{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1}\r\n\r\n", `1`},
	} {
		x := &exchange{id: id}
		res := &http.Response{
			Header: http.Header{"Content-Type": {tt.kind}}, Body: io.NopCloser(strings.NewReader(tt.body)),
		}
		x.record(res)
		if x.answer() != nil {
			t.Errorf("%s: an answer before anything was read", tt.body)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		answer := x.answer()
		if (answer == nil) != (tt.want == "") || answer != nil && string(answer.Result) != tt.want {
			t.Errorf("%s: %+v", tt.body, answer)
		}
	}
}

// A program that stops reading its input does not hold up whoever writes to it, for ever.
func TestUnreadInput(t *testing.T) {
	t.Parallel()
	d, err := ServerConfig{Name: "deaf", Command: []string{"sleep", "600"}}.check()
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.start(t.Context())
	if err != nil {
		t.Skipf("no sleep on this system: %v", err)
	}
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		p.wait()
	}()
	n, err := stdinWriter{p}.Write(bytes.Repeat([]byte("x"), 1<<20))
	if err == nil || n == 1<<20 || !strings.Contains(err.Error(), "did not read its input") {
		t.Errorf("%d bytes, %v", n, err)
	}
	p.stop()
	<-waited
	if p.problem() == "" {
		t.Error("the program goes on")
	}
}
