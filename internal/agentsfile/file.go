package agentsfile

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// File is a valid agents file.
type File struct {
	Path         string
	Source       []byte            // the file's bytes
	Digest       [sha256.Size]byte // of the file's bytes
	DefaultAgent string
	Channels     map[string]string // channel id to agent name
	Requesters   People
	Limits       Limits
	Retention    Retention
	Vars         []Var    // in the order of the file
	Agents       []*Agent // in the order of the file
	MCPServers   []*MCPServer
	// Policies are in the order of the file: the first whose When holds says who must agree, else the default one.
	Policies []*Policy
	// DefaultPolicy is nil when the file has none; then no tool may be gated.
	DefaultPolicy *Policy
	Delegates     []Delegate  // in the order of the file
	BreakGlass    *BreakGlass // nil: nobody decides past the policies
	Workspaces    []string    // ids of Slack's, in which runs may be started; empty: wherever the app is installed
	// SharedAnswers says that answers may be read in channels that are shared with other organisations.
	SharedAnswers bool
	groups        []Text
}

// answersInThread is the word of shared_channel_answers that lets answers stand in the thread.
const answersInThread = "thread"

// Groups lists the user groups that the file names, as often as it names them, by their Slack ids.
func (f *File) Groups() []Text { return slices.Clone(f.groups) }

// Limits bound how much may be under way.
type Limits struct{ RunsPerPerson, RunsPerChannel, PendingPerPerson int }

// Agent returns the agent with the name, or nil.
func (f *File) Agent(name string) *Agent {
	for _, a := range f.Agents {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// MCPServer returns the MCP server with the name, or nil.
func (f *File) MCPServer(name string) *MCPServer {
	for _, s := range f.MCPServers {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// AgentFor returns the name of the agent that answers in the channel.
func (f *File) AgentFor(channel string) string {
	if name, ok := f.Channels[channel]; ok {
		return name
	}
	return f.DefaultAgent
}

// Read reads the file at path; lookup finds environment variables. A file that cannot be used is a Problems.
func Read(path string, lookup func(string) (string, bool)) (*File, error) {
	f, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("agents file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("agents file: %w", err)
	}
	return Parse(path, data, lookup)
}

// open opens the file. A pipe that nobody writes into is empty, rather than something to wait for: whoever reads the
// file again would do nothing else any more.
func open(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) }

// Parse reads the file's bytes; path is what problems call it.
func Parse(path string, data []byte, lookup func(string) (string, bool)) (*File, error) {
	d := &decoder{file: path, lookup: lookup}
	root := d.parse(data)
	if root == nil {
		return nil, d.problems.sorted()
	}
	f := d.decodeFile(root)
	if len(d.problems) > 0 {
		return nil, d.problems.sorted()
	}
	f.Path, f.Source, f.Digest, f.groups = path, data, sha256.Sum256(data), d.groups
	return f, nil
}

func (d *decoder) decodeFile(root *node) *File {
	o := d.object(root, "the agents file", fileKeys)
	if root.kind != kindMapping {
		return nil
	}
	o.version()
	f := &File{
		DefaultAgent: o.literal("default_agent"),
		Limits:       d.decodeLimits(o.values["limits"]),
		Retention:    d.decodeRetention(o.values["retention"]),
		Requesters:   d.decodeRequesters(o.values["requesters"]),
		Vars:         d.decodeVars(o.of("vars", kindMapping)),
		Agents:       d.decodeAgents(o),
	}
	f.MCPServers = d.decodeMCPServers(o.of("mcp_servers", kindMapping))
	d.checkReferences(f)
	d.checkConversations(f)
	f.Channels = d.decodeChannels(o.of("channels", kindMapping), f)
	f.Policies = o.decodePolicies()
	if n := o.values["default_policy"]; n != nil {
		f.DefaultPolicy = d.object(n, DefaultPolicyName, policyKeys).decodePolicy(n, DefaultPolicyName)
	}
	f.Delegates = d.decodeDelegates(o.of("delegates", kindMapping))
	f.BreakGlass = d.decodeBreakGlass(o.values["break_glass"])
	f.Workspaces = o.ids("workspaces", "TE", "T0123456789")
	f.SharedAnswers = o.choice("shared_channel_answers", answerWords) == answersInThread
	o.chooseDefault(f)
	return f
}

// version insists on the one version that exists, so that a file of a later one is not misread.
func (o *object) version() {
	n := o.values["version"]
	switch {
	case n == nil:
		o.problem(o.pos, "the file needs `version: 1`")
	case n.kind != kindInteger:
		o.problem(n.pos, "version is the number 1, not %s: write `version: 1`", n.kind)
	case n.text != strconv.Itoa(1):
		o.problem(n.pos, "version %s is not supported; this program reads version 1", n.text)
	}
}

// chooseDefault settles which agent answers where nothing else is said.
func (o *object) chooseDefault(f *File) {
	n := o.values["default_agent"]
	switch {
	case n == nil && len(f.Agents) == 1:
		f.DefaultAgent = f.Agents[0].Name
	case n == nil && len(f.Agents) > 1:
		o.problem(o.pos, "the file has several agents and needs `default_agent`")
	case n != nil:
		o.knownAgent(f, n)
	}
}

// knownAgent notes a name that no agent of the file has.
func (d *decoder) knownAgent(f *File, n *node) {
	if n.kind != kindString || len(f.Agents) == 0 || f.Agent(n.text) != nil {
		return
	}
	names := make([]string, len(f.Agents))
	for i, a := range f.Agents {
		names[i] = a.Name
	}
	if near := Nearest(n.text, names); near != "" {
		d.problem(n.pos, "no agent is called %q; did you mean %q?", n.text, near)
		return
	}
	d.problem(n.pos, "no agent is called %q; the file has %q", n.text, names)
}

func (d *decoder) decodeChannels(n *node, f *File) map[string]string {
	channels := make(map[string]string)
	if n == nil {
		return channels
	}
	for _, e := range n.entries {
		if !isSlackID(e.key, "CGD") {
			d.problem(e.pos, "channels are named by their id, such as C0123456789, not %q", e.key)
		}
		if e.value.kind != kindString {
			d.wrongType(e.value, "the agent of a channel", kindString)
			continue
		}
		d.knownAgent(f, e.value)
		channels[e.key] = e.value.text
	}
	return channels
}

func (d *decoder) decodeLimits(n *node) Limits {
	const most = 1_000_000
	o := d.object(n, "limits", limitKeys)
	return Limits{
		RunsPerPerson:    o.integer("runs_per_person", 1, most, 5),
		RunsPerChannel:   o.integer("runs_per_channel", 1, most, 20),
		PendingPerPerson: o.integer("pending_per_person", 1, most, 50),
	}
}

// ChannelIDs returns the channels with an agent of their own, in order.
func (f *File) ChannelIDs() []string { return slices.Sorted(maps.Keys(f.Channels)) }
