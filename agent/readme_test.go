package agent_test

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeProgram builds the program of docs/library.md in a module of its own, as a reader would, and
// runs it with both answers.
func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	must(t, err)
	readme, err := os.ReadFile(filepath.Join(root, "docs", "library.md"))
	must(t, err)
	_, program, _ := strings.Cut(string(readme), "\n```go\n")
	program, _, ok := strings.Cut(program, "\n```\n")
	if !ok {
		t.Fatal("docs/library.md has no program")
	}
	program += "\n"
	if n := strings.Count(program, "\n"); n > 40 {
		t.Errorf("the program has %d lines", n)
	}
	if formatted, err := format.Source([]byte(program)); err != nil || string(formatted) != program {
		t.Errorf("the program is not as gofmt writes it: %v", err)
	}
	dir := t.TempDir()
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	must(t, err)
	for name, text := range map[string]string{
		"main.go": program, "go.sum": string(sums), "go.mod": "module reader\n\ngo 1.26\n",
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	command := func(stdin string, argv ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
		}
		return string(out)
	}
	command("", "go", "mod", "edit", "-require=countersign@v0.0.0", "-replace=countersign="+root)
	command("", "go", "build", "-o", "program", ".")
	const question = `pay {"Amount":"250 EUR","To":"Acme"}? [y/n] `
	for _, answer := range []string{"y\n", "n\n"} {
		if got := command(answer, "./program"); got != question+"Acme has its money.\n" {
			t.Errorf("answered %q, got %q", answer, got)
		}
	}
}
