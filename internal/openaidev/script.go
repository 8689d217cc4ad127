package openaidev

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// Script decides what the server answers.
type Script struct {
	// Rules are tried in order; the first that fits answers.
	Rules []Rule
	// Faults spoil requests: the first fault the first request, and so on. Requests beyond them are answered.
	Faults []Fault
	// ItemTypes are types of input items accepted besides OpenAI's own and those in Reply.Raw of the rules.
	ItemTypes []string
	// MCP are the servers of tools that this server can talk to. A request that offers one by its label gets the list
	// of its tools first.
	MCP []MCPServer
}

// MCPServer is a server of tools behind a tool of type mcp.
type MCPServer struct {
	Label string
	Tools []MCPTool
}

// MCPTool is a tool of an MCPServer. Output is what every call of it returns.
type MCPTool struct {
	Name, Description string
	Schema            json.RawMessage // of its arguments; empty: any object
	Output            string
	Error             string // instead of an output
}

// AnyRound makes a Rule fit in every round.
const AnyRound = -1

// Rule chooses a reply by the conversation so far. Every condition that is set must hold.
type Rule struct {
	// User is a regular expression for the last message of the user; its groups are Turn.Match.
	User string
	// Round is how many rounds of tool calls were answered since that message: 0 for the first answer, or AnyRound.
	Round int
	// Output is a regular expression that an output of the newest round must match.
	Output string
	// Reply is the answer. In its Text, Reasoning and arguments, $1 or ${1} stands for the first group of User, $0 for
	// all that it matched, $output for the text of the last output, and $$ for a dollar sign. In arguments that are
	// JSON they are escaped for the inside of a string.
	Reply Reply
	// Func, if set, makes the answer instead of Reply, and nothing in it is replaced. It must depend on the turn alone.
	Func func(*Turn) Reply
}

// Reply is what the model answers in one turn: reasoning first, then Raw items, then text or calls or both.
type Reply struct {
	Reasoning string            // adds a reasoning item with this summary
	Raw       []json.RawMessage // items sent as they are, for instance of types no client knows
	Text      string
	Refusal   string // a message with a refusal in place of text
	Calls     []Call
	// Incomplete ends the response as incomplete for this reason: max_output_tokens or content_filter.
	Incomplete string
	// Failed ends the response as failed with this code, for instance server_error.
	Failed string
}

// CallKind says what a Call is a call of.
type CallKind string

// The kinds of calls. Chat completions have functions only.
const (
	CallFunction   CallKind = ""
	CallCustom     CallKind = "custom"
	CallShell      CallKind = "shell"
	CallApplyPatch CallKind = "apply_patch"
	// CallMCP is a call of a tool behind an MCP server. The server makes it itself, or asks for approval first, as the
	// request wants it; an approved call is made at the start of the next answer.
	CallMCP CallKind = "mcp"
)

// Call is a call of a tool.
type Call struct {
	Kind CallKind
	Name string // of functions, custom tools and MCP tools
	// Arguments is JSON for functions and MCP tools, or what the script wants a model to get wrong; the input of a
	// custom tool; the action of a shell call and the operation of apply_patch, as JSON.
	Arguments string
	ID        string // the call id; empty derives one from the request
	Server    string // the label of the MCP server
}

// rule is a Rule with its patterns compiled.
type rule struct {
	Rule
	user, output *regexp.Regexp
}

func compile(rules []Rule) ([]rule, error) {
	compiled := make([]rule, 0, len(rules))
	for i, r := range rules {
		c, err := compileRule(r)
		if err != nil {
			return nil, fmt.Errorf("openai script: rule %d: %w", i, err)
		}
		compiled = append(compiled, c)
	}
	return compiled, nil
}

func compileRule(r Rule) (rule, error) {
	c := rule{Rule: r}
	var err error
	if c.user, err = regexp.Compile(r.User); err != nil {
		return c, err
	}
	if c.output, err = regexp.Compile(r.Output); err != nil {
		return c, err
	}
	return c, r.Reply.check(c.user.NumSubexp())
}

// answer makes the reply.
func (r *rule) answer(t *Turn) Reply {
	if r.Func != nil {
		return r.Func(t)
	}
	return r.Reply.expand(t)
}

// lastOutput is what stands for the text of the last output.
const lastOutput = "output"

// check finds what nothing will stand for.
func (r Reply) check(groups int) (err error) {
	find := func(name string) string {
		if n, e := strconv.Atoi(name); name != "$" && name != lastOutput && (e != nil || n < 0 || n > groups) {
			err = fmt.Errorf("nothing stands for $%s in the reply: User has %d groups; a dollar sign is $$",
				name, groups)
		}
		return ""
	}
	for _, text := range append([]string{r.Text, r.Reasoning}, r.arguments()...) {
		os.Expand(text, find)
	}
	return err
}

func (r Reply) arguments() []string {
	var texts []string
	for _, c := range r.Calls {
		texts = append(texts, c.Arguments)
	}
	return texts
}

// expand puts in what the turn has.
func (r Reply) expand(t *Turn) Reply {
	plain := func(name string) string {
		switch name {
		case "$":
			return name
		case lastOutput:
			return t.Output().Text
		}
		n, _ := strconv.Atoi(name)
		return t.Match[n]
	}
	r.Text, r.Reasoning = os.Expand(r.Text, plain), os.Expand(r.Reasoning, plain)
	calls := make([]Call, len(r.Calls))
	for i, c := range r.Calls {
		insert := plain
		if c.Kind != CallCustom {
			insert = func(name string) string { return inString(plain(name)) }
		}
		c.Arguments = os.Expand(c.Arguments, insert)
		calls[i] = c
	}
	r.Calls = calls
	return r
}

// inString escapes text for the inside of a JSON string.
func inString(text string) string {
	b, _ := json.Marshal(text) // of a string, this does not fail
	return string(b[1 : len(b)-1])
}

// fits reports whether the rule answers the turn, and sets t.Match when it does.
func (r *rule) fits(t *Turn) bool {
	if r.Round != AnyRound && r.Round != t.Round {
		return false
	}
	match := r.user.FindStringSubmatch(t.User)
	if match == nil || r.Output != "" && !matchesAny(r.output, t.Newest()) {
		return false
	}
	t.Match = match
	return true
}

func matchesAny(re *regexp.Regexp, outputs []Output) bool {
	for _, o := range outputs {
		if re.MatchString(o.Text) {
			return true
		}
	}
	return false
}
