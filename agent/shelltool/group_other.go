//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package shelltool

import (
	"os"
	"os/exec"
	"syscall"
)

// supported is false where a process and all it started cannot be stopped together; New refuses.
const supported = false

func ownGroup() *syscall.SysProcAttr { return nil }

type group struct{ cmd *exec.Cmd }

func (g *group) wait()      { _ = g.cmd.Wait() }
func (g *group) kill() bool { return g.cmd.Process.Kill() == nil }

func (r *result) ending(state *os.ProcessState, _, _ bool) { r.code = state.ExitCode() }
