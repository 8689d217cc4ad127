package txtar_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/agent/internal/txtar"
)

func TestParse(t *testing.T) {
	t.Parallel()
	text := "About.\n\n-- a --\none\n-- not a marker\ntwo\n--  b/c.txt  --\n-- empty --\n"
	want := txtar.Archive{Comment: "About.\n\n", Files: []txtar.File{
		{Name: "a", Data: "one\n-- not a marker\ntwo\n"}, {Name: "b/c.txt"}, {Name: "empty"},
	}}
	got := txtar.Parse(text)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(got, txtar.Parse(txtar.Format(got))); diff != "" {
		t.Error(diff)
	}
	if got := txtar.Parse("-- x --\r\nline"); len(got.Files) != 1 || got.Files[0].Data != "line" {
		t.Errorf("got %+v", got)
	}
}
