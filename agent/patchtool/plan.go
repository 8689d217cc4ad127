package patchtool

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// edit is what happens to one name: a file there is changed or removed, or one comes to be there.
type edit struct {
	path   string
	before *present // nil: there is no file
	after  string
	remove bool
	mode   fs.FileMode
	owner  fs.FileInfo // whose owner the new file gets; nil: nobody's in particular
}

// present is a file as it was read.
type present struct {
	data string
	info fs.FileInfo
}

// fact says what is there now, for a decision to be bound to.
func (e *edit) fact() string {
	if e.before == nil {
		return e.path + " absent"
	}
	return fmt.Sprintf(
		"%s sha256:%x mode %04o", e.path, sha256.Sum256([]byte(e.before.data)), e.before.info.Mode().Perm())
}

const (
	// maxFiles bounds the files of a patch, and maxTotal how much more all of them may hold than one may.
	maxFiles = 500
	maxTotal = 16
)

// plan works out what a patch does to the files as they are now. Nothing is written. Its error's text is made for the
// model.
func (d *declared) plan(ctx context.Context, root *os.Root, sections []section) ([]edit, error) {
	if len(sections) > maxFiles {
		return nil, fmt.Errorf(
			"the patch is for %d files, and at most %d are changed at once; send it in parts", len(sections), maxFiles)
	}
	var edits []edit
	total := 0
	for i := range sections {
		more, err := d.edits(ctx, root, &sections[i])
		if err != nil {
			return nil, err
		}
		for j := range more {
			total += len(more[j].after)
			if more[j].before != nil {
				total += len(more[j].before.data)
			}
		}
		if total > 2*maxTotal*d.MaxFile {
			return nil, fmt.Errorf(
				"the patch is for files of more than %d bytes together; send it in parts", maxTotal*d.MaxFile)
		}
		edits = append(edits, more...)
	}
	if err := distinct(edits); err != nil {
		return nil, err
	}
	return edits, possible(root, edits)
}

// edits are those of one section.
func (d *declared) edits(ctx context.Context, root *os.Root, s *section) ([]edit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.op == Add {
		return d.creation(root, edit{path: s.path, after: s.text, mode: 0o644})
	}
	before, err := d.read(root, s)
	if err != nil {
		return nil, err
	}
	if s.op == Delete {
		return []edit{{path: s.path, before: before, remove: true}}, nil
	}
	after, err := s.update(ctx, before.data)
	if err != nil {
		return nil, err
	}
	if len(after) > d.MaxFile {
		return nil, tooLarge(s.path, "would have", int64(len(after)), d.MaxFile)
	}
	mode := before.info.Mode().Perm()
	if s.op == Update {
		return []edit{{path: s.path, before: before, after: after, mode: mode, owner: before.info}}, nil
	}
	created, err := d.creation(root, edit{path: s.to, after: after, mode: mode, owner: before.info})
	return append(created, edit{path: s.path, before: before, remove: true}), err
}

// creation makes sure that there is room for a new file.
func (d *declared) creation(root *os.Root, e edit) ([]edit, error) {
	dir, info, err := d.look(root, e.path)
	if dir != nil {
		dir.Close()
	}
	switch {
	case err != nil:
		return nil, err
	case info != nil:
		return nil, fmt.Errorf("%s is there already; change it with %q, or delete it in a patch before",
			quote(e.path), markUpdate)
	case len(e.after) > d.MaxFile:
		return nil, tooLarge(e.path, "would have", int64(len(e.after)), d.MaxFile)
	}
	return []edit{e}, nil
}

func tooLarge(name, has string, n int64, most int) error {
	return fmt.Errorf("%s %s %d bytes, and this tool changes files of at most %d", quote(name), has, n, most)
}

// look finds out what is at a name: a regular file, or nothing, and opens its directory, unless that is not there
// either.
func (d *declared) look(root *os.Root, name string) (dir *os.Root, info fs.FileInfo, err error) {
	if !d.allowed(name) {
		return nil, nil, fmt.Errorf("%s is none of the files that this tool may touch: %s",
			quote(name), strings.Join(d.Allow, ", "))
	}
	parent, base := folder(name)
	switch dir, err = descend(root, parent); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	info, err = dir.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dir, nil, nil
	case err != nil:
		err = fmt.Errorf("%s cannot be looked at: %w", quote(name), cause(err))
	case info.Mode()&fs.ModeSymlink != 0:
		err = fmt.Errorf("%s is a symbolic link; name the file itself", quote(name))
	case info.IsDir():
		err = fmt.Errorf("%s is a directory; patches change files", quote(name))
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", quote(name))
	default:
		return dir, info, nil
	}
	dir.Close()
	return nil, nil, err
}

// special are the permissions that a new file in the place of an old one must neither lose nor have unseen.
const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// read reads a file that has to be there.
func (d *declared) read(root *os.Root, s *section) (*present, error) {
	name := s.path
	dir, info, err := d.look(root, name)
	if dir != nil {
		defer dir.Close()
	}
	switch {
	case err != nil:
		return nil, err
	case info == nil:
		return nil, fmt.Errorf("there is no file %s", quote(name))
	case info.Size() > int64(d.MaxFile):
		return nil, tooLarge(name, "has", info.Size(), d.MaxFile)
	case s.op != Delete && info.Mode()&special != 0:
		return nil, fmt.Errorf("%s runs with other rights than its user's (%v); change it by hand",
			quote(name), info.Mode())
	}
	_, base := folder(name)
	f, err := dir.OpenFile(base, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be opened: %w", quote(name), cause(err))
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil || !os.SameFile(info, opened) {
		return nil, fmt.Errorf("%s became another file meanwhile; try again", quote(name))
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(d.MaxFile)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", quote(name), cause(err))
	case len(data) > d.MaxFile:
		return nil, tooLarge(name, "has more than", int64(d.MaxFile), d.MaxFile)
	}
	return &present{string(data), opened}, nil
}

// distinct makes sure that no file is touched twice, under one name or several.
func distinct(edits []edit) error {
	for i := range edits {
		for j := range i {
			a, b := &edits[j], &edits[i]
			if a.before == nil && b.before == nil && (inside(a.path, b.path) || inside(b.path, a.path)) {
				return fmt.Errorf(
					"%s and %s cannot both be files: one would be a directory", quote(a.path), quote(b.path))
			}
			if a.path == b.path {
				return fmt.Errorf(
					"%s is in the patch twice; put all that happens to it under one header", quote(a.path))
			}
			if a.before != nil && b.before != nil && os.SameFile(a.before.info, b.before.info) {
				return fmt.Errorf("%s and %s are the same file", quote(a.path), quote(b.path))
			}
		}
	}
	return nil
}

// inside reports whether a file would be below another one.
func inside(name, of string) bool { return strings.HasPrefix(name, of+"/") }

// facts lists what decisions about the edits are bound to, sorted by name.
func facts(edits []edit) []string {
	sorted := slices.SortedFunc(slices.Values(edits), func(a, b edit) int { return strings.Compare(a.path, b.path) })
	all := make([]string, len(sorted))
	for i := range sorted {
		all[i] = sorted[i].fact()
	}
	return all
}

// unchanged makes sure that the files are those that facts told of. Without facts, nobody relies on what they are.
func unchanged(edits []edit, seen []string) error {
	if seen == nil {
		return nil
	}
	for i := range edits {
		if !slices.Contains(seen, edits[i].fact()) {
			return fmt.Errorf(
				"%s is no longer what it was when this patch was decided about; look at it again", quote(edits[i].path))
		}
	}
	return nil
}
