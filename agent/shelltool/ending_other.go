//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package shelltool

import "os"

// ending takes over how a process ended.
func (r *result) ending(state *os.ProcessState, _, _ bool) { r.code = state.ExitCode() }
