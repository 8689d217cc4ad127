package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/rawtool"
	"countersign/agent/scripted"
)

type address struct {
	Street string `json:"street"`
	Zip    *int   `json:"zip" doc:"Digits only."`
}

type audit struct {
	Reason string `json:"reason,omitempty"`
	Level  uint8  `json:"level"`
}

type order struct {
	audit
	Currency string            `json:"currency" enum:"EUR, USD" doc:"\"Iso\" code."`
	Kinds    []string          `json:"kinds,omitempty" enum:"a,b"`
	Amount   float64           `json:"amount"`
	Count    int32             `json:"count"`
	Urgent   bool              `json:"urgent"`
	When     time.Time         `json:"when"`
	Host     *netip.Addr       `json:"host"`
	Blob     []byte            `json:"blob"`
	To       address           `json:"to"`
	Also     *address          `json:"also"`
	Pair     [2]int            `json:"pair"`
	Labels   map[string]string `json:"labels,omitempty"`
	Extra    json.RawMessage   `json:"extra"`
	Free     any               `json:"free"`
	Number   json.Number       `json:"number"`
	Untagged string
	Skipped  chan int `json:"-"`
	_        chan int
}

const orderSchema = `{"type":"object","properties":{
"reason":{"type":["string","null"]},
"level":{"type":"integer"},
"currency":{"type":"string","description":"\"Iso\" code.","enum":["EUR","USD"]},
"kinds":{"type":["array","null"],"items":{"type":"string","enum":["a","b"]}},
"amount":{"type":"number"},
"count":{"type":"integer"},
"urgent":{"type":"boolean"},
"when":{"type":"string","format":"date-time"},
"host":{"type":["string","null"]},
"blob":{"type":"string"},
"to":{"type":"object","properties":{"street":{"type":"string"},"zip":{"type":["integer","null"],"description":"Digits only."}},"required":["street","zip"],"additionalProperties":false},
"also":{"type":["object","null"],"properties":{"street":{"type":"string"},"zip":{"type":["integer","null"],"description":"Digits only."}},"required":["street","zip"],"additionalProperties":false},
"pair":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2},
"labels":{"type":["object","null"],"additionalProperties":{"type":"string"}},
"extra":{},
"free":{},
"number":{"type":"number"},
"Untagged":{"type":"string"}
},"required":["reason","level","currency","kinds","amount","count","urgent","when","host","blob","to","also","pair","labels","extra","free","number","Untagged"],"additionalProperties":false}`

const goodOrder = `{"reason":null,"level":3,"currency":"EUR","kinds":["a"],"amount":1.5,"count":-7,"urgent":true,` +
	`"when":"2026-11-21T10:00:00Z","host":"10.0.0.1","blob":"aGk=","to":{"street":"x","zip":null},"also":null,` +
	`"pair":[1,2],"labels":{"k":"v"},"extra":{"any":[1]},"free":"x","number":12.5,"Untagged":"u"}`

func orderTool() agent.Tool {
	return agent.NewTool(
		"order", "Order something.", func(_ context.Context, in order) (order, error) { return in, nil })
}

