package mcptoolset_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"countersign/agent/mcptoolset"
)

// rawServer speaks streamable HTTP with answers that a test wrote, byte for byte.
type rawServer struct {
	list   func(cursor string) string // the result of tools/list
	answer func(w http.ResponseWriter, id json.RawMessage, params json.RawMessage)
	events bool // answers come as server-sent events
	tells  bool // it announces that it tells about changes

	streams int // how it answers who asks for a stream, or for the rest of one; zero: 405

	mu    sync.Mutex
	lists int
}

func (s *rawServer) listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

func (s *rawServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		status := http.StatusMethodNotAllowed
		if r.Header.Get("Last-Event-ID") != "" {
			status = cmp.Or(s.streams, status)
		}
		http.Error(w, "no streams", status)
		return
	}
	var req struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	switch req.Method {
	case "initialize":
		result := initializeResult
		if s.tells {
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},` +
				`"serverInfo":{"name":"raw","version":"1"}}`
		}
		s.result(w, req.ID, result)
	case "tools/list":
		var params struct {
			Cursor string `json:"cursor"`
		}
		_ = json.Unmarshal(req.Params, &params)
		s.mu.Lock()
		s.lists++
		s.mu.Unlock()
		s.result(w, req.ID, s.list(params.Cursor))
	case "tools/call":
		s.answer(w, req.ID, req.Params)
	default:
		s.write(w, `{"jsonrpc":"2.0","id":`+string(req.ID)+`,"error":{"code":-32601,"message":"no such method"}}`)
	}
}

func (s *rawServer) result(w http.ResponseWriter, id json.RawMessage, result string) {
	s.write(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

func (s *rawServer) write(w http.ResponseWriter, message string) {
	if !s.events {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(message))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","+
		"\"params\":{\"level\":\"info\",\"data\":1}}\n\nid: \nevent: message\ndata: %s\n\n", message)
}

// tools makes a listing of one page.
func tools(list string) func(string) string {
	return func(string) string { return `{"tools":[` + list + `]}` }
}

const plainTool = `{"name":"plain","inputSchema":{"type":"object"}}`

// start makes a toolset over the server.
func (s *rawServer) start(
	t *testing.T, with func(*mcptoolset.ServerConfig, *mcptoolset.Config),
) (*mcptoolset.Toolset, *httptest.Server) {
	t.Helper()
	if s.list == nil {
		s.list = tools(plainTool)
	}
	srv := overHTTP(t, s)
	server := mcptoolset.ServerConfig{Name: "raw", URL: srv.URL}
	var cfg mcptoolset.Config
	if with != nil {
		with(&server, &cfg)
	}
	cfg.Server = newServer(t, server)
	return newToolset(t, cfg), srv
}
