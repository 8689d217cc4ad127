package shelltool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"countersign/agent"
)

// located is where a program is.
type located struct {
	path  string // without links, so that it leads a child to the same file as this process
	named string // as it was found, with its links
	shown string // for people: what the operator wrote, or is in the PATH, with its links; else without
}

// program finds the file that a name stands for: in the PATH of commands, or, with a slash in it, from the working
// directory. Links are followed here, once, also where the name goes by way of /proc/self or /dev/fd. Its error's text
// is made for the model.
func (d *declared) program(name string) (located, error) {
	if strings.Contains(name, "/") {
		at := located{named: d.absolute(name)}
		var err error
		if at.path, err = resolve(at.named); err == nil {
			err = executable(at.path)
		}
		if err != nil {
			return at, fmt.Errorf("the program %q %w", name, err)
		}
		if at.shown = name; name != d.Shell {
			at.shown = d.shown(at.path)
		}
		return at, nil
	}
	for _, dir := range filepath.SplitList(d.Env["PATH"]) {
		named := filepath.Join(dir, name)
		if path, err := resolve(named); err == nil && executable(path) == nil {
			return located{path, named, d.shown(named)}, nil
		}
	}
	return located{}, fmt.Errorf("there is no program %q in the PATH of this tool", name)
}

// absolute is a name as it is from everywhere. It is not cleaned: what .. means depends on the links before it.
func (d *declared) absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return d.Workdir + "/" + name
}

// resolve returns the file that a path leads to.
func resolve(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("cannot be run: %w", cause(err))
	}
	return path, nil
}

// executable says why a file cannot be run as a program, or nil.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("cannot be run: %w", cause(err))
	case !info.Mode().IsRegular():
		return errors.New("is not a file")
	case info.Mode().Perm()&0o111 == 0:
		return errors.New("is not executable")
	}
	return nil
}

// cause is the error without the path, which may hold what the operator wrote as a variable.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// bind says which files a call runs, so that a decision about ./deploy.sh does not count for another ./deploy.sh. A
// program that is not there is told to the model before people are asked.
func (t *tool) bind(ctx context.Context, call *agent.ToolCall) ([]string, error) {
	r, err := t.request(call.Arguments)
	if err != nil {
		return nil, err
	}
	p, err := t.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return t.facts(ctx, r, p)
}

// facts say what the program is, and what the call names beside it.
func (t *tool) facts(ctx context.Context, r request, p *program) ([]string, error) {
	more, err := t.contents(ctx, r)
	return append([]string{"program " + p.shown + " sha256:" + p.sum}, more...), err
}

// shown is how people read a path: inside the working directory from there, for the directory's own is shown as
// written.
func (d *declared) shown(path string) string {
	if rel, err := filepath.Rel(d.Workdir, path); err == nil && filepath.IsLocal(rel) {
		return "./" + rel
	}
	return path
}

// program is the file of a program as it was opened and read.
type program struct {
	*os.File
	path  string
	shown string // how people know it
	sum   string // its digest
	elf   bool
}

// open opens the program that a call runs.
func (t *tool) open(ctx context.Context, r request) (*program, error) {
	name := t.Shell
	if r.argv != nil {
		name = r.argv[0]
	}
	at, err := t.program(name)
	if err != nil {
		return nil, err
	}
	p, err := openProgram(ctx, at.path)
	if err != nil {
		return nil, fmt.Errorf("the program %q cannot be read: %w", filepath.Base(at.path), cause(err))
	}
	p.shown = at.shown
	if !p.elf && !magic(at.named) {
		p.path = at.named // a script may ask by which name it was called
	}
	return p, nil
}

// maxProgram bounds the programs that are read, which is done each time somebody relies on them.
const maxProgram = 1 << 30

func openProgram(ctx context.Context, path string) (*program, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe, if it became one, is not waited for
	if err != nil {
		return nil, err
	}
	p := &program{File: f, path: path}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err == nil && info.Size() > maxProgram {
		err = fmt.Errorf("it has more than %d bytes", maxProgram)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	head := make([]byte, 4)
	if n, _ := f.ReadAt(head, 0); n == len(head) { // an error comes again below
		p.elf = string(head) == "\x7fELF"
	}
	if p.sum, err = digest(ctx, f); err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

func digest(ctx context.Context, r io.Reader) (string, error) {
	h := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		switch _, err := io.CopyN(h, r, 1<<20); {
		case errors.Is(err, io.EOF):
			return hex.EncodeToString(h.Sum(nil)), nil
		case err != nil:
			return "", err
		}
	}
}
