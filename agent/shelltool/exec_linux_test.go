package shelltool

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRunsWhatWasOpened puts another program in the place of one that was opened and compared: the opened one runs.
func TestRunsWhatWasOpened(t *testing.T) {
	t.Parallel()
	d, err := Config{Workdir: t.TempDir()}.check()
	if err != nil {
		t.Fatal(err)
	}
	x := &tool{d}
	lay := func(program string) {
		t.Helper()
		data, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(d.Workdir, "deploy")
		if err := os.WriteFile(file+".new", data, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	r := request{argv: []string{"./deploy"}, timeout: d.Timeout, output: d.MaxOutput}
	run := func(p *program) int {
		t.Helper()
		processes, err := x.processes(r, p)
		if err != nil {
			t.Fatal(err)
		}
		res := processes[0].run(t.Context(), t.Context(), r.output)
		if res.notStarted != nil {
			t.Fatal(res.notStarted)
		}
		return res.code
	}
	lay("/bin/true")
	p, err := x.open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	lay("/bin/false")
	if code := run(p); code != 0 {
		t.Errorf("the program that was put in its place ran: exit code %d", code)
	}
	now, err := x.open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	if code := run(now); code != 1 {
		t.Errorf("control: what is there now did not run: exit code %d", code)
	}
}
