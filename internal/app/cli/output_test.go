package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
	"countersign/internal/visible/visibletest"
)

// obeyed returns a character of the output that a terminal would obey or hide.
func obeyed(out string) (rune, bool) {
	for _, r := range out {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)) {
			return r, true
		}
	}
	return 0, false
}

// tricky is a request in which every text that others may write is the given one.
func tricky(text string) *approvals.Request {
	arguments, _ := json.Marshal(map[string]any{"deep": []any{map[string]any{text: []string{text}}}}) // always can be
	return &approvals.Request{RequestHead: approvals.RequestHead{
		Workspace: "T1", ID: approvals.RequestID("req_" + text), Run: approvals.RunID(text), Kind: agent.Confirm,
		Status: approvals.RequestRejected, Note: text, Agent: text, Path: []string{text, text},
		Requester: approvals.UserID("T1/" + text), Place: approvals.Place{Channel: text},
		Tool: approvals.ToolSnapshot{Name: text, Kind: agent.ToolKind(text), Description: text,
			Binding: []string{text}},
		Decisions: []approvals.Decision{{By: approvals.UserID("T1/" + text), Verdict: approvals.Verdict(text),
			Via: text, Reason: text, Void: text,
			Standing: &approvals.StandingAnswer{Request: approvals.RequestID(text)}}},
		Created: time.Now(), Outcome: approvals.Outcome(text), CancelledBy: approvals.UserID("T1/" + text),
		Supersedes: approvals.RequestID(text), SupersededBy: approvals.RequestID(text),
	}, RequestContent: approvals.RequestContent{
		Arguments: arguments, Facts: []string{text}, Explanation: []string{text}},
	}
}

// TestTerminalIsNotTricked prints what others wrote in every way there is: nothing in it has an effect.
func TestTerminalIsNotTricked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := visibletest.Hostile().Draw(t, "text") + rapid.SampledFrom([]string{"\x1b[2J", "\u009b2J", "\u202e",
			"\r", "\x7f"}).Draw(t, "trick")
		r := tricky(text)
		walk := func(yield func(*approvals.RequestHead) error) error { return yield(&r.RequestHead) }
		pending := &listCommand{query: control.Query{Status: approvals.RequestPending}}
		for name, print := range map[string]func(p *Program) error{
			"show":        func(p *Program) error { return (&showCommand{}).print(p, r) },
			"show --json": func(p *Program) error { return (&showCommand{JSON: true}).print(p, r) },
			"list":        func(p *Program) error { return pending.table(p, walk) },
			"list all":    func(p *Program) error { return (&listCommand{}).table(p, walk) },
			"list --json": func(p *Program) error { return (&listCommand{}).lines(p, walk) },
			"error":       func(p *Program) error { p.report(errors.New(text)); return nil },
		} {
			var out strings.Builder
			if err := print(&Program{Stdout: &out, Stderr: &out}); err != nil {
				t.Fatal(err)
			}
			if c, ok := obeyed(out.String()); ok {
				t.Fatalf("%s prints %U as it is: %q", name, c, out.String())
			}
		}
	})
}

// TestArgumentsAreShownWhole keeps the indentation of nested arguments and every character of them.
func TestArgumentsAreShownWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := visibletest.Hostile().Draw(t, "text")
		r := tricky(text)
		back := visibletest.Original(t, indentArguments(r.Arguments, nil))
		var compact, want any
		if err := json.Unmarshal([]byte(back), &compact); err != nil {
			t.Fatalf("%q: %v", back, err)
		}
		if err := json.Unmarshal(r.Arguments, &want); err != nil {
			t.Fatal(err)
		}
		if a, b := compact, want; !equalJSON(t, a, b) {
			t.Fatalf("%v was shown as %v", b, a)
		}
	})
	nested := json.RawMessage(`{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}`)
	if out := indentArguments(nested, nil); strings.Contains(out, `\u{`) {
		t.Errorf("indentation made here is written out:\n%s", out)
	}
}

func equalJSON(t *rapid.T, a, b any) bool {
	one, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	other, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(one) == string(other)
}
