//go:build unix

package shelltool_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent/shelltool"
)

// TestInspectsAsTheShellReads has real shells print the words that they make of a script, and compares them with those
// that the inspection for that shell lists.
func TestInspectsAsTheShellReads(t *testing.T) {
	t.Parallel()
	scripts := []string{
		"printf '<%s>' a 12>/dev/null b",
		"12>&2 printf '<%s>' a",
		"printf '<%s>' 2>/dev/null a",
		"printf '<%s>' a 10>&2 b 11</dev/null",
		"printf '<%s>' {a,b}",
		"printf '<%s>' a &>/dev/null",
	}
	for _, name := range []string{"dash", "bash", "busybox"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Logf("there is no %s to compare with", name)
			continue
		}
		compared := 0
		for _, script := range scripts {
			in, err := shelltool.InspectFor(path, marshal(t, map[string]string{"script": script}))
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			for _, w := range in.Commands[0].Words {
				if w.Text != "printf" && w.Text != "<%s>" {
					want += "<" + w.Text + ">"
				}
				if !w.Literal {
					want = "?"
				}
			}
			if strings.Contains(want, "?") || len(in.Commands) != 1 || in.Commands[0].Words[0].Text != "printf" {
				continue // the inspection does not claim to know, or another program runs
			}
			args := []string{"-c", script}
			if name == "busybox" {
				args = append([]string{"ash"}, args...)
			}
			// What a redirection took from the standard output is on the standard error or gone.
			out, err := exec.Command(path, args...).CombinedOutput()
			if err != nil {
				t.Errorf("%s: %s: %v", name, script, err)
			}
			if len(out) == 0 {
				continue
			}
			compared++
			if string(out) != want {
				t.Errorf("%s: %s: inspected as %s, and it printed %s", name, script, want, out)
			}
		}
		if compared < 3 {
			t.Errorf("%s: only %d scripts could be compared", name, compared)
		}
	}
	words := func(shell string) (texts []string) {
		in, err := shelltool.InspectFor(shell, marshal(t, map[string]string{"script": scripts[0]}))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range in.Commands[0].Words {
			texts = append(texts, w.Text)
		}
		return texts
	}
	for shell, want := range map[string][]string{
		"/opt/bin/dash": {"printf", "<%s>", "a", "12", "b"}, "/opt/bin/bash": {"printf", "<%s>", "a", "b"},
		"/opt/bin/ksh": {"printf", "<%s>", "a", "12", "b"},
	} {
		if diff := cmp.Diff(want, words(shell)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", shell, diff)
		}
	}
}
