//go:build unix

package patchtool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/agent/patchtool"
)

// FuzzApply applies any text to a directory beside another: no panic, nothing outside changes or is found inside, a
// patch that fails changes nothing, and nothing temporary stays.
func FuzzApply(f *testing.F) {
	for _, file := range archive(f, "testdata/refuse/messages.txtar").Files {
		f.Add(string(file.Data))
	}
	for _, file := range archive(f, "testdata/apply/format.txtar").Files {
		if strings.HasSuffix(file.Name, "/patch") {
			f.Add(string(file.Data))
		}
	}
	f.Add("*** Begin Patch\n*** Update File: a\n*** Move to: out/a\n-one\n+1\n*** Delete File: link\n" +
		"*** Add File: dir/n/m\n+x\n*** End Patch")
	dir := f.TempDir()
	root := filepath.Join(dir, "root")
	reset := func(t testing.TB) map[string]string {
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		lay(t, dir, map[string]string{
			"root/a": "one\ntwo\nsame\nthree\nsame\n", "root/dir/file": "x\n", "root/crlf": "one\r\ntwo",
			"outside/secret": "secret\n",
		})
		for name, target := range map[string]string{"link": "../outside/secret", "out": "../outside", "in": "dir"} {
			if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
		return tree(t, dir)
	}
	before := reset(f)
	tool := newTool(f, patchtool.Config{Root: root})
	f.Fuzz(func(t *testing.T, text string) {
		arguments, err := json.Marshal(map[string]string{"patch": text})
		if err != nil {
			t.Skip("no text that JSON can hold: " + err.Error())
		}
		out, err := tool.Invoke(t.Context(), &agent.ToolCall{Arguments: arguments})
		after := tree(t, dir)
		if err != nil || out.Failed {
			if diff := cmp.Diff(before, after); diff != "" {
				t.Fatalf("a patch that failed changed something (-before +after):\n%s", diff)
			}
			return
		}
		for name, data := range after {
			if strings.Contains(name, ".countersign-") ||
				strings.Contains(data, "secret\n") && name != "outside/secret" {
				t.Errorf("%s: %q", name, data)
			}
			if !strings.HasPrefix(name, "root") && before[name] != data {
				t.Errorf("%s changed outside", name)
			}
		}
		for name := range before {
			if _, ok := after[name]; !ok && !strings.HasPrefix(name, "root") {
				t.Errorf("%s is gone", name)
			}
		}
		before = reset(t)
	})
}