func TestNewToolSchema(t *testing.T) {
	t.Parallel()
	got := string(orderTool().Parameters)
	if diff := gocmp.Diff(strings.ReplaceAll(orderSchema, "\n", ""), got); diff != "" {
		t.Error(diff)
	}
	type nothing struct{}
	empty := agent.NewTool("ping", "", func(context.Context, nothing) (string, error) { return "", nil })
	want := `{"type":"object","properties":{},"required":[],"additionalProperties":false}`
	if string(empty.Parameters) != want {
		t.Errorf("got %s", empty.Parameters)
	}
	if err := empty.Validate(json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
}

func TestNewToolValidates(t *testing.T) {
	t.Parallel()
	tool := orderTool()
	if err := tool.Validate(json.RawMessage(goodOrder)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ why, old, new, want string }{
		{"a nullable property may be left out", `"reason":null,`, ``, ""},
		{"a required one may not", `"urgent":true,`, ``, `missing property "urgent"`},
		{"a property nobody knows", `"urgent":true`, `"urgent":true,"urgently":1`, `unknown property "urgently"`},
		{"a property in another case", `"urgent"`, `"Urgent"`, `unknown property "Urgent"`},
		{"wrong type", `"urgent":true`, `"urgent":"yes"`, "must be of type boolean, not string at /urgent"},
		{"null where null is not allowed", `"urgent":true`, `"urgent":null`, "not null at /urgent"},
		{"value outside the enum", `"EUR"`, `"GBP"`, `must be one of ["EUR" "USD"] at /currency`},
		{"element outside the enum", `["a"]`, `["a","c"]`, `at /kinds/1`},
		{"no integer", `"count":-7`, `"count":1.5`, "integer of at most 32 bits at /count"},
		{"an integer that does not fit", `"count":-7`, `"count":3000000000`, "integer of at most 32 bits"},
		{"a negative number where none may be", `"level":3`, `"level":-1`, "from 0 to 255 at /level"},
		{"a bad time", `2026-11-21T10`, `2026-13-21T10`, "must be a date-time at /when"},
		{"a text its type refuses", `10.0.0.1`, `10.0.0.256`, "at /host"},
		{"no base64", `aGk=`, `!`, "at /blob"},
		{"something missing inside", `"street":"x",`, ``, `missing property "street" at /to`},
		{"an array too long", `[1,2]`, `[1,2,3]`, "must have 2 elements, not 3 at /pair"},
		{"an array too short", `[1,2]`, `[1]`, "must have 2 elements, not 1"},
		{"wrong value in a map", `{"k":"v"}`, `{"k":1}`, "not number at /labels/k"},
		{"an object where a list is wanted", `["a"]`, `{}`, "must be of type array, not object at /kinds"},
		{"a scalar where an object is wanted", `{"street":"x","zip":null}`, `5`,
			"must be of type object, not number at /to"},
		{"anything where anything goes", `{"any":[1]}`, `null`, ""},
	} {
		in := strings.Replace(goodOrder, tt.old, tt.new, 1)
		if in == goodOrder {
			t.Fatalf("%s: nothing to replace", tt.why)
		}
		err := tool.Validate(json.RawMessage(in))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.why, err, tt.want)
		}
	}
	for _, in := range []string{`[]`, `null`, `5`, `{`, ``} {
		if tool.Validate(json.RawMessage(in)) == nil {
			t.Errorf("%q was accepted", in)
		}
	}
}

type recursive struct {
	Next *recursive `json:"next"`
}

type embedsPointer struct{ *audit }

type celsius float64

func (c *celsius) UnmarshalJSON([]byte) error { return errors.New("too cold") }

func noop[In any](context.Context, In) (string, error) { return "", nil }

