package oneline_test

import (
	"testing"

	"countersign/agent/internal/oneline"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{" two\nlines", "two lines"},
		{"bell\a\x1b[31m", "bell  [31m"},
		{"broken\xff", "broken\uFFFD"},
		{"ünïcödé and more", "ünïcödé an…"},
	} {
		if got := oneline.Of(tt.in, 10); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}
