package patchtool

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// example is a diff for the provider's own editor, in the form that operations of the provider's patch tool have.
type example struct {
	Input  string `json:"input"`
	Diff   string `json:"diff"`
	Create bool   `json:"create"`
}

// judgement is what the provider's own editor makes of an example.
type judgement struct {
	Text  string `json:"text"`
	Error string `json:"error"`
}

// reference asks applyDiff of the npm package @openai/agents-core. It needs `npm ci` in testdata/reference.
func reference(t *testing.T, examples []example) []judgement {
	t.Helper()
	if _, err := os.Stat("testdata/reference/node_modules/@openai/agents-core"); err != nil {
		const hint = "PATCHES ARE NOT COMPARED with the provider's own editor: run `npm ci` in " +
			"agent/patchtool/testdata/reference"
		if strings.Contains(os.Getenv("COUNTERSIGN_TEST_REQUIRE"), "node") {
			t.Fatal(hint)
		}
		t.Skip(hint)
	}
	input, err := json.Marshal(examples)
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(t.Context(), "node", "apply.mjs")
	node.Dir = "testdata/reference"
	node.Stdin = bytes.NewReader(input)
	var problems bytes.Buffer
	node.Stderr = &problems
	out, err := node.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, problems.Bytes())
	}
	var all []judgement
	if err := json.Unmarshal(out, &all); err != nil || len(all) != len(examples) {
		t.Fatalf("%d answers to %d examples, %v", len(all), len(examples), err)
	}
	return all
}

// ours applies an example as the tool does.
func ours(t *testing.T, e example) (string, error) {
	t.Helper()
	kind := "update_file"
	if e.Create {
		kind = "create_file"
	}
	arguments, err := json.Marshal(map[string]string{"type": kind, "path": "f", "diff": e.Diff})
	if err != nil {
		t.Fatal(err)
	}
	sections, _, _, err := read(arguments)
	switch {
	case err != nil:
		return "", err
	case e.Create:
		return sections[0].text, nil
	}
	return sections[0].update(t.Context(), e.Input)
}

// ambiguous are the reasons for which a diff is refused that the provider's own editor applies: it takes the first of
// several places, the beginning of the file where none is named, or nothing for a change.
var ambiguous = []string{
	"is in the file more than once", "it adds lines and does not say where", "the hunk changes nothing",
	"the diff changes nothing",
	"does not belong into a diff of one file", "the hunk has no lines",
}

// generous are forms that are accepted here although the provider's own editor refuses them: an empty line at the end
// that sets a hunk off, and a heading that is the first line of the context again.
func generous(e example) bool {
	lines := strings.Split(strings.TrimSuffix(e.Diff, "\n"), "\n")
	blank := slices.ContainsFunc(lines, func(l string) bool { return strings.Trim(l, "\r") == "" })
	again, heading := false, ""
	for _, l := range lines {
		if h, ok := strings.CutPrefix(l, "@@"); ok {
			heading = blanks.Replace(h)
		} else if heading != "" && len(l) > 0 && l[0] != '+' { // the first line of the context
			again, heading = again || heading == blanks.Replace(l[1:]), ""
		}
	}
	return blank || again
}

var blanks = strings.NewReplacer(" ", "", "\t", "", "\r", "")

// TestLikeTheReference compares what becomes of thousands of diffs with what the provider's own editor makes of them.
// Where both apply one, the result is the same, byte for byte; one that only it applies could have been meant in two
// ways.
func TestLikeTheReference(t *testing.T) {
	t.Parallel()
	examples := slices.Concat(known, generated(6000))
	applied, refused, unclear, more := 0, 0, 0, 0
	for i, judged := range reference(t, examples) {
		e := examples[i]
		got, err := ours(t, e)
		switch {
		case err == nil && judged.Error == "":
			applied++
			if got != judged.Text {
				t.Errorf("%q with\n%s\nis %q, and the reference has %q", e.Input, e.Diff, got, judged.Text)
			}
		case err != nil && judged.Error == "":
			unclear++
			if !slices.ContainsFunc(ambiguous, func(why string) bool { return strings.Contains(err.Error(), why) }) {
				t.Errorf("%q with\n%s\nis refused: %v\nand the reference has %q", e.Input, e.Diff, err, judged.Text)
			}
		case err == nil:
			more++
			if !generous(e) {
				t.Errorf("%q with\n%s\nis %q, and the reference refuses it: %s", e.Input, e.Diff, got, judged.Error)
			}
		default:
			refused++
		}
	}
	t.Logf("%d diffs: %d applied alike, %d refused alike, %d refused as unclear, %d applied although the reference "+
		"refuses them",
		len(examples), applied, refused, unclear, more)
	if applied < 1500 || unclear > applied {
		t.Error("the examples prove little")
	}
}