func TestNewToolRefusesTypes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tool agent.Tool
		want string
	}{
		{agent.NewTool("x", "", noop[string]), "must be a struct, not string"},
		{agent.NewTool("x", "", noop[time.Time]), "must be a plain struct"},
		{agent.NewTool("x", "", noop[struct{ A chan int }]), "field .A: chan int"},
		{agent.NewTool("x", "", noop[struct{ A []struct{ B func() } }]), "field .A.[].B: func()"},
		{agent.NewTool("x", "", noop[struct{ A map[int]string }]), "field .A: map[int]string"},
		{agent.NewTool("x", "", noop[struct{ A map[string]complex64 }]), "field .A.{}: complex64"},
		{agent.NewTool("x", "", noop[struct{ A error }]), "field .A: error"},
		{agent.NewTool("x", "", noop[struct{ A time.Duration }]), "nanoseconds"},
		{agent.NewTool("x", "", noop[recursive]), "field recursive.Next: agent_test.recursive contains itself"},
		{agent.NewTool("x", "", noop[embedsPointer]), "embedded pointer"},
		{agent.NewTool("x", "", noop[struct {
			A int `json:"a"`
			B int `json:"A"`
		}]), `"A" is there already`},
		{agent.NewTool("x", "", noop[struct {
			A int `json:",string"`
		}]), "option string"},
		{agent.NewTool("x", "", noop[struct {
			A int `enum:"1,2"`
		}]), "enum is for strings"},
		{agent.NewTool("x", "", noop[struct {
			A string `enum:"a,,b"`
		}]), "empty or repeated"},
		{agent.NewTool[order, string]("x", "", nil), "no Invoke"},
	} {
		a := &agent.Agent{Name: "ops", Model: scripted.New(), Tools: []agent.Tool{tt.tool}}
		_, err := (&agent.Runner{}).Run(t.Context(), a, nil, agent.RunOptions{})
		if !errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

func TestNewToolOutputs(t *testing.T) {
	t.Parallel()
	type result struct {
		Text string `json:"text"`
	}
	for _, tt := range []struct {
		tool agent.Tool
		want string
	}{
		{returns("plain <text>"), "plain <text>"},
		{returns(agent.ToolOutput{Text: "as is"}), "as is"},
		{returns(result{"<b>"}), `{"text":"<b>"}`},
		{returns([]int{1, 2}), `[1,2]`},
		{returns[any](nil), `null`},
		{returns(math.NaN()), "The tool succeeded, but its result of type float64 cannot be written as JSON."},
	} {
		out, err := tt.tool.Invoke(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(`{}`)})
		if err != nil || out.Text != tt.want {
			t.Errorf("got %q, %v; want %q", out.Text, err, tt.want)
		}
	}
	failing := agent.NewTool("x", "", func(context.Context, struct{}) (int, error) { return 1, errors.ErrUnsupported })
	_, err := failing.Invoke(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(`{}`)})
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	cold := agent.NewTool("x", "", noop[struct{ C celsius }])
	if err := cold.Validate(json.RawMessage(`{"C":1}`)); err == nil || !strings.Contains(err.Error(), "too cold") {
		t.Errorf("a type that decodes itself was not asked: %v", err)
	}
}

func returns[Out any](out Out) agent.Tool {
	return agent.NewTool("x", "", func(context.Context, struct{}) (Out, error) { return out, nil })
}

// FuzzNewTool checks that what Validate accepts, Invoke decodes without loss, and that it accepts its own output.
func FuzzNewTool(f *testing.F) {
	f.Add([]byte(goodOrder))
	f.Add([]byte(`{"reason":"x","level":256}`))
	f.Add([]byte(`{"to":{"to":{}},"pair":[1e2,"2"],"kinds":null}`))
	tool := orderTool()
	f.Fuzz(func(t *testing.T, in []byte) {
		arguments, err := rawtool.Canonical(in)
		if err != nil || tool.Validate(arguments) != nil {
			return
		}
		out, err := tool.Invoke(t.Context(), &agent.ToolCall{Arguments: arguments})
		if err != nil {
			t.Fatalf("%s is valid, but cannot be decoded: %v", arguments, err)
		}
		if strings.HasPrefix(out.Text, "The tool succeeded") {
			return // a time that Go reads but does not write
		}
		if again, err := rawtool.Canonical([]byte(out.Text)); err == nil && tool.Validate(again) != nil {
			t.Fatalf("%s is valid, but becomes %s, which is not: %v", arguments, again, tool.Validate(again))
		}
	})
}

