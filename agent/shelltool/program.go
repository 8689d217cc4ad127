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

// program finds the file that a name stands for: in the PATH of commands, or, with a slash in it, from the working
// directory. Its error's text is made for the model.
func (d *declared) program(name string) (string, error) {
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(d.Workdir, name)
		}
		if err := executable(path); err != nil {
			return "", fmt.Errorf("the program %q %w", name, err)
		}
		return path, nil
	}
	for _, dir := range filepath.SplitList(d.Env["PATH"]) {
		if path := filepath.Join(dir, name); executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no program %q in the PATH of this tool", name)
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

// bind says which program file a call runs, so that a decision about ./deploy.sh does not count for another
// ./deploy.sh. What a script names is beyond it. A program that is not there is told to the model before people are asked.
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
	return t.facts(p), nil
}

// facts say what the program is.
func (t *tool) facts(p *program) []string {
	name := p.path
	// A path inside the working directory is shown from there: the directory's own is shown as written.
	if rel, err := filepath.Rel(t.Workdir, name); err == nil && filepath.IsLocal(rel) {
		name = "./" + rel
	}
	return []string{"program " + name + " sha256:" + p.sum}
}

// program is the file of a program as it was opened and read.
type program struct {
	*os.File
	path string
	sum  string // its digest
	elf  bool
}

// open opens the program that a call runs.
func (t *tool) open(ctx context.Context, r request) (*program, error) {
	path := t.Shell
	if r.argv != nil {
		var err error
		if path, err = t.program(r.argv[0]); err != nil {
			return nil, err
		}
	}
	p, err := openProgram(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("the program %q cannot be read: %w", filepath.Base(path), cause(err))
	}
	return p, nil
}

func openProgram(ctx context.Context, path string) (*program, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe, if it became one, is not waited for
	if err != nil {
		return nil, err
	}
	p := &program{File: f, path: path}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(errors.New("it is not a file any more"), err)
	}
	magic := make([]byte, 4)
	if n, _ := f.ReadAt(magic, 0); n == len(magic) { // an error comes again below
		p.elf = string(magic) == "\x7fELF"
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
