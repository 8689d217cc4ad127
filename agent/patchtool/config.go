package patchtool

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/agent"
	"countersign/agent/internal/location"
)

// Defaults of a Config.
const (
	DefaultName     = "apply_patch"
	DefaultMaxFile  = 1 << 20
	DefaultMaxPatch = 64 << 10
)

// Config declares a tool that applies patches.
type Config struct {
	// Name is the tool's; empty: [DefaultName]. Empty Description: one that explains the format. Version is as in
	// [agent.Tool].
	Name, Description, Version string

	// Root is the directory that patches are applied in. It must exist; links in it are followed once, by New.
	Root string
	// WrittenRoot is the directory as the operator wrote it, with variables as ${NAME}. It is stored and shown, and
	// decisions are bound to it, and to a digest of Root where that is another text. Empty: Root.
	WrittenRoot string
	// Allow lists patterns of the files that may be touched, as docs/**/*.md: * and ? stand for characters of one name,
	// ** for any number of directories. Empty: all. Decisions are bound to it.
	Allow []string

	// MaxFile bounds the bytes of each file, before and after; zero: [DefaultMaxFile]. MaxPatch bounds the bytes of a
	// patch; zero: [DefaultMaxPatch].
	MaxFile, MaxPatch int

	// Native makes it the provider's own patch tool, see [agent.WireApplyPatch].
	Native bool
}

// declared is a Config that was checked and completed.
type declared struct {
	Config
	asked string // the root before links were followed
}

func (c Config) check() (*declared, error) {
	d := &declared{Config: c, asked: c.Root}
	d.Name = cmp.Or(c.Name, DefaultName)
	d.WrittenRoot = cmp.Or(c.WrittenRoot, c.Root)
	d.MaxFile = cmp.Or(c.MaxFile, DefaultMaxFile)
	d.MaxPatch = cmp.Or(c.MaxPatch, DefaultMaxPatch)
	switch {
	case !supported:
		return nil, d.wrong("type", "is not available on this system: files cannot be replaced safely here; "+
			"it needs Linux, macOS or another Unix")
	case c.MaxFile < 0 || c.MaxPatch < 0:
		return nil, d.wrong("max_file and max_patch", "must not be negative")
	case c.Root == "":
		return nil, d.wrong("root", "is missing; name the directory that patches are applied in")
	}
	for _, pattern := range c.Allow {
		if err := checkPattern(pattern); err != nil {
			return nil, d.wrong("allow", fmt.Sprintf("%q %v", pattern, err))
		}
	}
	abs, err := filepath.Abs(c.Root)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, d.wrong("root", fmt.Sprintf("%s cannot be used: %v", d.WrittenRoot, cause(err)))
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return nil, d.wrong("root", d.WrittenRoot+" is not a directory")
	}
	d.Root = abs
	return d, nil
}

func (d *declared) wrong(field, problem string) error {
	return fmt.Errorf("%w: patch tool %q: %s %s", agent.ErrConfig, d.Name, field, problem)
}

// binding lists what decisions are bound to: the root as written, and what may be touched in it.
func (d *declared) binding() []string {
	binding := []string{"root " + location.Directory(d.WrittenRoot, d.asked)}
	for _, pattern := range d.Allow {
		binding = append(binding, "allow "+pattern)
	}
	return binding
}

// open opens the root for one call.
func (d *declared) open() (*os.Root, error) {
	if now, err := filepath.EvalSymlinks(d.Root); err != nil || now != d.Root {
		return nil, errors.New("the directory that patches are applied in is gone, or is another one now")
	}
	root, err := os.OpenRoot(d.Root)
	if err != nil {
		return nil, fmt.Errorf("the directory that patches are applied in cannot be opened: %w", cause(err))
	}
	return root, nil
}

// cause is the error without names of files, which may hold what the operator wrote as a variable.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
