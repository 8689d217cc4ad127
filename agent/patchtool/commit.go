package patchtool

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"countersign/agent"
)

// directory is what is done in the directory of a file. It is an *os.Root, so that nothing is done elsewhere, also when
// the directory is moved or replaced meanwhile.
type directory interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Lstat(name string) (fs.FileInfo, error)
	Link(oldname, newname string) error
	Mkdir(name string, perm fs.FileMode) error
	Rename(oldname, newname string) error
	Remove(name string) error
	Close() error
}

// commit carries edits out, all or none.
type commit struct {
	root  *os.Root
	enter func(root *os.Root, dir string) (directory, error)
	id    string // in the names of temporary files
	dirs  map[string]directory
	made  []string // directories that were not there, in the order in which they were made
	steps []*step
}

// step is one edit under way.
type step struct {
	*edit
	dir        directory
	base       string
	temp, kept string // temporary files beside it: what it will be, and what it was
	done       bool   // it took effect
	stuck      error  // why it could not be taken back
}

func enter(root *os.Root, dir string) (directory, error) { return root.OpenRoot(dir) }

// run carries the edits out. When it returns an error nothing has changed, except when the error wraps
// agent.ErrOutcomeUnknown. What it could not clean up is left.
func (c *commit) run(ctx context.Context, edits []edit) (left []string, err error) {
	c.dirs = make(map[string]directory)
	c.id = fmt.Sprintf("%d-%s", time.Now().Unix(), randomID()) // see sweep
	defer func() {
		for _, d := range c.dirs {
			d.Close()
		}
	}()
	if err = c.prepare(edits); err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return c.clean(false), err
	}
	for _, s := range c.steps {
		dir, _ := folder(s.path)
		if err = stays(c.root, dir, s.dir); err != nil {
			err = fmt.Errorf("the directory of %s: %w", quote(s.path), err)
			break
		}
		if err = s.apply(); err != nil {
			break
		}
	}
	if err != nil {
		unknown := c.undo(err)
		left = c.clean(false)
		return left, cmp.Or(unknown, err)
	}
	if err := c.sync(); err != nil {
		return nil, fmt.Errorf(
			"all files are changed, but the disk did not confirm that they will be after a power failure: %w: %w",
			cause(err), agent.ErrOutcomeUnknown)
	}
	return c.clean(true), nil
}

func randomID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// prepare writes the new contents beside the old ones and keeps those under a second name.
func (c *commit) prepare(edits []edit) error {
	for i := range edits {
		s := &step{edit: &edits[i]}
		dir, base := folder(s.path)
		s.base = base
		var err error
		if s.dir, err = c.directory(dir, s.before == nil); err != nil {
			return fmt.Errorf("the directory of %s: %w", quote(s.path), err)
		}
		c.steps = append(c.steps, s)
		name := fmt.Sprintf("%s%s-%d", tempPrefix, c.id, i)
		if !s.remove {
			if err := s.write(name + ".new"); err != nil {
				return fmt.Errorf("%s cannot be written: %w", quote(s.path), cause(err))
			}
		}
		if s.before != nil {
			if err := s.keep(name + ".old"); err != nil {
				return fmt.Errorf("%s cannot be kept: %w", quote(s.path), cause(err))
			}
		}
	}
	return nil
}

// directory opens a directory, and makes it where that is asked for.
func (c *commit) directory(dir string, create bool) (directory, error) {
	if d, ok := c.dirs[dir]; ok {
		return d, nil
	}
	d, err := c.enter(c.root, dir)
	if create && errors.Is(err, fs.ErrNotExist) {
		above, err := c.directory(path.Dir(dir), true) // it is synced too, for its new entry
		if err != nil {
			return nil, err
		}
		switch err := above.Mkdir(path.Base(dir), 0o755); {
		case err == nil:
			c.made = append(c.made, dir)
		case !errors.Is(err, fs.ErrExist):
			return nil, cause(err)
		}
		return c.directory(dir, false)
	}
	if err != nil {
		return nil, cause(err)
	}
	c.dirs[dir] = d
	return d, stays(c.root, dir, d)
}

// write writes the new contents to a temporary file, and to the disk.
func (s *step) write(name string) (err error) {
	f, err := s.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	s.temp = name
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteString(s.after); err != nil {
		return err
	}
	if s.owner != nil {
		giveTo(f, s.owner)
	}
	if err := f.Chmod(s.mode); err != nil {
		return err
	}
	return f.Sync()
}

