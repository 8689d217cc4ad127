package agentsfile

import (
	"strings"
	"testing"
)

func TestSuggestedPrompts(t *testing.T) {
	t.Parallel()
	prompt := func(title, message string) string {
		return "      - { title: " + title + ", message: " + message + " }\n"
	}
	const key = "    suggested_prompts:\n"
	for _, c := range []struct{ name, file, wrong string }{
		{"one", key + prompt("Pay", "pay it"), ""},
		{"four", key + prompt("a", "x") + prompt("b", "x") + prompt("c", "x") + prompt("d", "x"), ""},
		{"five", key + prompt("a", "x") + prompt("b", "x") + prompt("c", "x") + prompt("d", "x") + prompt("e", "x"),
			"suggested_prompts has more than 4 entries"},
		{"no message", key + "      - { title: Pay }\n", `a suggested prompt needs "message"`},
		{"an empty title", key + prompt(`" "`, "x"), `a suggested prompt needs "title"`},
		{"misspelt", key + "      - { title: Pay, mesage: x, message: y }\n", `did you mean "message"?`},
		{"a long title", key + prompt(strings.Repeat("x", 76), "y"), "title has more than 75 characters"},
		{"a long message", key + prompt("x", strings.Repeat("y", 2001)), "message has more than 2000 characters"},
		{"twice", key + prompt("a", "x") + prompt("a", "y"),
			`two suggested prompts are called "a"; the first is on line`},
		{"a text", "    suggested_prompts: hello\n", "suggested_prompts"},
		{"a list of texts", key + "      - hello\n", "a suggested prompt"},
		{"a variable", key + prompt("Pay", `"${NAME}"`), "message"},
	} {
		f, err := Parse("countersign.yaml", []byte(agentWith(c.file)), func(string) (string, bool) { return "", false })
		switch {
		case c.wrong == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
		case c.wrong == "" && (len(f.Agents[0].Prompts) == 0 || f.Agents[0].Prompts[0].Line == 0):
			t.Errorf("%s: %v", c.name, f.Agents[0].Prompts)
		}
	}
}
