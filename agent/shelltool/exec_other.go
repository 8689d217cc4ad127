//go:build !linux

package shelltool

// exec is a name under which the very file that was opened is run. There is none here.
func (p *program) exec() string { return "" }

// spare has nothing to do where programs are run by their paths.
func (p *pipes) spare(int) error { return nil }

// magic reports whether a path goes by way of a link that is another one for each process.
func magic(path string) bool { return throughProc(path) }
