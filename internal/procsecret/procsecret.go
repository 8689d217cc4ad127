// Package procsecret keeps what a process was given in its environment from the programs that it starts.
//
// On Linux a process of the same user reads the environment of another one in /proc/PID/environ, and its memory in
// /proc/PID/mem. Taking a variable out of the environment changes nothing of that: the first shows the block that the
// kernel laid out at the start.
package procsecret

// Hide makes that block zero and the process one that others of its user may not look into or attach to, and that
// leaves no core dump. It is called first, before anything else runs. The variables themselves stay: Go has copied
// them, so [os.LookupEnv] finds them then and later.
//
// The error says what could not be done; the rest is done all the same. Where the system has nothing of the kind it is
// [errors.ErrUnsupported].
//
// What Hide cannot do: it does not change the process that started this one, whose environment may hold the same; and
// whoever has CAP_SYS_PTRACE, as root often has, reads the memory as before.
func Hide() error { return hide() }
