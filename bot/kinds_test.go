package bot

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/agent/rawtool"
	"countersign/approvals"
)

var everyKind = []agent.ToolKind{
	agent.KindFunction, agent.KindHTTP, agent.KindShell, agent.KindApplyPatch, agent.KindMCP, agent.KindHostedMCP,
	agent.KindCustom, agent.KindAgent, agent.KindExternal, "one of tomorrow",
}

var everyQuestion = []agent.InterruptionKind{
	agent.Confirm, agent.OutcomeUnknown, agent.ExternalResult, agent.FieldsRequired,
}

// of returns a request about a call of the tool.
func of(tool approvals.ToolSnapshot, arguments map[string]any) *approvals.Request {
	raw, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	canonical, err := rawtool.Canonical(raw)
	if err != nil {
		panic(err)
	}
	r := transfer(string(canonical))
	r.Tool = tool
	return r
}

func shellTool() approvals.ToolSnapshot {
	return approvals.ToolSnapshot{Name: "shell", Kind: agent.KindShell, Binding: []string{
		"workdir ${REPO}", "shell /bin/sh", "env HOME", "env LANG", "env PATH",
	}}
}

func shellScript() *approvals.Request {
	script := "set -e\nif [ -d dist ]; then\n\trm -rf \"dist/$1\"\nfi\nmake dist\neval \"$AFTER\"\n"
	r := of(shellTool(), map[string]any{"script": script, "timeout_seconds": 60})
	r.Facts = []string{"program /bin/sh sha256:" + strings.Repeat("4f", 32)}
	r.Explanation = []string{
		`careful, runs text as commands: eval "$AFTER"`,
		"runs set -e", "runs [ -d dist ]", `runs rm -rf "dist/$1"`, "runs make dist", `runs eval "$AFTER"`,
	}
	return r
}

func shellWords() *approvals.Request {
	argv := []string{"python3", "-c", "import os\nprint(os.getcwd())", "--\u200Bquiet"}
	r := of(shellTool(), map[string]any{"argv": argv})
	r.Facts = []string{"program /usr/bin/python3 sha256:" + strings.Repeat("a1", 32)}
	r.Explanation = []string{
		"careful, runs code in another language: python3",
		`runs python3 -c "import os\nprint(os.getcwd())" "--\u200bquiet"`,
	}
	return r
}

// shellLong is a script that fits on a card only without its plain text.
func shellLong() *approvals.Request {
	var script, explained []string
	for i := range 60 {
		line := fmt.Sprintf("cp \"build/part-%02d.tar\" /srv/releases/ && echo part %02d", i, i)
		script = append(script, line)
		explained = append(explained,
			fmt.Sprintf("runs cp build/part-%02d.tar /srv/releases/", i), fmt.Sprintf("runs echo part %02d", i))
	}
	r := of(shellTool(), map[string]any{"script": strings.Join(script, "\n")})
	r.Facts = []string{"program /bin/sh sha256:" + strings.Repeat("4f", 32)}
	r.Explanation = append(explained[:39], "… and 81 more")
	return r
}

const patchText = `*** Begin Patch
*** Update File: config/limits.yaml
@@ payments:
 payments:
-    daily: 1000
+    daily: 100000
             nested: twelve spaces
*** Add File: docs/limits.md
+The limit is 100,000 a day.
*** End Patch`

func patch() *approvals.Request {
	r := of(approvals.ToolSnapshot{Name: "apply_patch", Kind: agent.KindApplyPatch, Binding: []string{
		"root /srv/repo", "allow config/**", "allow docs/**/*.md",
	}}, map[string]any{"patch": patchText})
	r.Facts = []string{"config/limits.yaml sha256:" + strings.Repeat("0c", 32), "docs/limits.md absent"}
	r.Explanation = []string{"updated config/limits.yaml (+1 -1)", "added docs/limits.md (+1)"}
	return r
}

func deploy() *approvals.Request {
	r := of(approvals.ToolSnapshot{Name: "deploy", Kind: agent.KindExternal, Description: "Deployed by the pipeline."},
		map[string]any{"environment": "production", "ref": "v2.4.1"})
	r.Kind, r.Requirement.Seats = agent.ExternalResult, approvals.Quorum(2, approvals.Approvers{ChannelMembers: true})
	return r
}

