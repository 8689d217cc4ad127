package botprocess

import (
	"os/exec"
	"syscall"
)

// tether makes the end of the child this process's business: a terminal's Ctrl-C does not reach it, and the system
// kills it when this process is killed, so that no bot is left behind.
func tether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
