package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// published is the folder, inside the library's, of what was published.
const published = "published"

// library is a small MCP server: the Markdown files of a directory, which agents may list, read, and add to.
type library struct{ root *os.Root }

// ServeLibrary serves the directory as an MCP server on standard input and output, until the client hangs up or ctx
// ends.
func ServeLibrary(ctx context.Context, dir, version string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("library: %w", err)
	}
	defer root.Close()
	s := mcp.NewServer(&mcp.Implementation{Name: "countersign-library", Version: version}, nil)
	(&library{root}).offer(s)
	if err := s.Run(ctx, &mcp.StdioTransport{}); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return fmt.Errorf("library: %w", err)
	}
	return nil
}

type noInput struct{}

type documentInput struct {
	Name string `json:"name" jsonschema:"the name of the document as list_documents gives it"`
}

type publishInput struct {
	Name string `json:"name" jsonschema:"lower-case letters, digits and hyphens; nothing of this name may be published yet"`
	Text string `json:"text" jsonschema:"the whole text, Markdown"`
}

func (l *library) offer(s *mcp.Server) {
	no := false
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	mcp.AddTool(s, &mcp.Tool{
		Name: "list_documents", Description: "Lists the names of the documents.", Annotations: reads,
	}, func(context.Context, *mcp.CallToolRequest, noInput) (*mcp.CallToolResult, any, error) {
		return said(l.list())
	})
	mcp.AddTool(s, &mcp.Tool{Name: "read_document", Description: "Returns the text of a document.", Annotations: reads},
		func(_ context.Context, _ *mcp.CallToolRequest, in documentInput) (*mcp.CallToolResult, any, error) {
			return said(l.read(in.Name))
		})
	mcp.AddTool(s, &mcp.Tool{
		Name: "publish_document", Description: "Publishes a text for everybody, for good.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in publishInput) (*mcp.CallToolResult, any, error) {
		return said(l.publish(in.Name, in.Text))
	})
}

// said is the result of a tool whose output is a text. Its error is told to the model.
func said(text string, err error) (*mcp.CallToolResult, any, error) {
	if err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

func (l *library) list() (string, error) {
	entries, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return "", errors.New("the library cannot be read")
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".md"); ok && e.Type().IsRegular() {
			names = append(names, name)
		}
	}
	return strings.Join(names, "\n"), nil
}

var documentName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

func (l *library) read(name string) (string, error) {
	if !documentName.MatchString(name) {
		return "", fmt.Errorf("there is no document %q", name)
	}
	text, err := l.root.ReadFile(name + ".md")
	if err != nil {
		return "", fmt.Errorf("there is no document %q", name)
	}
	return string(text), nil
}

// publish writes a file that does not exist yet.
func (l *library) publish(name, text string) (string, error) {
	if !documentName.MatchString(name) || text == "" {
		return "", errors.New("a name of lower-case letters, digits and hyphens is needed, and a text")
	}
	if err := l.root.Mkdir(published, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", errors.New("the library cannot be written to")
	}
	place := path.Join(published, name+".md")
	f, err := l.root.OpenFile(place, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%q is published already", name)
	}
	if err != nil {
		return "", errors.New("the library cannot be written to")
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.New("the text could not be written as a whole")
	}
	return fmt.Sprintf("Published as %s.", place), nil
}
