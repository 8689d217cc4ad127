package mcptoolset_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/agent"
	"countersign/agent/mcptoolset"
)

// A server that is wanted by many at once is connected to once, and not before.
func TestConnectsOnce(t *testing.T) {
	t.Parallel()
	var initialized atomic.Int64
	inner := streamableHandler(testServer())
	srv := overHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
			initialized.Add(1)
		}
		inner.ServeHTTP(w, r)
	}))
	ts := newToolset(t, mcptoolset.Config{Server: newServer(t, mcptoolset.ServerConfig{Name: "test", URL: srv.URL})})
	other := newToolset(t, mcptoolset.Config{Server: ts.Server, ToolPrefix: "other_"})
	if n := initialized.Load(); n != 0 {
		t.Errorf("connected %d times before anybody asked", n)
	}
	var wg sync.WaitGroup
	for range 8 {
		for _, ts := range []*mcptoolset.Toolset{ts, other} {
			wg.Go(func() {
				if _, err := ts.Tools(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if n := initialized.Load(); n != 1 {
		t.Errorf("connected %d times", n)
	}
}

// A server that dies in the middle of a call leaves the outcome open, and is started again.
func TestCrash(t *testing.T) {
	t.Parallel()
	ts := newToolset(t, mcptoolset.Config{Server: newServer(t, self(t, "server"))})
	tools := toolsOf(t, ts)
	for range 2 {
		_, err := invoke(t.Context(), tools["crash"], `{}`)
		if !errors.Is(err, agent.ErrOutcomeUnknown) || !strings.Contains(err.Error(), `"test"`) {
			t.Fatalf("the call that crashed it: %v", err)
		}
		if out := call(t, tools["echo"], `{"text":"back"}`); out.Text != "back (eff_7)" {
			t.Errorf("the next call: %+v", out)
		}
	}
	if again := toolsOf(t, ts)["echo"]; again.Digest() != tools["echo"].Digest() {
		t.Error("the same tool has another digest after the restart")
	}
}

// A server that ended while nobody called it is started again before a call is sent.
func TestRestartedHTTPServer(t *testing.T) {
	t.Parallel()
	var handler atomic.Pointer[http.Handler]
	replace := func() {
		h := streamableHandler(testServer())
		handler.Store(&h)
	}
	replace()
	srv := overHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*handler.Load()).ServeHTTP(w, r)
	}))
	ts := newToolset(t, mcptoolset.Config{Server: newServer(t, mcptoolset.ServerConfig{Name: "test", URL: srv.URL})})
	echo := toolsOf(t, ts)["echo"]
	replace() // knows no sessions
	if out := call(t, echo, `{"text":"again"}`); out.Text != "again (eff_7)" {
		t.Errorf("output %+v", out)
	}
}

func TestConnectionBreaksDuringCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tool    string
		trusted bool
		tries   int
	}{
		{"stall", false, 1},
		{"stall", true, 1},
		{"wait", false, 1},
		{"wait", true, 2},
	} {
		srv := overHTTP(t, streamableHandler(testServer()))
		ts := newToolset(t, mcptoolset.Config{
			Server: newServer(t, mcptoolset.ServerConfig{Name: "test", URL: srv.URL, Trusted: tt.trusted}),
		})
		tool := toolsOf(t, ts)[tt.tool]
		begun, address := listener(t)
		result := make(chan error)
		go func() {
			_, err := invoke(t.Context(), tool, `{"address":"`+address+`"}`)
			result <- err
		}()
		for range tt.tries {
			begun()
			srv.CloseClientConnections()
		}
		if err := <-result; !errors.Is(err, agent.ErrOutcomeUnknown) {
			t.Errorf("%s, trusted %t: %v", tt.tool, tt.trusted, err)
		}
	}
}

