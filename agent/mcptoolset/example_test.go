package mcptoolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/agent"
	"countersign/agent/mcptoolset"
)

func ExampleNew() {
	type issue struct {
		Number int `json:"number"`
	}
	github := mcp.NewServer(&mcp.Implementation{Name: "github", Version: "1"}, nil)
	for name, text := range map[string]string{"get_issue": "is open", "close_issue": "is closed now"} {
		mcp.AddTool(github, &mcp.Tool{Name: name},
			func(_ context.Context, _ *mcp.CallToolRequest, in issue) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{
					Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("#%d %s", in.Number, text)}},
				}, nil, nil
			})
	}
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return github }, nil))
	defer srv.Close()

	server, err := mcptoolset.NewServer(mcptoolset.ServerConfig{Name: "github", URL: srv.URL})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	policy, err := mcptoolset.ParsePolicy(map[string]any{"never": map[string]any{"tool_names": []any{"get_issue"}}})
	if err != nil {
		log.Fatal(err)
	}
	toolset, err := mcptoolset.New(mcptoolset.Config{Server: server, RequireApproval: policy})
	if err != nil {
		log.Fatal(err)
	}

	tools, err := toolset.Tools(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range tools {
		out, err := tool.Invoke(context.Background(), &agent.ToolCall{
			Arguments: json.RawMessage(`{"number":7}`), EffectID: "eff_1",
		})
		fmt.Println(tool.Name, "asks:", tool.NeedsApproval != nil, "| says:", out.Text, err)
	}
	// Output:
	// close_issue asks: true | says: #7 is closed now <nil>
	// get_issue asks: false | says: #7 is open <nil>
}
