package mcptoolset_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/mcptoolset"
)

// The schema that models and people see, and that decisions are bound to, is the server's, byte for byte.
func TestSchemaAsItCame(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object", "properties":{"zeta":{"type":"number","maximum":12345678901234567890.50},` +
		`"alpha":{"type":"string","description":"<a> & \u00e9"}},"required":["zeta"]}`
	list := `{"name":"order","description":"d","inputSchema":` + schema + `,"annotations":{"title":"T",` +
		`"destructiveHint":false,"openWorldHint":true}}`
	check := func(t *testing.T, ts *mcptoolset.Toolset, identity ...string) {
		tool := toolsOf(t, ts)["order"]
		if diff := cmp.Diff(schema, string(tool.Parameters)); diff != "" {
			t.Error(diff)
		}
		want := append(identity, "tool=order", "title=", "annotations.title=T", "readOnlyHint=",
			"destructiveHint=false", "idempotentHint=", "openWorldHint=true")
		if diff := cmp.Diff(want, tool.Attributes); diff != "" {
			t.Error(diff)
		}
	}
	for _, events := range []bool{false, true} {
		raw := &rawServer{list: tools(list), events: events}
		ts, srv := raw.start(t, func(s *mcptoolset.ServerConfig, _ *mcptoolset.Config) {
			s.WrittenURL = "${SERVER}/${PATH}"
			s.Headers = map[string]string{"x-b": "secret", "Authorization": "Bearer secret"}
		})
		check(t, ts, "server=raw", "transport=http", "url=${SERVER}/${PATH} ("+srv.URL+")", "header=Authorization",
			"header=X-B")
	}
	cfg := self(t, "raw", "RAW_TOOLS", `{"tools":[`+list+`]}`)
	cfg.WrittenCommand, cfg.Dir, cfg.WrittenDir = []string{"${SERVER}"}, t.TempDir(), "${DIR}"
	sum := sha256.Sum256([]byte(cfg.Dir))
	check(t, newToolset(t, mcptoolset.Config{Server: newServer(t, cfg)}),
		"server=test", "transport=stdio", `command=["${SERVER}"]`, fmt.Sprintf("dir=${DIR} (path sha256:%x…)", sum[:8]),
		"env=MCPTOOLSET_TEST_MODE", "env=RAW_TOOLS")
}

// Everything that a server says about a tool is in its digest.
func TestDigest(t *testing.T) {
	t.Parallel()
	raw := &rawServer{list: tools("")}
	ts, _ := raw.start(t, nil)
	digest := func(list string) agent.Digest {
		raw.list = tools(list)
		tools, err := ts.Tools(t.Context())
		if err != nil || len(tools) != 1 {
			t.Fatalf("%s: %d tools, %v", list, len(tools), err)
		}
		return tools[0].Digest()
	}
	const base = `{"name":"a.b","title":"t","description":"d","inputSchema":{"type":"object"},` +
		`"annotations":{"title":"x","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,` +
		`"openWorldHint":false}}`
	seen := map[agent.Digest]string{digest(base): base}
	for _, change := range [][2]string{
		{`a.b`, `a_b`}, {`"t"`, `"u"`}, {`"d"`, `"e"`}, {`{"type":"object"}`, `{"type": "object"}`}, {`"x"`, `"y"`},
		{`"readOnlyHint":true`, `"readOnlyHint":false`}, {`"destructiveHint":false`, `"destructiveHint":true`},
		{`"idempotentHint":true,`, ``}, {`"openWorldHint":false`, `"openWorldHint":true`},
	} {
		changed := strings.Replace(base, change[0], change[1], 1)
		d := digest(changed)
		if other, ok := seen[d]; ok || changed == base {
			t.Errorf("%s\nand\n%s\nhave the same digest", other, changed)
		}
		seen[d] = changed
	}
	if d := digest(base + "  "); seen[d] != base {
		t.Error("control: the same tool has another digest")
	}
}

