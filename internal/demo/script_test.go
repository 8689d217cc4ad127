package demo

import (
	"strings"
	"testing"

	"countersign/examples"
	"countersign/internal/openaidev"
)

// turn is a turn whose rounds had one output each.
func turn(tools, user string, outputs ...string) *openaidev.Turn {
	t := &openaidev.Turn{User: user, Tools: strings.Fields(tools), Round: len(outputs)}
	for i, text := range outputs {
		t.Outputs = append(t.Outputs, openaidev.Output{Text: text, Arguments: `{"name":"facts"}`, Round: i + 1})
	}
	return t
}

// TestScripts says what the agents of the examples answer to what people and tools say.
func TestScripts(t *testing.T) {
	t.Parallel()
	const (
		ops, desk  = "shell apply_patch change_firewall", "transfer_to_researcher"
		researcher = "list_documents read_document ask_editor"
		editor     = "publish_document"
		conf       = "Exit code: 0\n--- stdout ---\nworkers = 4\n"
	)
	for _, c := range []struct {
		why        string
		reply      func(*openaidev.Turn) openaidev.Reply
		turn       *openaidev.Turn
		call, text string // the tools called, and what the text or arguments hold
	}{
		{"small talk", operate, turn(ops, "hello"), "", "set the web server to 8 workers"},
		{"a question", operate, turn(ops, "how is it configured?"), "shell", `["cat","web.conf"]`},
		{"its answer", operate, turn(ops, "how is it configured?", conf), "", "workers = 4"},
		{"a change", operate, turn(ops, "use 8 workers"), "shell", `["cat","web.conf"]`},
		{"other words", operate, turn(ops, "set workers to 8", conf), "apply_patch", `-workers = 4\n+workers = 8`},
		{"nothing to change", operate, turn(ops, "use 4 workers", conf), "", "already"},
		{"nothing found", operate, turn(ops, "use 4 workers", "Exit code: 1"), "", "no number of workers"},
		{"patch applied", operate, turn(ops, "use 8 workers", conf, "The patch is applied."), "shell", "reload.sh"},
		{"patch rejected", operate, turn(ops, "use 8 workers", conf, "It was not approved."), "",
			"web.conf is as it was. I was told: It was not approved."},
		{"reloaded", operate,
			turn(ops, "use 8 workers", conf, "The patch is applied.", "reloaded: workers = 8"), "", "Done"},
		{"command rejected", operate,
			turn(ops, "use 8 workers", conf, "The patch is applied.", "It was not approved."), "", "not reloaded"},
		{"elsewhere", operate, turn(ops, "open port 443"), "change_firewall", `"port":443`},
		{"done elsewhere", operate, turn(ops, "open port 443", "It is open."), "", "It is open."},
		{"other tools", operate, turn("shell", "use 8 workers"), "", "no tool apply_patch"},

		{"small talk at the desk", investigate, turn(desk, "hello"), "", "I am the desk"},
		{"a question at the desk", investigate, turn(desk, "the outage?"), "transfer_to_researcher", "{}"},
		{"handed over", investigate, turn(researcher, "the outage?", "{}"), "list_documents", "{}"},
		{"documents", investigate, turn(researcher, "the outage?", "{}", "a\nb"),
			"read_document read_document", `{"name":"b"}`},
		{"no documents", investigate, turn(researcher, "the outage?", "{}", ""), "", "empty"},
		{"facts", investigate,
			turn(researcher, "the outage?", "{}", "facts", "# F\n\nIt is so."), "", "facts: It is so."},
		{"a report", investigate, turn(researcher, "publish a report", "{}", "facts", "It is so."),
			"ask_editor", `facts: It is so.`},
		{"after the editor", investigate, turn(researcher, "publish a report", "{}", "facts", "It is so.", "Out."), "",
			"The editor says: Out."},
		{"the editor", investigate, turn(editor, "Facts:\nIt is so."), "publish_document", `# Report\n\nIt is so.\n`},
		{"published", investigate, turn(editor, "Facts:\nIt is so.", "Published as x."), "", "out. Published as x."},
		{"not published", investigate, turn(editor, "Facts:\nIt is so.", "It was not approved."), "", "not published"},
		{"other agents", investigate, turn("x", "the outage?"), "", "other tools"},
	} {
		r := c.reply(c.turn)
		said, calls := r.Text, []string{}
		for _, call := range r.Calls {
			calls = append(calls, call.Name)
			said += call.Arguments
		}
		if strings.Join(calls, " ") != c.call || !strings.Contains(said, c.text) {
			t.Errorf("%s: calls %q, says %q", c.why, calls, said)
		}
	}
}

// TestExampleOf knows the files as they are, and no others.
func TestExampleOf(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"payments": examples.Countersign, "operations": examples.Operations, "research": examples.Research,
		"finance": examples.Finance,
	} {
		for _, form := range []string{string(data), strings.ReplaceAll(string(data), "\n", "\r\n")} {
			if e := exampleOf([]byte(form)); e == nil || e.room.name != name {
				t.Errorf("%s is taken for %+v", name, e)
			} else if !strings.HasPrefix(e.room.tries[0].Text, "@countersign ") {
				t.Errorf("%s: the bot does not hear %q", name, e.room.tries[0].Text)
			}
		}
		if e := exampleOf(append([]byte("# mine\n"), data...)); e != nil {
			t.Errorf("a changed %s is taken for %s", name, e.room.name)
		}
	}
}
