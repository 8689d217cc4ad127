package shelltool

import (
	"os"
	"strconv"
)

// exec is a name under which the very file that was opened is run, whatever its path leads to by now, or nothing where
// there is none: the kernel hands a script's path to its interpreter, which opens it anew, and to the script itself, which
// may look beside itself for others.
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