var errChanged = errors.New("it was changed meanwhile")

// keep gives the present file a second name, or makes a copy of it where there are no second names, and makes sure that
// it is the file that was read.
func (s *step) keep(name string) error {
	if err := s.dir.Link(s.base, name); err == nil {
		s.kept = name
	} else if errors.Is(err, fs.ErrNotExist) {
		return errChanged
	} else {
		old := step{
			edit: &edit{after: s.before.data, mode: s.before.info.Mode().Perm(), owner: s.before.info}, dir: s.dir,
		}
		err := old.write(name)
		s.kept = old.temp
		if err != nil {
			return err
		}
	}
	now, err := s.dir.Lstat(s.base)
	if err != nil {
		return err
	}
	was := s.before.info
	if !os.SameFile(now, was) || now.Mode() != was.Mode() || now.Size() != was.Size() ||
		!now.ModTime().Equal(was.ModTime()) {
		return errChanged
	}
	return nil
}

// apply lets the edit take effect.
func (s *step) apply() (err error) {
	switch {
	case s.remove:
		err = s.dir.Remove(s.base)
	case s.before != nil:
		if err = s.dir.Rename(s.temp, s.base); err == nil {
			s.temp = ""
		}
	default:
		err = s.create()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", quote(s.path), cause(err))
	}
	s.done = true
	return nil
}

// create puts a new file in its place, unless there is one by now.
func (s *step) create() error {
	err := s.dir.Link(s.temp, s.base)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := s.dir.Lstat(s.base); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fs.ErrExist)
	}
	if err := s.dir.Rename(s.temp, s.base); err != nil {
		return err
	}
	s.temp = ""
	return nil
}

// undo takes back what took effect, last first. Its error says where that did not work, and where all files are.
func (c *commit) undo(why error) error {
	failed := false
	for _, s := range slices.Backward(c.steps) {
		if s.done {
			s.stuck = s.takeBack()
			failed = failed || s.stuck != nil
		}
	}
	if !failed {
		return nil
	}
	var b strings.Builder
	for _, s := range c.steps {
		fmt.Fprintf(&b, "; %s %s", quote(s.path), s.state())
	}
	return fmt.Errorf(
		"the patch is carried out in part: %w, and not all of it could be taken back%s: %w",
		why, b.String(), agent.ErrOutcomeUnknown)
}

func (s *step) takeBack() error {
	if s.before == nil {
		return s.dir.Remove(s.base)
	}
	err := s.dir.Rename(s.kept, s.base)
	if err == nil {
		s.kept = ""
	}
	return err
}

// state says where a file is after all was tried to take a patch back.
func (s *step) state() string {
	dir, _ := folder(s.path)
	switch {
	case s.stuck == nil:
		return "is as before"
	case s.before == nil:
		return fmt.Sprintf("is new and should be removed (%v)", cause(s.stuck))
	case s.remove:
		return fmt.Sprintf(
			"is removed and should be put back from %s (%v)", quote(path.Join(dir, s.kept)), cause(s.stuck))
	}
	return fmt.Sprintf("is changed and should be put back from %s (%v)", quote(path.Join(dir, s.kept)), cause(s.stuck))
}

// sync makes the directories durable.
func (c *commit) sync() error {
	for _, d := range c.dirs {
		f, err := d.OpenFile(".", os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		err = f.Sync()
		f.Close()
		if err != nil && !errors.Is(err, errors.ErrUnsupported) && !unsyncable(err) {
			return err
		}
	}
	return nil
}

// clean removes temporary files, and the directories made for nothing, and returns the names that it could not remove.
func (c *commit) clean(applied bool) (left []string) {
	for _, s := range c.steps {
		dir, _ := folder(s.path)
		for _, name := range []string{s.temp, s.kept} {
			if name == "" || name == s.kept && s.stuck != nil {
				continue // what a file can be put back from stays
			}
			if err := s.dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				left = append(left, path.Join(dir, name))
			}
		}
	}
	if applied {
		return left
	}
	for _, dir := range slices.Backward(c.made) {
		if err := c.dirs[path.Dir(dir)].Remove(path.Base(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			left = append(left, dir)
		}
	}
	return left
}
