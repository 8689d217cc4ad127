package openaidev

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

// Script decides what the server answers.
type Script struct {
	// Rules are tried in order; the first that fits answers.
	Rules []Rule
	// Faults spoil requests: the first fault the first request, and so on. Requests beyond them are answered.
	Faults []Fault
	// ItemTypes are types of input items accepted besides OpenAI's own and those in Reply.Raw of the rules.
	ItemTypes []string
	// MCP are the servers of tools that this server can talk to. A request that offers one by its label gets the list of
	// its tools first.
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
	// Reply is the answer. Its Text, Reasoning and arguments are templates (package text/template) over a *Turn, with
	// the function json, which quotes a value.
	Reply Reply
	// Func, if set, makes the answer instead of Reply, and its texts are no templates. It must depend on the turn alone.
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
	// Arguments is JSON for functions and MCP tools, or what the script wants a model to get wrong; the input of a custom
	// tool; the action of a shell call and the operation of apply_patch, as JSON.
	Arguments string
	ID        string // the call id; empty derives one from the request
	Server    string // the label of the MCP server
}

// rule is a Rule with its patterns and templates compiled.
type rule struct {
	Rule
	user, output *regexp.Regexp
	reply        func(*Turn) (Reply, error)
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
	if r.Func != nil {
		c.reply = func(t *Turn) (Reply, error) { return r.Func(t), nil }
		return c, nil
	}
	c.reply, err = compileReply(r.Reply)
	return c, err
}

// compileReply parses the templates of a reply once.
func compileReply(r Reply) (func(*Turn) (Reply, error), error) {
	texts := []string{r.Text, r.Reasoning}
	for _, c := range r.Calls {
		texts = append(texts, c.Arguments)
	}
	templates := make([]*template.Template, len(texts))
	for i, text := range texts {
		t, err := template.New("reply").Funcs(template.FuncMap{"json": quote}).Parse(text)
		if err != nil {
			return nil, err
		}
		templates[i] = t
	}
	return func(t *Turn) (Reply, error) { return expand(r, templates, t) }, nil
}

func expand(r Reply, templates []*template.Template, t *Turn) (Reply, error) {
	texts := make([]string, len(templates))
	for i, tmpl := range templates {
		var b strings.Builder
		if err := tmpl.Execute(&b, t); err != nil {
			return r, err
		}
		texts[i] = b.String()
	}
	r.Text, r.Reasoning = texts[0], texts[1]
	calls := make([]Call, len(r.Calls))
	for i, c := range r.Calls {
		c.Arguments = texts[2+i]
		calls[i] = c
	}
	r.Calls = calls
	return r, nil
}

func quote(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
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