// What cannot be used is left out and logged, once, and the rest works.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70<<10)
	for _, tt := range []struct{ reason, tool string }{
		{"it has no name", `{"inputSchema":{"type":"object"}}`},
		{"name is longer than 1024 bytes", `{"name":"` + long + `","inputSchema":{"type":"object"}}`},
		{"title is longer than 1024 bytes",
			`{"name":"bad","annotations":{"title":"` + long + `"},"inputSchema":{"type":"object"}}`},
		{"description is longer than 4096 bytes",
			`{"name":"bad","description":"` + long + `","inputSchema":{"type":"object"}}`},
		{"inputSchema is longer than 65536 bytes",
			`{"name":"bad","inputSchema":{"type":"object","title":"` + long + `"}}`},
		{"not a JSON Schema of type object", `{"name":"bad"}`},
		{"not a JSON Schema of type object", `{"name":"bad","inputSchema":{"type":"array"}}`},
		{"cannot be used: schema at /$ref",
			`{"name":"bad","inputSchema":{"type":"object","$ref":"http://elsewhere/"}}`},
		{"cannot be used: schema at /properties/a",
			`{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"pattern":"(?<=x)"}}}}`},
		{"refers to itself", `{"name":"bad","inputSchema":{"type":"object","anyOf":[{"$ref":"#"}]}}`},
		{`description\" is there twice`,
			`{"name":"bad","description":"harmless","description":"harmful","inputSchema":{"type":"object"}}`},
		{`type\" is there twice`,
			`{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"string","type":"number"}}}}`},
		{"not an object", `7`},
		{"not an object", `null`},
		{"its name is not a text", `{"name":["x"],"inputSchema":{"type":"object"}}`},
		{"readOnlyHint is neither true nor false",
			`{"name":"x","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}`},
		{"not what the protocol says", `{"name":"x","inputSchema":{"type":"object"},"icons":"none"}`},
		{"x-mcp-header annotations",
			`{"name":7},{"name":"x","inputSchema":{"type":"object","properties":{"a":{"type":"string",` +
				`"x-mcp-header":"A"}}}}`},
		{"only be called as a task",
			`{"name":"x","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`},
		{"x-mcp-header annotations",
			`{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}}`},
	} {
		var log journal
		ts, _ := (&rawServer{list: tools(tt.tool + "," + plainTool)}).start(t,
			func(s *mcptoolset.ServerConfig, _ *mcptoolset.Config) { s.Logger = log.logger() })
		for range 2 {
			if got := toolsOf(t, ts); len(got) != 1 || got["plain"].Name != "plain" {
				t.Errorf("%s: %v", tt.reason, got)
			}
		}
		if said := log.String(); strings.Count(said, tt.reason) != 1 || len(said) > 2<<10 {
			t.Errorf("%s: the log says %s", tt.reason, said)
		}
	}
}

// A listing that is none is refused as a whole.
func TestMalformedListing(t *testing.T) {
	t.Parallel()
	for _, list := range []string{`{"tools":7}`, `{"tools":[],"nextCursor":7}`,
		`{"tools":{"name":"x","inputSchema":{"type":"object"}}}`} {
		ts, _ := (&rawServer{list: func(string) string { return list }}).start(t, nil)
		if _, err := ts.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), `mcp server "raw"`) {
			t.Errorf("%s: %v", list, err)
		}
	}
}

