// Package txtar reads and writes the text archives that scripts and dialogue tests are kept in: a comment, then files,
// each after a line "-- name --".
package txtar

import "strings"

// Archive is a comment and files in order.
type Archive struct {
	Comment string
	Files   []File
}

// File is one file of an archive.
type File struct{ Name, Data string }

// Parse reads an archive. Every text is one: without a marker line it is all comment.
func Parse(text string) Archive {
	var a Archive
	into := &a.Comment
	for line := range strings.Lines(text) {
		if name, ok := marker(line); ok {
			a.Files = append(a.Files, File{Name: name})
			into = &a.Files[len(a.Files)-1].Data
			continue
		}
		*into += line
	}
	return a
}

func marker(line string) (string, bool) {
	line = strings.TrimRight(line, "\r\n")
	name, ok := strings.CutPrefix(line, "-- ")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, " --")
	name = strings.TrimSpace(name)
	return name, ok && name != ""
}

// Format writes an archive so that Parse reads the same again. Texts get a final newline.
func Format(a Archive) string {
	var b strings.Builder
	b.WriteString(ended(a.Comment))
	for _, f := range a.Files {
		b.WriteString("-- " + f.Name + " --\n")
		b.WriteString(ended(f.Data))
	}
	return b.String()
}

func ended(s string) string {
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s
}
