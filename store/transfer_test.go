package store

import (
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/pgdev"
	"countersign/store/transfer"
)

// TestMoveThroughPostgres moves a file that an earlier version has written, with all that a bot leaves behind, into a
// database and from there into another file: every kind has the same digest at each step.
func TestMoveThroughPostgres(t *testing.T) {
	t.Parallel()
	database := pgdev.Start(t).Database(t)
	first, last := "bolt:"+frozen(t), "bolt:"+filepath.Join(t.TempDir(), "last.db")
	there, back := moved(t, first, database), moved(t, database, last)
	if !slices.Equal(there.Kinds, back.Kinds) || !slices.Equal(there.Workspaces, back.Workspaces) {
		t.Errorf("moved there:\n%+v\nand back:\n%+v", there, back)
	}
	if there.Total() < 100 || len(there.Workspaces) != 2 {
		t.Errorf("control: there is little to move: %+v", there)
	}
}

// frozen is a file of an earlier version, brought up to date.
func frozen(t *testing.T) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("boltstore", "testdata", "format2.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	from, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "first.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), "bolt:"+path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func moved(t *testing.T, from, to string) transfer.Report {
	t.Helper()
	source, err := OpenSource(t.Context(), from, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	target, err := OpenTarget(t.Context(), to, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	report, err := transfer.Move(t.Context(), source, target, transfer.Options{From: Describe(from)})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestOpenToMoveRefuses shows that no error repeats a URL, and what is said of a store that is not there.
func TestOpenToMoveRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url  string
		want error
	}{
		{"", ErrURL}, {"countersign.db", ErrURL}, {"bolt:", ErrURL}, {"mysql://bot:hunter2@db/countersign", ErrURL},
		{"postgres://bot:hunter2@db/countersign?schema=Public!", ErrURL},
		{"bolt:" + filepath.Join(t.TempDir(), "none.db"), fs.ErrNotExist},
	} {
		_, err := OpenSource(t.Context(), c.url, Config{})
		if !errors.Is(err, c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %v", c.url, err, c.want)
		}
		if _, err := OpenTarget(t.Context(), c.url, Config{ReadOnly: true}); !errors.Is(err, c.want) {
			t.Errorf("%s, to look at: %v, want %v", c.url, err, c.want)
		}
	}
	if name := Describe("postgres://bot:hunter2@db/countersign"); strings.Contains(name, "hunter2") {
		t.Errorf("%s has the password", name)
	}
}
