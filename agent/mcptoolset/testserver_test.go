package mcptoolset_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/agent/mcptoolset"
)

// mode makes the test binary a server, or something that a server starts.
const mode = "MCPTOOLSET_TEST_MODE"

func TestMain(m *testing.M) {
	switch os.Getenv(mode) {
	case "":
		os.Exit(m.Run())
	case "server":
		err := testServer().Run(context.Background(), &mcp.StdioTransport{})
		if err != nil && !errors.Is(err, io.EOF) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "raw":
		rawStdio()
	case "noisy": // prints what is no message before, between and after
		fmt.Print("\x1b[32mserver 1.0 ready\x1b[0m, token " + os.Getenv("TOKEN") +
			"\n\n[INFO] listening\n[1]\n{\"level\":\"info\"}\n7\n")
		for range 100 {
			fmt.Print("and again\n")
		}
		rawStdio()
	case "fail":
		fmt.Fprintln(os.Stderr, "warming up\ncannot log in with "+os.Getenv("TOKEN"))
		os.Exit(7)
	case "deaf": // reads nothing and answers nothing
		hold(os.Getenv("HOLD"))
	case "linger":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		hold(os.Getenv("HOLD"))
	}
}

// hold connects to the test and stays for as long as the test does not hang up.
func hold(address string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	_, _ = c.Read(make([]byte, 1))
}

// rawStdio answers with what the test wrote, byte for byte; like some servers do, it ends when the first request is
// anything but initialize.
func rawStdio() {
	in := bufio.NewScanner(os.Stdin)
	for first := true; in.Scan(); first = false {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal(in.Bytes(), &req); err != nil || first && req.Method != "initialize" {
			fmt.Fprintln(os.Stderr, "expected initialize")
			os.Exit(2)
		}
		switch req.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", req.ID, initializeResult)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", req.ID, os.Getenv("RAW_TOOLS"))
		case "tools/call":
			const answer = `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`
			fmt.Printf("calling\r\n"+answer+"\r\n", req.ID)
		}
	}
}

const initializeResult = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
	`"serverInfo":{"name":"raw","version":"1"}}`

type none struct{}

type address struct {
	Address string `json:"address"`
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// testServer is a server with tools that show what a client does.
func testServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{PageSize: 3})
	type echo struct {
		Text string `json:"text"`
	}
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, Title: "Echo"}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it back.", Annotations: reads},
		func(_ context.Context, req *mcp.CallToolRequest, in echo) (*mcp.CallToolResult, any, error) {
			return say(fmt.Sprintf("%s (%v)", in.Text, req.Params.Meta["countersign/effect_id"])), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "change", Description: "Changes what echo says of itself."},
		func(ctx context.Context, req *mcp.CallToolRequest, in echo) (*mcp.CallToolResult, any, error) {
			mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: in.Text},
				func(context.Context, *mcp.CallToolRequest, echo) (*mcp.CallToolResult, any, error) {
					return say("changed"), nil, nil
				})
			return say("done"), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "crash"},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			os.Exit(3)
			return nil, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "wait", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}}, waitTool)
	mcp.AddTool(s, &mcp.Tool{Name: "stall"}, waitTool)
	mcp.AddTool(s, &mcp.Tool{Name: "fail"},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("no such branch")
		})
	mcp.AddTool(s, &mcp.Tool{Name: "huge"},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return say(strings.Repeat("ü", 1<<20)), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "environment"},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return say(strings.Join(os.Environ(), "\n")), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "nosy"}, nosyTool)
	mcp.AddTool(s, &mcp.Tool{Name: "spawn"},
		func(_ context.Context, _ *mcp.CallToolRequest, in address) (*mcp.CallToolResult, any, error) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = []string{mode + "=linger", "HOLD=" + in.Address}
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // as careless servers do
			return say("started"), nil, cmd.Start()
		})
	return s
}

// waitTool tells the test that it has begun, and ends when the test hangs up.
func waitTool(_ context.Context, _ *mcp.CallToolRequest, in address) (*mcp.CallToolResult, any, error) {
	hold(in.Address)
	return say("released"), nil, nil
}

// nosyTool asks the client for everything a server may ask for.
func nosyTool(ctx context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
	//lint:ignore SA1019 servers ask for it all the same
	_, sampling := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
	_, elicitation := req.Session.Elicit(ctx, &mcp.ElicitParams{
		Message: "password?", RequestedSchema: json.RawMessage(`{"type":"object"}`),
	})
	//lint:ignore SA1019 servers ask for it all the same
	_, roots := req.Session.ListRoots(ctx, nil)
	ping := req.Session.Ping(ctx, nil)
	return say(fmt.Sprintf("sampling: %v\nelicitation: %v\nroots: %v\nping: %v",
		sampling, elicitation, roots, ping)), nil, nil
}

// self is a server that is this very binary.
func self(t *testing.T, what string, env ...string) mcptoolset.ServerConfig {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := mcptoolset.ServerConfig{Name: "test", Command: []string{exe}, Env: map[string]string{mode: what}}
	for pair := range slices.Chunk(env, 2) {
		cfg.Env[pair[0]] = pair[1]
	}
	return cfg
}

// overHTTP is the test server behind a URL.
func overHTTP(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return srv
}

func streamableHandler(s *mcp.Server) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

// everyTransport runs a test over each way of speaking to a server.
func everyTransport(t *testing.T, run func(t *testing.T, cfg mcptoolset.ServerConfig)) {
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		run(t, self(t, "server"))
	})
	t.Run("streamable", func(t *testing.T) {
		t.Parallel()
		run(t, mcptoolset.ServerConfig{Name: "test", URL: overHTTP(t, streamableHandler(testServer())).URL})
	})
	t.Run("sse", func(t *testing.T) {
		t.Parallel()
		s := testServer()
		handler := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
		run(t, mcptoolset.ServerConfig{Name: "test", SSE: overHTTP(t, handler).URL})
	})
}
