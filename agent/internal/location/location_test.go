package location_test

import (
	"strings"
	"testing"

	"countersign/agent/internal/location"
)

func TestURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, value, want string }{
		{"", "https://a.example/x", "https://a.example/x"},
		{"https://a.example/x", "https://a.example/x", "https://a.example/x"},
		{"https://a.example/${HOOK}", "https://a.example/s3cret", "https://a.example/${HOOK}"},
		{"https://a.example?k=${KEY}", "https://a.example?k=s3cret", "https://a.example?k=${KEY}"},
		{"${URL}", "https://a.example/s3cret", "${URL} (https://a.example)"},
		{"${URL}/pay", "http://a.example:8080/s3cret/pay", "${URL}/pay (http://a.example:8080)"},
		{"https://${HOST}/pay", "https://a.example/pay", "https://${HOST}/pay (https://a.example)"},
		{"https://a.example${REST}", "https://a.example.evil.example/",
			"https://a.example${REST} (https://a.example.evil.example)"},
		{"https://a.example:${PORT}/", "https://a.example:81/", "https://a.example:${PORT}/ (https://a.example:81)"},
		{"${SCHEME}://a.example/", "http://a.example/", "${SCHEME}://a.example/ (http://a.example)"},
	} {
		got := location.URL(tt.text, tt.value)
		if got != tt.want || strings.Contains(got, "s3cret") {
			t.Errorf("%q for %q: %q, want %q", tt.text, tt.value, got, tt.want)
		}
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	if got := location.Directory("", "/srv/repo"); got != "/srv/repo" {
		t.Errorf("got %q", got)
	}
	one, other := location.Directory("${REPO}", "/srv/repo"), location.Directory("${REPO}", "/srv/other")
	if want := "${REPO} (path sha256:"; one == other || !strings.HasPrefix(one, want) ||
		len(one) != len(want)+16+len("…)") || strings.Contains(one, "/srv") {
		t.Errorf("got %q and %q", one, other)
	}
}