// asSettled is the request about another call with the outcome of like.
func asSettled(r, like *approvals.Request) *approvals.Request {
	r.Status, r.Version, r.Settled, r.Decisions = like.Status, like.Version, like.Settled, like.Decisions
	return r
}

// callsOfAllKinds are questions about one call of each kind of tool.
func callsOfAllKinds() map[string]*approvals.Request {
	nested := transfer(`{"amount":1200,"to":"acme"}`)
	nested.Agent, nested.Path = "tax", []string{"ops", "finance", "tax"}
	return map[string]*approvals.Request{
		"shell": shellScript(), "shell_words": shellWords(), "shell_long": shellLong(),
		"patch": patch(), "result": deploy(), "nested": nested,
		"mcp": of(approvals.ToolSnapshot{Name: "github_merge", Kind: agent.KindMCP, Binding: []string{
			"server=github", "transport=stdio", `command=["github-mcp-server","stdio"]`, "dir=", "env=TOKEN",
			"tool=merge", "title=Merge", "annotations.title=",
			"readOnlyHint=true", "destructiveHint=false", "idempotentHint=", "openWorldHint=true",
		}}, map[string]any{"number": 17, "repository": "acme/shop"}),
		"mcp_http": of(approvals.ToolSnapshot{Name: "search", Kind: agent.KindMCP, Binding: []string{
			"server=wiki", "transport=streamable_http", "url=https://${WIKI}/mcp", "header=Authorization",
			"tool=search", "title=", "annotations.title=",
			"readOnlyHint=", "destructiveHint=", "idempotentHint=", "openWorldHint=",
		}}, map[string]any{"query": "holidays"}),
		"hosted_mcp": of(approvals.ToolSnapshot{Name: "deepwiki.ask", Kind: agent.KindHostedMCP, Binding: []string{
			"server_label deepwiki", "server_url https://mcp.deepwiki.com/mcp", "header Authorization",
		}}, map[string]any{"question": "What changed?"}),
		"agent": of(approvals.ToolSnapshot{Name: "ask_finance", Kind: agent.KindAgent, Binding: []string{"finance"}},
			map[string]any{"input": "Pay what is due:\n- invoice 17\n- invoice 18"}),
		"function": of(approvals.ToolSnapshot{Name: "close_account", Kind: agent.KindFunction},
			map[string]any{"account": "operations"}),
	}
}

// anyKind draws a request about the text, which is the argument of whatever kind of tool it is.
func anyKind(arguments string) *rapid.Generator[*approvals.Request] {
	return rapid.Custom(func(t *rapid.T) *approvals.Request {
		r := transfer(arguments)
		r.Tool.Kind = rapid.SampledFrom(everyKind).Draw(t, "kind")
		switch r.Tool.Kind {
		case agent.KindShell:
			r.Arguments = json.RawMessage(strings.Replace(arguments, `"a":`, `"script":`, 1))
		case agent.KindApplyPatch:
			r.Arguments = json.RawMessage(strings.Replace(arguments, `"a":`, `"patch":`, 1))
		case agent.KindMCP:
			name, title := hostile().Draw(t, "name"), hostile().Draw(t, "title")
			r.Tool.Binding = []string{"server=s", "url=u", "tool=" + name, "title=" + title, "readOnlyHint=true"}
		}
		oneLine := rapid.Map(hostile(), func(s string) string { return strings.ReplaceAll(s, "\n", " ") + "." })
		line := func(label string) []string { return rapid.SliceOfN(oneLine, 0, 20).Draw(t, label) }
		r.Facts, r.Explanation = line("facts"), line("explanation")
		return r
	})
}

