package procgroup

import (
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// launch starts a command. As root a command could read the memory of this process, with all its secrets, in /proc;
// without CAP_SYS_PTRACE it cannot. Newer kernels let it read the block of the environment all the same, for
// CAP_SYS_ADMIN. The right is given up by a thread of its own, from which the command inherits that, and which ends
// then. A command that root starts cannot trace what other users run either.
func launch(cmd *exec.Cmd) error {
	if os.Geteuid() != 0 {
		return cmd.Start()
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: so the thread ends with the goroutine
		// Refused where the right is not there to give up.
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_PTRACE, 0, 0, 0)
		started <- cmd.Start()
	}()
	return <-started
}