func TestSlowServer(t *testing.T) {
	t.Parallel()
	everyTransport(t, func(t *testing.T, cfg mcptoolset.ServerConfig) {
		begun, address := listener(t)
		arguments := `{"address":"` + address + `"}`
		ts := newToolset(t, mcptoolset.Config{Server: newServer(t, cfg)})
		tool := toolsOf(t, ts)["stall"]

		lost := errors.New("lease lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		result := make(chan error)
		go func() {
			_, err := invoke(ctx, tool, arguments)
			result <- err
		}()
		begun()
		cancel(lost)
		if err := <-result; !errors.Is(err, lost) {
			t.Errorf("the caller's context ended: %v", err)
		}
		if out := call(t, toolsOf(t, ts)["echo"], `{"text":"still there"}`); out.Text != "still there (eff_7)" {
			t.Errorf("the connection after a call that was given up: %+v", out)
		}

		hasty := newToolset(t, mcptoolset.Config{Server: newServer(t, cfg)})
		tool = toolsOf(t, hasty)["stall"]
		hasty.Server.CallTimeout = time.Second // from here on: the listing may take longer
		_, err := invoke(t.Context(), tool, arguments)
		if !errors.Is(err, agent.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "timed out after 1s") {
			t.Errorf("timeout: %v", err)
		}
	})
}

// What cannot be connected to says which server it is and what to do, without secrets, and is left alone for a while.
func TestCannotConnect(t *testing.T) {
	t.Parallel()
	_, address := listener(t) // whoever connects is left waiting
	nobody := overHTTP(t, http.NotFoundHandler())
	nobody.Close()
	forbidden := overHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "bad token "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	}))
	const secret = "hunter2hunter2"
	deaf := self(t, "deaf", "HOLD", address)
	deaf.ConnectTimeout = time.Second
	for name, tt := range map[string]struct {
		cfg  mcptoolset.ServerConfig
		want []string
	}{
		"ends at once": {self(t, "fail", "TOKEN", secret),
			[]string{"exit status 7", "cannot log in with …", "check its command and environment"}},
		"no program": {mcptoolset.ServerConfig{Name: "test", Command: []string{"/no/such/program"}},
			[]string{"/no/such/program", "check its command"}},
		"says nothing": {deaf, []string{"did not answer in time"}},
		"nobody listens": {mcptoolset.ServerConfig{
			Name: "test", URL: nobody.URL + "/?key=" + secret, WrittenURL: "http://h/?key=${KEY}",
		}, []string{"http://h/?key=${KEY}", "refused"}},
		"not let in": {mcptoolset.ServerConfig{
			Name: "test", URL: forbidden.URL, Headers: map[string]string{"Authorization": "Bearer " + secret},
		}, []string{"Unauthorized", "its headers"}},
		"SSE, nobody": {mcptoolset.ServerConfig{
			Name: "test", SSE: nobody.URL + "/?key=" + secret, WrittenURL: "http://h/?key=${KEY}",
		}, []string{"refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log journal
			tt.cfg.Logger = log.logger()
			ts := newToolset(t, mcptoolset.Config{Server: newServer(t, tt.cfg)})
			_, err := ts.Tools(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(tt.want, `mcp server "test"`) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			var again error
			// Each failure doubles the time in which nothing is attempted, a second at first: one of these is in it.
			for range 4 {
				if _, again = ts.Tools(t.Context()); again == nil ||
					strings.Contains(again.Error(), "the next attempt is made in") {
					break
				}
			}
			if again == nil || !strings.Contains(again.Error(), "the next attempt is made in") {
				t.Errorf("at once again: %v", again)
			}
			all := log.String() + err.Error() + again.Error()
			if strings.Contains(all, secret) || !strings.Contains(log.String(), "mcp_server=test") {
				t.Errorf("the log or an error shows a secret, or nothing: %s", all)
			}
		})
	}
}

// Close ends what the server started, even what does not want to end, and calls under way.
func TestClose(t *testing.T) {
	t.Parallel()
	server := newServer(t, self(t, "server"))
	tools := toolsOf(t, newToolset(t, mcptoolset.Config{Server: server}))
	begun, address := listener(t)
	call(t, tools["spawn"], `{"address":"`+address+`"}`)
	lingering := begun()
	result := make(chan error)
	go func() {
		_, err := invoke(t.Context(), tools["stall"], `{"address":"`+address+`"}`)
		result <- err
	}()
	begun()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, agent.ErrOutcomeUnknown) {
		t.Errorf("the call under way: %v", err)
	}
	if _, err := lingering.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && err == nil {
		t.Errorf("what the server had started: %v", err)
	}
	if _, err := invoke(t.Context(), tools["echo"], `{"text":"x"}`); err == nil {
		t.Error("a call after Close")
	}
	if err := server.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// TestNothingIsLeft is not parallel: it looks at all goroutines.
func TestNothingIsLeft(t *testing.T) {
	earlier := make(map[string]bool) // servers of other tests, when this is not the first round
	for id := range goroutines() {
		earlier[id] = true
	}
	ours := func() string {
		var found []string
		for id, stack := range goroutines() {
			if !earlier[id] {
				found = append(found, stack)
			}
		}
		return strings.Join(found, "\n\n")
	}
	s := testServer()
	streamable := overHTTP(t, streamableHandler(s))
	old := overHTTP(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil))
	silent := overHTTP(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then is the end of the connection noticed
		<-r.Context().Done()
	}))
	for _, cfg := range []mcptoolset.ServerConfig{
		self(t, "server"), self(t, "fail"),
		{Name: "test", URL: streamable.URL}, {Name: "test", SSE: old.URL},
		{Name: "test", URL: silent.URL, ConnectTimeout: 50 * time.Millisecond},
		{Name: "test", SSE: silent.URL, ConnectTimeout: 50 * time.Millisecond},
	} {
		server := newServer(t, cfg)
		ts := newToolset(t, mcptoolset.Config{Server: server})
		tools, err := ts.Tools(t.Context())
		if len(tools) > 0 {
			if before := ours(); before == "" {
				t.Error("control: an open connection has no goroutines")
			}
			tool, arguments := toolsOf(t, ts)["echo"], `{"text":"x"}`
			if cfg.Command != nil {
				tool, arguments = toolsOf(t, ts)["crash"], `{}`
			}
			if _, err := invoke(t.Context(), tool, arguments); (err == nil) != (cfg.Command == nil) {
				t.Error(err)
			}
			toolsOf(t, ts)
		} else if err == nil {
			t.Error("connected to nobody")
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, srv := range []interface{ Close() }{streamable, old, silent} {
		srv.Close()
	}
	for ours() != "" {
		if t.Context().Err() != nil {
			t.Fatal(ours())
		}
		runtime.Gosched()
	}
}

// goroutines are the stacks of those that the package or its library started, by their number.
func goroutines() map[string]string {
	buf := make([]byte, 4<<20)
	found := make(map[string]string)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "countersign/agent/mcptoolset.(") ||
			strings.Contains(stack, "modelcontextprotocol/go-sdk") {
			id, _, _ := strings.Cut(stack, " [")
			found[id] = stack
		}
	}
	return found
}
