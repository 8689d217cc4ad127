package pgstore

import (
	"errors"
	"strings"
	"testing"
)

// TestPlaceOf: what is shown of a URL has neither user nor password nor other parameters.
func TestPlaceOf(t *testing.T) {
	t.Parallel()
	for url, at := range map[string]string{
		"postgres://bot:hunter2@db/app":                        "db:5432, database app, schema countersign",
		"postgresql://bot:hunter2@db:6000/app?schema=one":      "db:6000, database app, schema one",
		"postgres://bot:hunter2@a,b:1/app?sslmode=disable":     "a:5432, b:1, database app, schema countersign",
		"postgres://bot@/app?host=/tmp/pg&password=hunter2":    "/tmp/pg:5432, database app, schema countersign",
		"postgres://db/app?user=bot&password=hunter2&schema=x": "db:5432, database app, schema x",
	} {
		p, err := PlaceOf(url)
		if want := "PostgreSQL at " + at; err != nil || p.String() != want {
			t.Errorf("%s: %q, %v, want %q", url, p, err, want)
		}
	}
	for _, url := range []string{"postgres://bot:hunter2@[::/app", "postgres://bot:hunter2@db/app?schema=pg_hunter2"} {
		if _, err := PlaceOf(url); !errors.Is(err, ErrURL) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
