//go:build unix

package patchtool_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/patchtool"
)

// thousand is a file, and a patch of 1,000 lines for it.
func thousand(b *testing.B, dir string) (forth, back *agent.ToolCall) {
	var file, there, home strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&file, "\tline %d of the file, which does something\n", i)
	}
	for i := range 166 {
		at := i * 30
		for w, pair := range map[*strings.Builder][2]string{&there: {"line", "LINE"}, &home: {"LINE", "line"}} {
			fmt.Fprintf(w, "@@\n"+
				" \tline %d of the file, which does something\n"+
				"-\t%s %d of the file, which does something\n"+
				"+\t%s %d of the file, which does something\n"+
				" \tline %d of the file, which does something\n"+
				" \tline %d of the file, which does something\n",
				at, pair[0], at+1, pair[1], at+1, at+2, at+3)
		}
	}
	lay(b, dir, map[string]string{filepath.Join("src", "file.go"): file.String()})
	wrap := func(hunks string) *agent.ToolCall {
		return patch(b, "*** Begin Patch\n*** Update File: src/file.go\n"+hunks+"*** End Patch\n")
	}
	return wrap(there.String()), wrap(home.String())
}

func BenchmarkParse(b *testing.B) {
	c, _ := thousand(b, b.TempDir())
	b.SetBytes(int64(len(c.Arguments)))
	for b.Loop() {
		if _, err := patchtool.Explain(c.Arguments); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBind(b *testing.B) {
	dir := b.TempDir()
	tool := newTool(b, patchtool.Config{Root: dir})
	c, _ := thousand(b, dir)
	for b.Loop() {
		if _, err := tool.Preconditions(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	dir := b.TempDir()
	tool := newTool(b, patchtool.Config{Root: dir})
	c, other := thousand(b, dir)
	for b.Loop() {
		out, err := tool.Invoke(b.Context(), c)
		if err != nil || out.Failed {
			b.Fatal(out, err)
		}
		c, other = other, c
	}
}
