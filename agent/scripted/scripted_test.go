package scripted_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/scripted"
)

var script = []string{
	`# think, then act
reasoning Look first.

call c1 look {"a": 1}
raw {"type":"web_search_call","id":"ws_1"}
usage 12 3
`, `expect hello
say Two
say lines.`,
	"fail out of order\n", "say Back.\r\n",
}

func TestScript(t *testing.T) {
	t.Parallel()
	m, err := scripted.Parse(script...)
	if err != nil {
		t.Fatal(err)
	}
	var items []agent.Item
	play := func() (*agent.ModelResponse, error) {
		resp, err := m.Respond(t.Context(), &agent.ModelRequest{Items: items})
		if err == nil {
			items = append(items, resp.Items...)
		}
		return resp, err
	}
	resp, err := play()
	if err != nil || len(resp.Items) != 3 ||
		resp.Usage != (agent.Usage{Requests: 1, InputTokens: 12, OutputTokens: 3, TotalTokens: 15}) {
		t.Fatalf("got %+v, %v", resp, err)
	}
	call := resp.Items[1]
	if call.CallID != "c1" || call.Name != "look" || call.Arguments != `{"a": 1}` || call.Raw == nil ||
		resp.Items[0].Text != "Look first." {
		t.Errorf("got %+v", resp.Items)
	}
	items = append(items, agent.CallOutput("c1", "good bye"))
	if _, err := play(); err == nil || !strings.Contains(err.Error(), `expected "hello"`) {
		t.Errorf("the expectation was not checked: %v", err)
	}
	items[len(items)-1].Output = "hello, world"
	if resp, err = play(); err != nil || resp.Items[0].Text != "Two\nlines." {
		t.Errorf("got %+v, %v", resp, err)
	}
	if _, err = play(); err == nil || err.Error() != "out of order" {
		t.Errorf("got %v", err)
	}
	if resp, err = play(); err != nil || resp.Items[0].Text != "Back." {
		t.Errorf("got %+v, %v", resp, err)
	}
	if _, err = play(); err == nil || !strings.Contains(err.Error(), "4 steps") {
		t.Errorf("got %v", err)
	}
	// Another conversation begins at the beginning, and one that was saved goes on where it was.
	if resp, err = m.Respond(t.Context(), &agent.ModelRequest{}); err != nil || resp.ID != "resp_1" {
		t.Errorf("got %+v, %v", resp, err)
	}
	if resp, err = m.Respond(t.Context(), &agent.ModelRequest{Items: items[:4]}); err != nil || resp.ID != "resp_2" {
		t.Errorf("got %+v, %v", resp, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"shout x", "call c1", "raw {", "usage x y", "usage 5"} {
		if _, err := scripted.Parse("say x", "say y\n"+line+"\n"); err == nil ||
			!strings.Contains(err.Error(), "step 2") || !strings.Contains(err.Error(), line) {
			t.Errorf("%q: got %v", line, err)
		}
	}
}

func TestStepsInGo(t *testing.T) {
	t.Parallel()
	seen := errors.New("seen")
	step := scripted.Say("x")
	step.Check = func(req *agent.ModelRequest) error {
		if req.Instructions == "stop" {
			return seen
		}
		return nil
	}
	m := scripted.New(step)
	if _, err := m.Respond(t.Context(), &agent.ModelRequest{Instructions: "stop"}); !errors.Is(err, seen) {
		t.Errorf("got %v", err)
	}
	first, err := m.Respond(t.Context(), &agent.ModelRequest{})
	if err != nil {
		t.Fatal(err)
	}
	first.Items[0].Text = "changed"
	again, err := m.Respond(t.Context(), &agent.ModelRequest{})
	if diff := cmp.Diff("x", again.Items[0].Text); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestRequests finds what was asked, also by a call that failed, and no more than the newest 1,000.
func TestRequests(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	model := scripted.New(scripted.Fail(broken), scripted.Say("Hello."))
	a := &agent.Agent{Name: "ops", Instructions: "Be brief.", Model: model}
	hi := []agent.Item{agent.UserMessage("hi")}
	if _, err := new(agent.Runner).Run(t.Context(), a, hi, agent.RunOptions{}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if _, err := new(agent.Runner).Run(t.Context(), a, hi, agent.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	got := model.Requests()
	if len(got) != 2 || got[0].Instructions != "Be brief." || len(got[1].Items) != 1 || got[1].Items[0].Text != "hi" {
		t.Fatalf("got %+v", got)
	}
	for i := range 3000 {
		req := &agent.ModelRequest{Instructions: strconv.Itoa(i)}
		if _, err := model.Respond(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	got = model.Requests()
	if len(got) != 1000 || got[0].Instructions != "2000" || got[999].Instructions != "2999" {
		t.Errorf("%d requests, the first %q", len(got), got[0].Instructions)
	}
}
