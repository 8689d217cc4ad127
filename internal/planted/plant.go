package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Errors about an edit that no longer fits the code. The code was changed: the table must follow.
var (
	errGone      = errors.New("the code to change is not in the package")
	errAmbiguous = errors.New("the code to change is in the package more than once")
)

// changed returns the files of the package that the bug changes, by path, as they are with the bug.
func (b bug) changed(root string) (map[string]string, error) {
	files, err := sources(filepath.Join(root, b.in))
	if err != nil {
		return nil, err
	}
	changed := map[string]string{}
	for _, e := range b.edits {
		path, text, err := e.apply(files)
		if err != nil {
			return nil, fmt.Errorf("%q in %s: %w", e.find, b.in, err)
		}
		files[path], changed[path] = text, text
	}
	return changed, nil
}

// sources reads the files of a package that are not tests.
func sources(dir string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files[path] = string(text)
	}
	return files, nil
}

// apply returns the one file that the edit changes, and its new text.
func (e edit) apply(files map[string]string) (path, text string, err error) {
	words := strings.Fields(e.find)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	pattern, err := regexp.Compile(strings.Join(words, `\s+`))
	if err != nil {
		return "", "", err
	}
	found := 0
	for p, t := range files {
		for _, at := range pattern.FindAllStringIndex(t, 2) {
			found++
			path, text = p, t[:at[0]]+e.replace+t[at[1]:]
		}
	}
	switch found {
	case 0:
		return "", "", errGone
	case 1:
		return path, text, nil
	default:
		return "", "", errAmbiguous
	}
}

// overlay writes the changed files and the list of them that "go test -overlay" reads into dir, and returns the list's
// path.
func overlay(dir string, changed map[string]string) (string, error) {
	replace := map[string]string{}
	for i, path := range slices.Sorted(maps.Keys(changed)) {
		text := changed[path]
		original, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(dir, fmt.Sprintf("%d_%s", i, filepath.Base(path)))
		if err := os.WriteFile(replace[original], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}
