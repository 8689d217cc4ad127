package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLibrary reads and publishes inside its folder, and nowhere else.
func TestLibrary(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	dir := filepath.Join(outside, "library")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"secret.md": "outside", "library/b.md": "B.", "library/a.md": "A.", "library/notes.txt": "no document",
	} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret.md", filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	l := &library{root}
	if list, err := l.list(); err != nil || list != "a\nb" {
		t.Errorf("list: %q, %v", list, err)
	}
	if text, err := l.read("a"); err != nil || text != "A." {
		t.Errorf("read: %q, %v", text, err)
	}
	for _, name := range []string{"", "absent", "notes", "../secret", "link", "published/x"} {
		if text, err := l.read(name); err == nil {
			t.Errorf("read %q: %q", name, text)
		}
	}
	if place, err := l.publish("x", "X."); err != nil || place != "Published as published/x.md." {
		t.Errorf("publish: %q, %v", place, err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"x", "Y.", "published already"}, {"", "Y.", "a name"}, {"../y", "Y.", "a name"}, {"y", "", "a text"},
	} {
		if place, err := l.publish(c.name, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("publish %q: %q, %v", c.name, place, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "published", "x.md")); err != nil || string(text) != "X." {
		t.Errorf("published: %q, %v", text, err)
	}
}
