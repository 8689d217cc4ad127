package mcptoolset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/agent/internal/oneline"
)

// Bounds of a listing.
const (
	maxPages  = 64
	maxListed = 4096
)

// listing is what a server offered at one time.
type listing struct {
	session *session
	number  int64 // listings are numbered in the order in which they were begun
	changed int64 // the session's count, before
	tools   []*listed
	byName  map[string]*listed
}

// page is one page of a listing as it came.
type page struct {
	tools []json.RawMessage
	valid map[string]bool // the names of tools that the library takes
	next  string
}

// lostError says that a request had no answer.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// list asks for all pages. Its error is a *lostError when the connection is of no use any more.
func (s *Server) list(ctx context.Context, sess *session) (*listing, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.CallTimeout, errCallTimeout)
	defer cancel()
	l := &listing{
		session: sess, number: s.listings.Add(1), changed: sess.changed.Load(), byName: make(map[string]*listed),
	}
	told := make(map[string]bool)
	for cursor, n := "", 1; ; n++ {
		p, err := sess.page(ctx, cursor)
		switch {
		case err != nil:
			return nil, err
		case n == maxPages && p.next != "" || len(l.tools)+len(p.tools) > maxListed:
			return nil, fmt.Errorf("it offers more than %d tools or more than %d pages of them", maxListed, maxPages)
		}
		for _, raw := range p.tools {
			if err := s.add(l, raw, p.valid, told); err != nil {
				return nil, err
			}
		}
		if cursor = p.next; cursor == "" {
			s.told = told
			return l, nil
		}
	}
}

// add takes a tool into the listing, or logs once why not.
func (s *Server) add(l *listing, raw json.RawMessage, valid map[string]bool, told map[string]bool) error {
	tool, err := parseTool(json.RawMessage(s.hidden.Hide(string(raw))))
	if err == nil && !valid[tool.name] {
		err = errors.New("it is not what the protocol says, or its x-mcp-header annotations are not")
	}
	if err != nil {
		why := s.say(err.Error())
		key := tool.name + "\x00" + why
		if !s.told[key] && !told[key] {
			s.Logger.Warn("a tool of an MCP server is left out", "tool", oneline.Of(tool.name, 200), "reason", why)
		}
		told[key] = true
		return nil
	}
	if l.byName[tool.name] != nil {
		return fmt.Errorf("it offers two tools called %q, and nobody could say which one a call is for",
			oneline.Of(tool.name, 200))
	}
	l.byName[tool.name] = &tool
	l.tools = append(l.tools, &tool)
	return nil
}

// page asks for one page. The tools are taken from the wire: as the library decodes them, schemas lose the order of
// their properties and the digits of their numbers.
func (s *session) page(ctx context.Context, cursor string) (page, error) {
	x := &exchange{}
	defer x.end()
	res, err := s.client.ListTools(withExchange(ctx, x), &mcp.ListToolsParams{Cursor: cursor})
	answer := x.answer()
	switch {
	case ctx.Err() != nil:
		return page{}, &lostError{context.Cause(ctx)}
	case err != nil && answer == nil:
		return page{}, &lostError{err}
	case answer == nil:
		return page{}, &lostError{errors.New("the list of tools came on a stream where it does not belong")}
	case answer.Error != nil:
		return page{}, answer.Error
	}
	var wire struct {
		Tools []json.RawMessage `json:"tools"`
		Next  string            `json:"nextCursor"`
	}
	if err := json.Unmarshal(answer.Result, &wire); err != nil {
		return page{}, fmt.Errorf("the list of tools cannot be read: %w", err)
	}
	p := page{tools: wire.Tools, next: wire.Next, valid: make(map[string]bool)}
	if err != nil { // the library takes all of a list or nothing
		p.takeEach()
		return p, nil
	}
	for _, t := range res.Tools {
		p.valid[t.Name] = true
	}
	return p, nil
}

// takeEach finds out which tools of a page the library would have taken by itself. It knows nothing now of those whose
// arguments go into headers too, so none of them is.
func (p *page) takeEach() {
	for _, raw := range p.tools {
		var tool mcp.Tool
		if json.Unmarshal(raw, &tool) == nil && !bytes.Contains(raw, []byte("x-mcp-header")) {
			p.valid[tool.Name] = true
		}
	}
}
