//go:build unix

package shelltool_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/agent/rawtool"
	"countersign/agent/shelltool"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestInspectCorpus compares inspections with testdata/inspect/scripts.golden.
func TestInspectCorpus(t *testing.T) {
	t.Parallel()
	in := txtar.Parse([]byte(read(t, "testdata/inspect/scripts.txtar")))
	if len(in.Files) < 20 {
		t.Fatalf("only %d scripts in the corpus", len(in.Files))
	}
	out := &txtar.Archive{Comment: in.Comment}
	for _, f := range in.Files {
		script := string(f.Data)
		if f.Name == "carriage return" {
			script = strings.ReplaceAll(script, "\n", "\r\n")
		}
		got, err := shelltool.Inspect(marshal(t, map[string]string{"script": script}))
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		out.Files = append(out.Files, txtar.File{Name: f.Name, Data: []byte(render(got))})
	}
	const golden = "testdata/inspect/scripts.golden"
	text := string(txtar.Format(out))
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, golden), text); diff != "" {
		t.Errorf("inspections differ from %s (-want +got):\n%s", golden, diff)
	}
}

// render writes an inspection for people to compare.
func render(in shelltool.Inspection) string {
	var b strings.Builder
	for _, c := range in.Commands {
		fmt.Fprintf(&b, "%s:", place(c.At))
		for _, w := range c.Assignments {
			fmt.Fprintf(&b, " assign %s", word(w))
		}
		for _, w := range c.Words {
			fmt.Fprintf(&b, " %s", word(w))
		}
		for _, r := range c.Redirections {
			fmt.Fprintf(&b, " redirect %s %s", r.Operator, word(r.Target))
		}
		b.WriteString("\n")
	}
	for _, r := range in.Remarks {
		fmt.Fprintf(&b, "! %s: %s: %q\n", place(r.At), r.Kind, r.Text)
	}
	return b.String()
}

func place(p shelltool.Place) string {
	s := fmt.Sprint(p.Line)
	if p.Inside > 0 {
		s += fmt.Sprintf("/%d", p.Inside)
	}
	return s
}

func word(w shelltool.Word) string {
	if w.Literal {
		return fmt.Sprintf("%q", w.Text)
	}
	return fmt.Sprintf("<%q>", w.Text)
}

func TestInspectForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arguments, want string }{
		{`{"argv":["git","commit","-m","a $(b) *"]}`, `0: "git" "commit" "-m" "a $(b) *"` + "\n"},
		{`{"argv":["sh","-c","eval x"]}`,
			"0: \"sh\" \"-c\" \"eval x\"\n1/1: \"eval\" \"x\"\n! 1/1: eval: \"eval x\"\n"},
		{`{"argv":["/usr/bin/python3.12","x.py"]}`,
			"0: \"/usr/bin/python3.12\" \"x.py\"\n! 0: interpreter: \"/usr/bin/python3.12 x.py\"\n"},
		{`{"commands":["ls","pwd"]}`, "1: \"ls\"\n1: \"pwd\"\n"},
	} {
		got, err := shelltool.Inspect(json.RawMessage(c.arguments))
		if err != nil {
			t.Errorf("%s: %v", c.arguments, err)
		}
		if diff := cmp.Diff(c.want, render(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.arguments, diff)
		}
	}
	in, err := shelltool.Inspect(json.RawMessage(`{"commands":["ls","pwd"]}`))
	if err != nil || in.Commands[1].At.Script != 1 {
		t.Errorf("the second script's command is at %+v, %v", in.Commands, err)
	}
	if _, err := shelltool.Inspect(json.RawMessage(`{"url":"x"}`)); err == nil {
		t.Error("arguments of another tool were inspected")
	}
}

// TestInspectReadsAsShellsDo holds the words that are called literal against what a real shell makes of them.
func TestInspectReadsAsShellsDo(t *testing.T) {
	t.Parallel()
	tool := newTool(t, shelltool.Config{})
	tried, compared := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		tried++
		// No operator is in the alphabet, so that nothing but printf can run.
		words := rapid.StringMatching(`[ab =~:,.\\'"*?{}!#%+^\[\]\n\t-]{1,12}`).Draw(t, "words")
		arguments, err := json.Marshal(map[string]string{"script": `printf '<%s>' ` + words})
		if err != nil {
			t.Fatal(err)
		}
		in, err := shelltool.Inspect(arguments)
		if err != nil {
			t.Fatal(err)
		}
		if len(in.Commands) != 1 || len(in.Remarks) > 0 {
			return
		}
		want := ""
		for _, w := range in.Commands[0].Words[2:] {
			if !w.Literal {
				return
			}
			want += "<" + w.Text + ">"
		}
		if want == "" {
			want = "<>" // printf without arguments
		}
		out, err := tool.Invoke(context.Background(), &agent.ToolCall{Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		compared++
		got := "Exit code: 0\n--- stdout ---\n" + want
		if strings.TrimSuffix(out.Text, "\n") != strings.TrimSuffix(got, "\n") {
			t.Fatalf("inspected as %q, and the shell made %q of it", want, out.Text)
		}
	})
	if compared*10 < tried {
		t.Errorf("only %d of %d scripts could be compared", compared, tried)
	}
}

// FuzzInspect looks for scripts that make the inspection panic or hang, and for a script that is cut short without a
// word.
func FuzzInspect(f *testing.F) {
	for _, file := range txtar.Parse([]byte(read(f, "testdata/inspect/scripts.txtar"))).Files {
		f.Add(string(file.Data))
	}
	f.Add(strings.Repeat("$(", 2000))
	f.Fuzz(func(t *testing.T, script string) {
		raw, err := json.Marshal(map[string]string{"script": script + "\nlast-command"})
		if err != nil {
			t.Skip("no text that JSON can hold: " + err.Error())
		}
		canonical, err := rawtool.Canonical(raw)
		if err != nil {
			t.Skip("the runner refuses it before anybody inspects it: " + err.Error())
		}
		in, err := shelltool.Inspect(canonical)
		if err != nil || len(in.Remarks) > 0 {
			return
		}
		for _, c := range in.Commands {
			for _, w := range c.Words {
				if strings.Contains(w.Text, "last-command") {
					return
				}
			}
			for _, r := range c.Redirections {
				if strings.Contains(r.Target.Text, "last-command") {
					return
				}
			}
		}
		if !strings.HasSuffix(script, "\\") { // goes on in the comment or name before
			t.Errorf("the last command of %q is not there: %+v", script, in)
		}
	})
}

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func marshal(t testing.TB, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
