package shelltool

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/agent/internal/procgroup"
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

// TestDescriptorOfTheProgram starts a program whose descriptor has the number right above those of the pipes, while
// lower ones are free. It is not parallel, so that nobody else takes these numbers.
func TestDescriptorOfTheProgram(t *testing.T) {
	d, err := Config{Workdir: t.TempDir()}.check()
	if err != nil {
		t.Fatal(err)
	}
	var low []*os.File
	for range 16 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		low = append(low, f)
	}
	x, r := &tool{d}, request{argv: []string{"true"}}
	p, err := x.open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	pipes, err := newPipes()
	if err != nil {
		t.Fatal(err)
	}
	defer pipes.close()
	fd, err := unix.FcntlInt(p.Fd(), unix.F_DUPFD_CLOEXEC, int(pipes.err.w.Fd())+1)
	p.Close()
	if err != nil {
		t.Fatal(err)
	}
	p.File = os.NewFile(uintptr(fd), p.path)
	defer p.Close()
	for _, f := range low {
		f.Close()
	}
	processes, err := x.processes(r, p)
	if err != nil || processes[0].exec == "" {
		t.Fatalf("%+v, %v", processes, err)
	}
	unspared := &exec.Cmd{Path: processes[0].exec, Args: r.argv, Stdout: pipes.out.w, Stderr: pipes.err.w}
	if _, err := procgroup.Start(t.Context(), unspared); !errors.Is(err, syscall.EACCES) {
		t.Errorf("control: the descriptor is not in the way: %v", err)
	}
	group, err := processes[0].start(t.Context(), pipes)
	if err != nil {
		t.Fatal(err)
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
