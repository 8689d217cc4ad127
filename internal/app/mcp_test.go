package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/pgdev"
)

// libraryYAML has an MCP server that is slow to leave: a shell that serves and then sleeps. It notes its process.
const libraryYAML = `version: 1
agents:
  ops:
    instructions: You publish.
    model: gpt-5.2
    tools:
      - { type: mcp, server: library, prefix: lib_ }
mcp_servers:
  library:
    command: [/bin/sh, -c, 'echo $$ >> pids; "$0" demo-mcp .; sleep 300', "${COUNTERSIGN}"]
    dir: ${LIBRARY}
    env: { TOKEN: "${EFFECTS_TOKEN}" }
    trusted: true
`

// newLibrary is a world with an MCP server.
func newLibrary(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, settings{})
	if err := os.Mkdir(w.library(), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("library/facts.md", "Water is wet.")
	w.write("countersign.yaml", libraryYAML+anybody)
	w.extra = append(w.extra, "COUNTERSIGN="+binary(t), "LIBRARY="+w.library())
	t.Cleanup(func() {
		for _, pid := range w.servers() { // there are some only after a failure
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	})
	return w
}

func (w *world) library() string { return filepath.Join(w.dir, "library") }

// servers are the processes of MCP servers that were started, oldest first.
func (w *world) servers() []int {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.library(), "pids"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	var pids []int
	for line := range strings.FieldsSeq(string(data)) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			w.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil && !zombie(pid) }

// TestMCP follows a call of an MCP server's tool from the mention to the answer.
func TestMCP(t *testing.T) {
	t.Parallel()
	w := newLibrary(t)
	bot := w.start()
	if n := len(w.servers()); n != 0 {
		t.Errorf("%d servers before any agent needs one", n)
	}
	thread := w.mention("read facts")
	w.answer(thread, "Water is wet.")
	if n := len(w.cards(thread)); n != 0 {
		t.Errorf("%d cards for a tool that only reads", n)
	}

	thread = w.mention("publish alpha")
	card := w.card(thread, 1)
	for _, want := range []string{"lib_publish_document", "name  alpha", "text  All of it.", "${COUNTERSIGN}"} {
		if !strings.Contains(card.Shown(), want) {
			t.Errorf("the card does not show %q:\n%s", want, card.Shown())
		}
	}
	path := filepath.Join(w.library(), "published", "alpha.md")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("published without a decision: %v", err)
	}
	w.mustClick(ben, card, "approve")
	w.answer(thread, "Published as published/alpha.md.")
	w.settled(card, "Approved")
	if text, err := os.ReadFile(path); err != nil || string(text) != "All of it." {
		t.Errorf("published: %q, %v", text, err)
	}

	thread = w.mention("publish beta")
	w.mustClick(ben, w.card(thread, 1), "reject")
	w.answer(thread, "not approved")
	if _, err := os.Stat(filepath.Join(w.library(), "published", "beta.md")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("published although it was rejected: %v", err)
	}

	servers := w.servers()
	if len(servers) != 1 || !alive(servers[0]) {
		t.Fatalf("servers: %v", servers)
	}
	if code := bot.stop(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	if alive(servers[0]) {
		t.Error("the server outlives the program")
	}
	w.verified()
}

// TestMCPReload keeps a server that a new file declares as before, starts one that it declares otherwise, and ends both
// with the program.
func TestMCPReload(t *testing.T) {
	t.Parallel()
	w := newLibrary(t)
	bot := w.start()
	reload := func(text, says string) {
		t.Helper()
		before := strings.Count(bot.out.String(), says)
		w.write("countersign.yaml", text)
		bot.signal(syscall.SIGHUP)
		for deadline := time.Now().Add(patience); strings.Count(bot.out.String(), says) == before; {
			if time.Now().After(deadline) {
				t.Fatalf("the program does not say %q:\n%s", says, bot.out.String())
			}
			<-time.After(5 * time.Millisecond)
		}
	}
	read := func(servers int) {
		t.Helper()
		w.answer(w.mention("read facts"), "Water is wet.")
		if have := w.servers(); len(have) != servers {
			t.Errorf("%d servers were started, want %d", len(have), servers)
		}
	}
	read(1)
	reload(libraryYAML+strings.Replace(anybody, "true", "true }, expires_in: 3h, always: { scopes: []", 1),
		"agents file reloaded")
	read(1)
	reload(strings.Replace(libraryYAML, "prefix", "prefex", 1)+anybody, "stays in force")
	read(1)
	reload(strings.Replace(libraryYAML, "TOKEN:", "OTHER:", 1)+anybody, "agents file reloaded")
	read(2)
	servers := w.servers()
	for _, pid := range servers {
		if !alive(pid) { // runs under way may still use the one from before
			t.Errorf("server %d has ended", pid)
		}
	}
	if code := bot.stop(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	for _, pid := range servers {
		if alive(pid) {
			t.Errorf("server %d outlives the program", pid)
		}
	}
}

// TestCheckMCP starts servers only when asked to, lists what they offer, and ends them.
func TestCheckMCP(t *testing.T) {
	t.Parallel()
	w := newLibrary(t)
	if out, complaint, code := w.run("check", "--offline"); code != 0 || !strings.Contains(out, "lib_*") ||
		!strings.Contains(out, "asks unless a tool only reads") {
		t.Errorf("%d\n%s%s", code, out, complaint)
	}
	if n := len(w.servers()); n != 0 {
		t.Errorf("check has started %d servers", n)
	}
	out, complaint, code := w.run("check", "--offline", "--mcp")
	have := make(map[string]bool)
	for line := range strings.SplitSeq(out, "\n") {
		have[strings.Join(strings.Fields(line), " ")] = true
	}
	for tool, gate := range map[string]string{"list_documents": "never asks", "read_document": "never asks",
		"publish_document": "always asks"} {
		want := fmt.Sprintf(`ops lib_%s mcp %s /bin/sh -c echo $$ >> pids; "$0" demo-mcp .; sleep 300 ${COUNTERSIGN}`,
			tool, gate)
		if code != 0 || !have[want] {
			t.Errorf("%d, no line %q in\n%s%s", code, want, out, complaint)
		}
	}
	servers := w.servers()
	if len(servers) != 1 || alive(servers[0]) {
		t.Errorf("servers %v, and they should be gone", servers)
	}
	w.write("countersign.yaml", strings.Replace(libraryYAML, "[/bin/sh, -c, ", "[/absent/program, ", 1)+
		"  other: { command: [/absent/other] }\n"+anybody+"default_agent: ops\n")
	agents := strings.Replace(w.read("countersign.yaml"), "mcp_servers:", `  two:
    instructions: You publish too.
    model: gpt-5.2
    tools: [{ type: mcp, server: library }, { type: mcp, server: other }]
mcp_servers:`, 1)
	w.write("countersign.yaml", agents)
	out, complaint, code = w.run("check", "--offline", "--mcp")
	for _, server := range []string{"library", "other"} { // once, however many agents use it
		if n := strings.Count(complaint, fmt.Sprintf("countersign: mcp server %q", server)); code != 1 || n != 1 {
			t.Errorf("%d, and %d lines about %s, which cannot be started:\n%s%s", code, n, server, out, complaint)
		}
	}
	if out, complaint, code := w.run("check", "--offline"); code != 0 {
		t.Errorf("without --mcp: %d\n%s%s", code, out, complaint)
	}
}

// TestMCPSchemaWithWhiteSpace: a server may write its schemas with white space, as many do, and the store that asks
// about its tools is moved into a database all the same.
func TestMCPSchemaWithWhiteSpace(t *testing.T) {
	fileOnly(t, "it is about leaving a file")
	t.Parallel()
	w := newLibrary(t)
	w.write("countersign.yaml", strings.ReplaceAll(libraryYAML, `"$0" demo-mcp .;`,
		`"$0" demo-mcp . | sed -u "s/\"inputSchema\":{/\"inputSchema\": { /g";`)+anybody)
	bot := w.start()
	thread := w.mention("publish alpha")
	w.mustClick(ben, w.card(thread, 1), "approve")
	w.answer(thread, "Published as published/alpha.md.")
	if code := bot.stop(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	w.must("migrate", "bolt:countersign.db", pgdev.Start(t).Database(t))
}
