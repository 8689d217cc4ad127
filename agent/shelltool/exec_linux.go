package shelltool

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// exec is a name under which the very file that was opened is run, whatever its path leads to by now, or nothing where
// there is none: the kernel hands a script's path to its interpreter, which opens it anew, and to the script itself,
// which may look beside itself for others.
func (p *program) exec() string {
	name := "/proc/self/fd/" + strconv.Itoa(int(p.Fd()))
	opened, err := p.Stat()
	if err != nil || !p.elf {
		return ""
	}
	if here, err := os.Stat(name); err != nil || !os.SameFile(opened, here) { // there is no /proc
		return ""
	}
	return name
}

// spare gives one of the pipes a number above that of a program's descriptor. A process that is being started moves the
// descriptors that it still needs to the first numbers above those of its standard streams, whatever has these numbers
// in this process: without this it could be the program, which then would not be there to be run.
func (p *pipes) spare(program int) error {
	fd, err := unix.FcntlInt(p.err.w.Fd(), unix.F_DUPFD_CLOEXEC, program+1)
	if err != nil {
		return err
	}
	above := os.NewFile(uintptr(fd), p.err.w.Name())
	p.err.w.Close()
	p.err.w = above
	return nil
}

// magic reports whether a path goes by way of a link that is another one for each process, such as /proc/self/cwd.
func magic(path string) bool {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	switch {
	case err == nil:
		unix.Close(fd)
		return false
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EACCES):
		return false
	case errors.Is(err, unix.ELOOP):
		return true
	}
	return throughProc(path) // an older kernel
}