// TestEveryPartOfABindingIsShown names each part under a heading that fits the kind of tool.
func TestEveryPartOfABindingIsShown(t *testing.T) {
	t.Parallel()
	headings := map[string]string{
		"shell": "Runs on the bot's machine", "patch": "Changes files on the bot's machine",
		"mcp": "MCP server", "mcp_http": "MCP server", "hosted_mcp": "MCP server",
		"agent": "Sets another agent to work",
	}
	calls := callsOfAllKinds()
	for name, want := range headings {
		r := calls[name]
		where, claims := boundTo(r.Tool)
		if where.heading != want {
			t.Errorf("%s: %q, want %q", name, where.heading, want)
		}
		all := strings.Join(append(where.lines, claims.lines...), "\n")
		for _, part := range r.Tool.Binding {
			_, value, found := strings.Cut(part, "=")
			if !found {
				_, value, found = strings.Cut(part, " ")
			}
			if !found {
				value = part
			}
			var words []string
			if json.Unmarshal([]byte(value), &words) == nil { // a command
				value = spelled(words)
			}
			if !strings.Contains(all, value) {
				t.Errorf("%s: %q is not in\n%s", name, part, all)
			}
		}
		if strings.Contains(all, "Sends to") {
			t.Errorf("%s sends nothing:\n%s", name, all)
		}
	}
	where, claims := boundTo(calls["mcp"].Tool)
	if own := strings.Join(where.lines, "\n"); strings.Contains(own, "Merge") || strings.Contains(own, "Hint") {
		t.Errorf("the server's claims are shown as the operator's words:\n%s", own)
	}
	if claims.heading == "" || !slices.Contains(claims.lines, "It changes nothing (readOnlyHint=true)") {
		t.Errorf("claims: %q", claims)
	}
}

// TestBindingsThatPretend cannot be told apart from what they pretend to be only if two bindings are shown alike.
func TestBindingsThatPretend(t *testing.T) {
	t.Parallel()
	seen := map[string][]string{}
	for _, binding := range [][]string{
		{"server=a", "tool=b"}, {"server=a\nIts name there: b", "tool="},
		{"server=a", "tool=b", "title=c"}, {"server=a", "tool=b\nTitle: c"},
		{"server=a", "url=b", "tool=c"}, {"server=a", "tool=c", "url=b"},
		{"server=a", "env=B", "env=C", "tool=d"}, {"server=a", "env=B, C", "tool=d"},
		{"server=a", "readOnlyHint=true"},
		{"server=a", "tool=x", "readOnlyHint=true"}, {"server=a", "tool=x", "readOnlyHint=false"},
	} {
		r := transfer("{}")
		r.Tool.Kind, r.Tool.Binding = agent.KindMCP, binding
		shown := fmt.Sprint(newCallText(r).sections)
		if other, ok := seen[shown]; ok {
			t.Errorf("%q and %q are shown alike: %s", binding, other, shown)
		}
		seen[shown] = binding
	}
}

// TestPlainTextOfCalls takes scripts and patches out of the arguments.
func TestPlainTextOfCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind      agent.ToolKind
		arguments string
		want      string
		hidden    bool
		why       string
	}{
		{agent.KindShell, `{"script":"a\n\tb"}`, "a\n⇥   b", false, "tabs are drawn"},
		{agent.KindShell, `{"script":"a ⇥ b\n"}`, "a \\u{21E5} b", true, "what only looks like a tab"},
		{agent.KindShell, `{"script":"a\n            b"}`, "a\n            b", false, "indentation stays"},
		{agent.KindShell, `{"script":"a            b\n"}`, "a\\u{20*12}b", true, "padding in a line does not"},
		{agent.KindShell, `{"script":"a\n` + strings.Repeat(" ", 60) + `b"}`, "a\n\\u{20*60}b", true,
			"nor does a text far to the right"},
		{agent.KindShell, `{"script":"a\r\nb"}`, "a\\u{D}\nb", true, "a carriage return"},
		{agent.KindShell, `{"argv":["git","commit","-m","one\ntwo"]}`, "1 git\n2 commit\n3 -m\n4 one\n  two", false,
			"words behind numbers"},
		{agent.KindShell, `{"commands":["cd x\nls","4 rm"],"timeout_ms":10}`, "1 cd x\n  ls\n2 4 rm", false,
			"scripts behind numbers"},
		{agent.KindShell, `{"script":"a\nb","secret":1}`, "", false, "another tool's arguments"},
		{agent.KindApplyPatch, `{"patch":"*** Begin\n+            x"}`, "*** Begin\n+            x", false,
			"indentation behind the mark"},
		{agent.KindApplyPatch, `{"diff":"+x\n","path":"a\nb","type":"create_file"}`, "create_file a\\u{A}b\n+x", true,
			"a name with a line break"},
		{agent.KindAgent, `{"input":"a\nb"}`, "a\nb", false, "what an agent is asked"},
		{agent.KindHTTP, `{"script":"a\nb"}`, "", false, "no script"},
	} {
		p, _ := plainTextOf(c.kind, json.RawMessage(c.arguments))
		if p.text != c.want || p.hidden != c.hidden {
			t.Errorf("%s: %s gives %q, hidden %v", c.why, c.arguments, p.text, p.hidden)
		}
	}
}

