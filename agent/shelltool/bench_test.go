//go:build unix

package shelltool_test

import (
	"strings"
	"testing"

	"countersign/agent/shelltool"
)

func BenchmarkInvoke(b *testing.B) {
	tool := newTool(b, shelltool.Config{})
	c := argv("true")
	for b.Loop() {
		if _, err := tool.Invoke(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInspect(b *testing.B) {
	c := script(strings.Repeat("tar czf - src | ssh host 'cat > backup.tgz' && echo \"$(date): done\" >> log\n", 100))
	for b.Loop() {
		if _, err := shelltool.Inspect(c.Arguments); err != nil {
			b.Fatal(err)
		}
	}
}