// What makes it unclear which tool is meant is an error.
func TestUnclear(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i))
		}
		return strings.Join(list, ",")
	}
	two := func(a, b string) string {
		return fmt.Sprintf(
			`{"name":%q,"inputSchema":{"type":"object"}},{"name":%q,"inputSchema":{"type":"object"}}`, a, b)
	}
	for _, tt := range []struct {
		why, list string
		want      []string
		cfg       mcptoolset.Config
	}{
		{"the same name", two("x", "x"), []string{`two tools called "x"`}, mcptoolset.Config{}},
		{"names that are mapped to one", two("a.b", "a/b"),
			[]string{`"a.b"`, `"a/b"`, `"a_b"`, "blocked_tools"}, mcptoolset.Config{}},
		{"too many", many(257), []string{"257 tools", "allowed_tools"}, mcptoolset.Config{}},
		{"far too many", many(5000), []string{"more than 4096"}, mcptoolset.Config{AllowedTools: []string{"t1"}}},
		{"control: one is blocked", two("a.b", "a/b"), nil, mcptoolset.Config{BlockedTools: []string{"a/b"}}},
		{"control: as many as may be", many(256), nil, mcptoolset.Config{}},
		{"control: many to choose from", many(1000), nil, mcptoolset.Config{AllowedTools: []string{"t1"}}},
	} {
		ts, _ := (&rawServer{list: tools(tt.list)}).start(t, func(_ *mcptoolset.ServerConfig, c *mcptoolset.Config) {
			*c = tt.cfg
		})
		_, err := ts.Tools(t.Context())
		unsaid := func(w string) bool { return !strings.Contains(err.Error(), w) }
		if (err == nil) != (tt.want == nil) || err != nil && slices.ContainsFunc(tt.want, unsaid) {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	raw := &rawServer{list: func(cursor string) string {
		switch cursor {
		case "":
			return `{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"2"}`
		case "2":
			return `{"tools":[],"nextCursor":"3"}`
		}
		return `{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}`
	}}
	ts, _ := raw.start(t, nil)
	if got := toolsOf(t, ts); len(got) != 2 || got["b"].Name != "b" {
		t.Errorf("got %v", got)
	}
	endless := &rawServer{list: func(cursor string) string { return `{"tools":[],"nextCursor":"x` + cursor + `"}` }}
	ts, _ = endless.start(t, nil)
	_, err := ts.Tools(t.Context())
	if err == nil || !strings.Contains(err.Error(), "pages") || endless.listed() > 100 {
		t.Errorf("pages without an end: %v after %d", err, endless.listed())
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long.name.", 10)
	list := fmt.Sprintf(`{"name":"a.b/ü","inputSchema":{"type":"object"}},{"name":%q,`+
		`"inputSchema":{"type":"object"}},{"name":%q,"inputSchema":{"type":"object"}}`, long+"1", long+"2")
	var before []string
	for range 2 {
		ts, _ := (&rawServer{list: tools(list)}).start(t, func(_ *mcptoolset.ServerConfig, c *mcptoolset.Config) {
			c.ToolPrefix = "p-"
		})
		var names []string
		for name := range toolsOf(t, ts) {
			names = append(names, name)
			if len(name) > 64 || strings.ContainsAny(name, "./ü") || !strings.HasPrefix(name, "p-") {
				t.Errorf("name %q", name)
			}
		}
		slices.Sort(names)
		if before != nil && !slices.Equal(before, names) || len(names) != 3 ||
			names[0] != "p-a_b__" && names[0] != "p-a_b_" {
			t.Errorf("%v and then %v", before, names)
		}
		before = names
	}
}

// A server that does not tell about changes is asked each time; so is one that announces it and offers no stream to do
// it.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	for _, tells := range []bool{false, true} {
		description := "before"
		raw := &rawServer{tells: tells, list: func(string) string {
			return `{"tools":[{"name":"plain","description":"` + description + `","inputSchema":{"type":"object"}}]}`
		}}
		ts, _ := raw.start(t, nil)
		before := toolsOf(t, ts)["plain"]
		description = "after"
		if after := toolsOf(t, ts)["plain"]; after.Description != "after" || after.Digest() == before.Digest() {
			t.Errorf("tells %t: %q", tells, after.Description)
		}
	}
	raw := &rawServer{tells: true, list: tools(plainTool)}
	end := make(chan struct{})
	ts := silent(t, raw, end)
	for range 5 {
		toolsOf(t, ts)
	}
	if n := raw.listed(); n != 1 {
		t.Errorf("a server with an open stream was asked %d times", n)
	}
	close(end) // what is told while the stream is being made again is lost
	for raw.listed() == 1 {
		toolsOf(t, ts)
	}
}
