package demo

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the system kill the child when this process is killed, so that no bot is left behind.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
