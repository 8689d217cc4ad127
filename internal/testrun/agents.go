package testrun

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/agentsfile"
	"countersign/internal/openaidev"
	"countersign/internal/testfile"
)

// Permissions are what tools that act on this machine for real need before a test may use them.
var Permissions = []string{
	string(agentsfile.Function), string(agentsfile.Shell), string(agentsfile.ApplyPatch), string(agentsfile.MCP),
}

// replace puts the servers' addresses in for the URLs that they stand for. Nothing else of the file changes, and no
// line moves. It returns the data itself where there is nothing to replace.
func (w *world) replace(path string, data []byte) ([]byte, error) {
	v, err := agentsfile.ParseYAML(path, data)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(data), "\n")
	for name, s := range w.file.Servers {
		for _, from := range s.Replaces {
			if n := replaceURLs(v, lines, from, w.servers[name].url()); n == 0 {
				return nil, problem(s.At, "replaces: no url of the agents file begins with %s", from)
			}
		}
	}
	return []byte(strings.Join(lines, "")), nil
}

// urlKeys are the keys whose values are URLs.
var urlKeys = []string{"url", "sse"}

// replaceURLs replaces the beginnings of URLs, and counts them.
func replaceURLs(v agentsfile.Value, lines []string, from, to string) (n int) {
	for _, e := range v.Entries() {
		if slices.Contains(urlKeys, e.Key) && e.Value.Kind() == agentsfile.String && begins(e.Value.Text(), from) {
			line := &lines[e.Value.Position().Line-1]
			head, tail := cutColumns(*line, e.Value.Position().Column-1)
			*line = head + strings.Replace(tail, from, to, 1)
			n++
		}
		n += replaceURLs(e.Value, lines, from, to)
	}
	for _, item := range v.Items() {
		n += replaceURLs(item, lines, from, to)
	}
	return n
}

// begins reports whether the URL is from, or below it.
func begins(u, from string) bool {
	rest, ok := strings.CutPrefix(u, from)
	return ok && (rest == "" || strings.HasSuffix(from, "/") || strings.ContainsAny(rest[:1], "/?"))
}

// cutColumns cuts a line after so many characters.
func cutColumns(line string, n int) (head, tail string) {
	for i := range line {
		if n == 0 {
			return line[:i], line[i:]
		}
		n--
	}
	return line, ""
}

// readAgents reads the agents file as the bot will, and refuses what a test must not do.
func (w *world) readAgents() error {
	path := w.file.AgentsPath()
	data, err := os.ReadFile(path)
	if err != nil {
		return configError{fmt.Errorf("%s: agents file: %w", w.file.At, err)}
	}
	changed, err := w.replace(path, data)
	if err != nil {
		return configError{err}
	}
	v, err := agentsfile.ParseYAML(path, changed)
	if err == nil {
		err = w.findTriggers(v)
	}
	if err != nil {
		return configError{err}
	}
	lookup := func(name string) (string, bool) { v, ok := w.env[name]; return v, ok }
	if w.agents, err = agentsfile.Parse(path, changed, lookup); err != nil {
		return configError{err}
	}
	if w.agentsPath, err = filepath.Abs(path); err != nil {
		return err
	}
	if string(changed) != string(data) {
		w.agentsPath = filepath.Join(w.dir, "countersign.yaml")
		if err := os.WriteFile(w.agentsPath, changed, 0o600); err != nil {
			return fmt.Errorf("agents file: %w", err)
		}
	}
	if problems := w.refusals(); len(problems) > 0 {
		return configError{problems.Sorted()}
	}
	return nil
}

// refusals are the tools that the test would use without being allowed to.
func (w *world) refusals() (problems agentsfile.Problems) {
	refuse := func(at agentsfile.Position, format string, args ...any) {
		problems = append(problems, &agentsfile.Problem{Position: at, Message: fmt.Sprintf(format, args...)})
	}
	for _, a := range w.agents.Agents {
		for _, t := range a.Tools {
			if why := w.refusal(t); why != "" {
				refuse(t.Position, "%s", why)
			}
		}
	}
	for _, s := range w.agents.MCPServers {
		switch {
		case len(s.Command) == 0 && !w.isServer(s.URL.Value+s.SSE.Value):
			refuse(s.Position, "MCP server %s is not on this machine, and a test reaches nothing else", s.Name)
		case !w.allows(agentsfile.MCP):
			refuse(s.Position, "MCP server %s would be started for real; --allow-tools mcp lets a test do that", s.Name)
		}
	}
	return problems
}

// refusal says why the test must not have the tool, or "". What the script does not call is harmless.
func (w *world) refusal(t *agentsfile.Tool) string {
	switch t.Type {
	case agentsfile.HostedMCP:
		return "hosted_mcp is carried out by the model's provider, which a test does not have"
	case agentsfile.MCP, agentsfile.AgentTool, agentsfile.External, agentsfile.AskTool, agentsfile.WebSearch:
		return ""
	}
	if !w.calls(t.Name) {
		return ""
	}
	switch t.Type {
	case agentsfile.HTTP:
		if !w.isServer(t.URL.Value) {
			return fmt.Sprintf("the test calls %s, and %s is none of its servers: set a variable in env to "+
				"${servers.NAME}, or give a server replaces: [%s]", t.Name, t.URL.Written, origin(t.URL.Written))
		}
		return ""
	case agentsfile.Shell, agentsfile.ApplyPatch:
		if !w.below(t.Directory.Value) {
			return fmt.Sprintf("the test calls %s, and %s is not in the folder that a test may touch: set it in env "+
				"to ${dir}", t.Name, t.Directory.Written)
		}
	}
	if w.allows(t.Type) {
		return ""
	}
	return fmt.Sprintf("the test calls %s, which acts for real; --allow-tools %s lets it do that", t.Name, t.Type)
}

func (w *world) allows(t agentsfile.ToolType) bool {
	return slices.Contains(w.cfg.AllowTools, string(t))
}

// calls reports whether the script calls the tool.
func (w *world) calls(tool string) bool {
	for _, s := range w.test.Model {
		for _, turn := range s.Turns {
			if slices.ContainsFunc(turn.Calls, func(c testfile.Call) bool { return c.Tool == tool }) {
				return true
			}
		}
	}
	return false
}

// isServer reports whether the URL is at one of the test's servers.
func (w *world) isServer(u string) bool {
	for _, s := range w.servers {
		if begins(u, s.url()) {
			return true
		}
	}
	return false
}

// below reports whether the path is in the folder that agents work in.
func (w *world) below(path string) bool {
	rel, err := filepath.Rel(w.workdir(), path)
	return err == nil && filepath.IsLocal(rel)
}

// origin is the beginning of a URL that replaces would name.
func origin(written string) string {
	u, err := url.Parse(written)
	if err != nil || u.Host == "" {
		return "…"
	}
	return u.Scheme + "://" + u.Host
}

// kinds are the tools that the provider has a form of its own for.
func kinds(f *agentsfile.File) map[string]openaidev.CallKind {
	kinds := make(map[string]openaidev.CallKind)
	for _, a := range f.Agents {
		for _, t := range a.Tools {
			switch {
			case t.Native && t.Type == agentsfile.Shell:
				kinds[t.Name] = openaidev.CallShell
			case t.Native && t.Type == agentsfile.ApplyPatch:
				kinds[t.Name] = openaidev.CallApplyPatch
			}
		}
	}
	return kinds
}

func problem(at agentsfile.Position, format string, args ...any) error {
	return agentsfile.Problems{{Position: at, Message: fmt.Sprintf(format, args...)}}
}