// known are the forms in which differences were found.
var known = []example{
	{Diff: "+a\n+b\n", Create: true}, {Diff: "+a\n+\n", Create: true}, {Diff: "", Create: true},
	{Diff: "+a\r\n+b\r\n", Create: true}, {Diff: "+a\nb", Create: true}, {Diff: "+a\n*** End Patch\n", Create: true},
	{Input: "", Diff: "+a\n"}, {Input: "", Diff: "@@\n+a\n*** End of File\n"},
	{Input: "\n", Diff: "+a\n*** End of File\n"}, {Input: "a", Diff: " a\n+b\n"},
	{Input: "a\n", Diff: " a\n+b\n*** End of File"}, {Input: "a\nb\n", Diff: " a\n-b\n"},
	{Input: "a\r\nb\r\n", Diff: "-a\n+c\n"}, {Input: "a\r\nb\n", Diff: "-a\n+c\n"},
	{Input: "a\r\nb\n", Diff: " a\r\n+c\r\n"}, {Input: "a\r\n", Diff: "-a\r\r\n+b"},
	{Input: "h\na\nb\n", Diff: "@@ h\n-a\n+x\n@@ h\n-b\n+y\n"}, {Input: "a\nh\nb\n", Diff: "-a\n+x\n@@ h\n-b\n"},
	{Input: "a\nb\n", Diff: "@@ nowhere\n-b\n+c"}, {Input: "a\nb\n", Diff: "@@ -1,2 +1,2 @@\n-b\n+c"},
	{Input: "a\nb\n", Diff: "@@\n@@ nowhere\n-b\n+c"}, {Input: "  a\nb\n", Diff: "-a\n+c"},
	{Input: "a\n\u00a0b\u2003\n", Diff: "-b\n+c"}, {Input: "a\n\ufeffb\n", Diff: "-b\n+c"},
	{Input: "a\n\u0085b\n", Diff: "-b\n+c"}, {Input: "a\nb\n", Diff: "-a\n*** End of File\n"},
	{Input: "a\nb", Diff: "-b\n+c\n*** End of File\n"}, {Input: "a\nb\n", Diff: " b\n-\n"},
	{Input: "a\nb\nc\n", Diff: " a\n@@\n-c\n+d\n"}, {Input: "a\nb\n", Diff: "+x\n-a\n+y\n b\n"},
	{Input: "a\n", Diff: "-a\n+b\n*** End Patch\n"},
}

// generated makes examples of few different lines, so that contexts are found, missed, and found twice. It is the same
// list each time.
func generated(n int) []example {
	r := rand.New(rand.NewPCG(3092, 1260))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	all := make([]example, 0, n)
	for range n {
		var lines []string
		for range r.IntN(9) {
			lines = append(lines, pick("a", "b", "c", "d", "e", "f", "g", " a", "b ", "\tc", "", "def f():", "  }"))
		}
		e := example{Input: strings.Join(lines, pick("\n", "\n", "\n", "\r\n"))}
		if len(lines) > 0 {
			e.Input += pick("", "\n", "\n", "\n", "\r\n")
		}
		e.Diff = diffOf(r, lines)
		all = append(all, e)
	}
	return all
}

// diffOf writes a diff that fits the lines more or less.
func diffOf(r *rand.Rand, lines []string) string {
	var b strings.Builder
	at := 0
	for h := range 1 + r.IntN(2) {
		if h > 0 || r.IntN(3) > 0 {
			b.WriteString("@@")
			if len(lines) > 0 && r.IntN(2) == 0 {
				b.WriteString(" " + lines[r.IntN(len(lines))])
			} else if r.IntN(8) == 0 {
				b.WriteString(" no such line")
			}
			b.WriteString("\n")
		}
		if len(lines) > at {
			at += r.IntN(len(lines) - at)
		}
		for range 1 + r.IntN(4) {
			switch sign := r.IntN(6); {
			case sign < 2:
				b.WriteString("+" + string(rune('p'+r.IntN(4))) + "\n")
			case at < len(lines):
				text := lines[at]
				if r.IntN(12) == 0 {
					text = strings.TrimSpace(text)
				}
				b.WriteString(string(" -"[sign%2]) + text + "\n")
				at++
			}
		}
		if r.IntN(8) == 0 {
			b.WriteString("*** End of File\n")
		}
	}
	text := b.String()
	if r.IntN(10) == 0 {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if r.IntN(4) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}
