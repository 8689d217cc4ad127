package patchtool

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tempPrefix begins the names of files that a patch is written to before it takes effect.
const tempPrefix = ".countersign-"

// checkPath refuses names that are not names of files below the root, or that are not what they look like.
func checkPath(name string) error {
	switch {
	case name == "":
		return errors.New("the name of a file is missing")
	case len(name) > 1000:
		return errors.New("the name of the file is too long")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, hidden):
		return fmt.Errorf("the name %s has characters that cannot be seen", quote(name))
	case strings.HasPrefix(name, "/"):
		return fmt.Errorf("%s is an absolute name; write it from the tool's directory", quote(name))
	case strings.Contains(name, `\`):
		return fmt.Errorf(`%s has a \ in it; directories are separated by /`, quote(name))
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "..":
			return fmt.Errorf("%s leads out of the tool's directory", quote(name))
		case part == "" || part == ".":
			return fmt.Errorf("%s is not the plain name of a file; leave out . and doubled or final /", quote(name))
		case strings.TrimSpace(part) != part:
			return fmt.Errorf("%s has a space at the beginning or end of a name", quote(name))
		case strings.EqualFold(part, ".git"):
			return fmt.Errorf("%s is inside a .git directory, which patches may not touch", quote(name))
		case strings.HasPrefix(strings.ToLower(part), tempPrefix):
			return fmt.Errorf("%s has a name that this tool uses itself", quote(name))
		}
	}
	return nil
}

// hidden reports characters that are not seen, or that change how others are seen.
func hidden(r rune) bool {
	return r != ' ' && (!unicode.IsGraphic(r) || unicode.IsSpace(r)) || r == '\u2800' ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// checkPattern refuses patterns that mean nothing.
func checkPattern(pattern string) error {
	if err := checkPath(strings.NewReplacer(`\`, "", "[", "", "]", "").Replace(pattern)); err != nil {
		return errors.New("is no pattern of a name below the root")
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if strings.Contains(part, "**") && part != "**" {
			return errors.New("has ** in a name; it stands for whole directories, as in src/**/*.go")
		}
		if _, err := path.Match(part, ""); err != nil {
			return errors.New("is no pattern: a bracket or a backslash in it has no end")
		}
	}
	return nil
}

// allowed reports whether the file may be touched.
func (d *declared) allowed(name string) bool {
	if len(d.Allow) == 0 {
		return true
	}
	parts := strings.Split(name, "/")
	for _, pattern := range d.Allow {
		if match(strings.Split(pattern, "/"), parts) {
			return true
		}
	}
	return false
}

// match holds the parts of a name against those of a pattern, in time that is the product of both.
func match(pattern, name []string) bool {
	row := make([]bool, len(name)+1) // row[j]: the pattern so far matches the first j parts
	row[0] = true
	for _, p := range pattern {
		next := make([]bool, len(name)+1)
		for j := range next {
			switch {
			case p == "**":
				next[j] = row[j] || j > 0 && next[j-1]
			case j > 0 && row[j-1]:
				next[j], _ = path.Match(p, name[j-1])
			}
		}
		row = next
	}
	return row[len(name)]
}