// TestNewExternalTool asks for the result of a call that is valid under the schema of the type, and runs nothing.
func TestNewExternalTool(t *testing.T) {
	t.Parallel()
	deploy := agent.NewExternalTool[amountArgs]("deploy", "Deploy.")
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{deploy}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "deploy", `{"amount":"no"}`), scripted.Call("c2", "deploy", `{"amount":1}`)),
		scripted.Say("Done."),
	)}
	res, err := new(agent.Runner).Run(t.Context(), a, nil, agent.RunOptions{})
	must(t, err)
	if len(res.Interruptions) != 1 || res.Interruptions[0].Kind != agent.ExternalResult ||
		res.Interruptions[0].Call.ID != "c2" {
		t.Fatalf("got %+v", res.Interruptions)
	}
	must(t, res.State.Approve(res.Interruptions[0], agent.ApproveOptions{Output: &agent.ToolOutput{Text: "deployed"}}))
	res, err = new(agent.Runner).Resume(t.Context(), a, res.State, agent.RunOptions{})
	if err != nil || !strings.Contains(describe(res.NewItems), "output c2: deployed") {
		t.Errorf("got %s, %v", describe(res.NewItems), err)
	}
	bad := agent.NewExternalTool[chan int]("bad", "")
	if err := (&agent.Agent{Name: "ops", Model: scripted.New(), Tools: []agent.Tool{bad}}).Check(); !errors.Is(err,
		agent.ErrConfig) {
		t.Errorf("a type that cannot be described: %v", err)
	}
}

// TestNewHostedTool refuses what no provider could be told, and a Use that belongs to no agent.
func TestNewHostedTool(t *testing.T) {
	t.Parallel()
	search := func(description, secrets string) agent.Tool {
		return agent.NewHostedTool(
			agent.KindWebSearch, "search", json.RawMessage(description), json.RawMessage(secrets))
	}
	used := search(`{"type":"web_search"}`, "")
	used.Use.MaxTurns = 3
	own := agent.NewTool("own", "", noop[struct{}])
	own.Use.MaxTurns = 3
	for name, tt := range map[string]struct {
		tool agent.Tool
		ok   bool
	}{
		"a description": {search(`{"type":"web_search"}`, ""), true},
		"secrets":       {search(`{"type":"web_search"}`, `{"headers":{"a":"b"}}`), true},
		"none":          {search("", ""), false},
		"no object":     {search(`["web_search"]`, ""), false},
		"bad secrets":   {search(`{"type":"web_search"}`, `7`), false},
		"used":          {used, false},
		"used, own":     {own, false},
	} {
		err := (&agent.Agent{Name: "ops", Model: scripted.New(), Tools: []agent.Tool{tt.tool}}).Check()
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, agent.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	tool := search(`{"type":"web_search"}`, `{"headers":{"a":"b"}}`)
	if got := string(tool.Hosted()); got != `{"type":"web_search"}` {
		t.Errorf("shown as %s", got)
	}
}

// TestNewToolWithoutFunction makes a tool whose function the caller provides otherwise: it has schema and validation.
func TestNewToolWithoutFunction(t *testing.T) {
	t.Parallel()
	type in struct {
		Amount int `json:"amount"`
	}
	tool := agent.NewTool[in, string]("pay", "Pays.", nil)
	if want := agent.NewTool("pay", "", noop[in]).Parameters; string(tool.Parameters) != string(want) {
		t.Errorf("schema %s, want %s", tool.Parameters, want)
	}
	if tool.Validate == nil {
		t.Fatal("it does not validate")
	}
	bad, good := json.RawMessage(`{"amount":"x"}`), json.RawMessage(`{"amount":1}`)
	if tool.Validate(bad) == nil || tool.Validate(good) != nil {
		t.Error("it validates wrongly")
	}
	tool.External = true
	a := &agent.Agent{Name: "ops", Tools: []agent.Tool{tool}, Model: scripted.New(
		scripted.Calls(scripted.Call("c1", "pay", `{"amount":"x"}`), scripted.Call("c2", "pay", `{"amount":2}`)))}
	res, err := new(agent.Runner).Run(t.Context(), a, nil, agent.RunOptions{})
	if err != nil || len(res.Interruptions) != 1 || res.Interruptions[0].Call.ID != "c2" {
		t.Errorf("got %v, %v", res.Interruptions, err)
	}
}
