package markup

import (
	"errors"
	"strings"
	"testing"
)

func written(t *testing.T, n Node) string {
	t.Helper()
	var b strings.Builder
	if err := WritePage(&b, n); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(b.String(), "<!DOCTYPE html>\n")
}

// TestEscapes texts and values, and leaves what the program has written.
func TestEscapes(t *testing.T) {
	t.Parallel()
	n := E("p", T(`<b a="x">&'`), E("br"), F("%s\u202e", "\x1b")).With(A("title", `">'<&`+"\u200b"), Class("x"),
		N("width", 1.0/3))
	want := `<p title="&#34;&gt;&#39;&lt;&amp;\u{200B}" class="x" width="0.33">` +
		`&lt;b a=&#34;x&#34;&gt;&amp;&#39;<br>\u{1B}\u{202E}</p>` + "\n\n"
	if got := written(t, n); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := written(t, Style("p > a { color: red }")); got != "<style>p > a { color: red }</style>\n\n" {
		t.Error(got)
	}
	if got := written(t, E("div", Concat([]Node{T("a")}, nil, []Node{{}, T("b")})...)); got != "<div>ab</div>\n\n" {
		t.Error(got)
	}
}

// TestWithLeavesTheOriginal as it was: elements are values.
func TestWithLeavesTheOriginal(t *testing.T) {
	t.Parallel()
	base := E("p").With(Class("a"), Class("b"))
	one, other := base.With(N("x", 1)), base.With(N("x", -2))
	if written(t, base)+written(t, one)+written(t, other) != `<p class="a" class="b"></p>`+"\n\n"+
		`<p class="a" class="b" x="1"></p>`+"\n\n"+`<p class="a" class="b" x="-2"></p>`+"\n\n" {
		t.Error(written(t, base), written(t, one), written(t, other))
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestWriteError reaches the caller.
func TestWriteError(t *testing.T) {
	t.Parallel()
	if err := WritePage(full{}, T(strings.Repeat("x", 10_000))); !errors.Is(err, errFull) {
		t.Error(err)
	}
}