// TestIndentationIsNoTrick warns about what hides something, and not about how scripts and patches are indented.
func TestIndentationIsNoTrick(t *testing.T) {
	t.Parallel()
	if newCallText(patch()).hidden || newCallText(shellScript()).hidden {
		t.Error("a call is warned about that hides nothing")
	}
	if !newCallText(shellWords()).hidden {
		t.Error("the control: an invisible character is not warned about")
	}
}

// TestAidsMakeRoom shortens the aids first, then leaves them out, and never shortens what a decision is bound to.
func TestAidsMakeRoom(t *testing.T) {
	t.Parallel()
	level := func(r *approvals.Request) (aids int, whole bool) {
		c := newCard(r)
		for _, block := range decoded(t, c.blocks) {
			raw, err := json.Marshal(block)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(raw), "all of it in ") || strings.Contains(string(raw), ", in ") {
				aids++
			}
		}
		return aids, c.whole
	}
	if shortened, whole := level(shellScript()); shortened != 0 || !whole {
		t.Errorf("a short script: %d aids shortened, whole %v", shortened, whole)
	}
	if shortened, whole := level(shellLong()); shortened != 0 || !whole {
		t.Errorf("a long script: %d aids shortened, whole %v", shortened, whole)
	}
	huge := shellLong()
	huge.Arguments = json.RawMessage(`{"script":"` + strings.Repeat(`echo all work and no play\n`, 600) + `"}`)
	if _, whole := level(huge); whole {
		t.Error("a script that no card can hold is offered for approval")
	}
	many := patch()
	for i := range 900 {
		many.Facts = append(many.Facts, fmt.Sprintf("file-%03d sha256:%s", i, strings.Repeat("0c", 32)))
	}
	if _, whole := level(many); whole {
		t.Error("facts that no card can hold are left out of a card that offers to approve")
	}
}

// TestWholeMeansAllThatIsBound shows everything that a decision is bound to wherever a call counts as shown, however
// little room is left to the aids.
func TestWholeMeansAllThatIsBound(t *testing.T) {
	t.Parallel()
	for name, r := range callsOfAllKinds() {
		call := newCallText(r)
		for d := everything; d.whole(); d++ {
			blocks := decoded(t, call.blocks(d))
			shown := func(heading string) string { return boxes(blocks, heading) }
			showsAllBound(failing{t, fmt.Sprintf("%s at level %d: ", name, d)}, r, shown)
		}
	}
}

// failing puts words before a failure.
type failing struct {
	t     *testing.T
	words string
}

func (f failing) Fatalf(format string, args ...any) {
	f.t.Helper()
	f.t.Errorf(f.words+format, args...)
}

// TestListsShowWholeCallsOrOfferNothing keeps a list's items small, and offers to approve only what they show.
func TestListsShowWholeCallsOrOfferNothing(t *testing.T) {
	t.Parallel()
	long := shellScript()
	long.Facts = slices.Repeat(long.Facts, 5)
	for name, c := range map[string]struct {
		r       *approvals.Request
		offered bool
	}{
		"small": {shellScript(), true}, "many facts": {long, false}, "a long script": {shellLong(), false},
		"a small patch": {patch(), true}, "an MCP tool": {callsOfAllKinds()["mcp"], true},
	} {
		item := listItem(c.r, true)
		blocks := decoded(t, item)
		if got := actions(blocks)["approve"]; got != c.offered {
			t.Errorf("%s: approve offered is %v", name, got)
		}
		if c.offered {
			cardShowsAll(failing{t, name + ": "}, c.r, blocks)
		}
		if raw, err := encodeBlocks(item); err != nil || len(raw) > maxMessage*3/4 {
			t.Errorf("%s: the item has %d bytes, %v", name, len(raw), err)
		}
	}
}
