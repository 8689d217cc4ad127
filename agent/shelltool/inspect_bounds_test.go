package shelltool

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// However a call is made to be hard to take apart, that takes little time and memory, and what was not looked at is
// said.
func TestInspectIsBounded(t *testing.T) {
	t.Parallel()
	repeat := func(left string, n int, right string) string {
		return strings.Repeat(left, n) + "a" + strings.Repeat(right, n)
	}
	for _, tt := range []struct {
		why, script string
		want        RemarkKind
	}{
		{"wrappers that run wrappers", strings.Repeat("env ", 16_000) + "a", Wrapper},
		{"substitutions in substitutions", repeat("$(", 3000, ")"), CommandSubstitution},
		{"commands behind file names", repeat("a <(", 5000, ")"), ProcessSubstitution},
		{"functions in functions", repeat("f(){ ", 5000, "; }"), Function},
		{"groups in groups", repeat("{ ", 8000, "; }"), SyntaxError},
		{"comments that go on", strings.Repeat("a #\\\n", 12_000), Dialect},
		{"many remarks", strings.Repeat("$x\n", 20_000), VariableCommand},
	} {
		raw, err := json.Marshal(map[string]string{"script": tt.script})
		if err != nil {
			t.Fatal(err)
		}
		in, err := Inspect(raw)
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, r := range in.Remarks {
			size += len(r.Text)
		}
		for _, c := range in.Commands {
			for _, w := range c.Words {
				size += len(w.Text)
			}
		}
		if size > 8<<20 {
			t.Errorf("%s: %d bytes are taken apart into %d", tt.why, len(tt.script), size)
		}
		if !slices.ContainsFunc(in.Remarks, func(r Remark) bool { return r.Kind == tt.want }) {
			t.Errorf("%s: there is no remark of the kind %s", tt.why, tt.want)
		}
	}
	for why, script := range map[string]string{
		"nested": repeat("{ ", maxDepth-1, "; }"), "with comments": strings.Repeat("a #\\\n", maxComments),
	} {
		raw, _ := json.Marshal(map[string]string{"script": script})
		if in, err := Inspect(raw); err != nil || len(in.Remarks) > 0 || len(in.Commands) == 0 {
			t.Errorf("control: what people write is read to its end: %s: %+v, %v", why, in.Remarks, err)
		}
	}
}

// A script within a script is read once for both kinds of shells, or their number doubles with each level.
func TestNestedScriptsAreReadOnce(t *testing.T) {
	t.Parallel()
	script := strings.Repeat("a;", 2000)
	for i := range maxNesting {
		if i%2 == 0 {
			script = "sh -c '" + strings.ReplaceAll(script, "'", `'\''`) + "'"
		} else {
			script = `sh -c "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(script) + `"`
		}
	}
	in := newInspector(Place{}, unsure, make(map[nestedScript]*inspector))
	in.script(script)
	if len(in.nested) != maxNesting || len(in.Commands) != maxNesting+2000 || len(in.Remarks) > 0 {
		t.Errorf("%d scripts were read, %d commands found, remarks %v", len(in.nested), len(in.Commands), in.Remarks)
	}
}
