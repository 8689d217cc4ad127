package pgstore

import (
	"errors"
	"strings"
	"testing"
)

// TestPlaceOf: what is shown of a URL has neither user nor password nor other parameters.
func TestPlaceOf(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://bot:hunter2@db/app":                        "PostgreSQL at db:5432, database app, schema countersign",
		"postgresql://bot:hunter2@db:6000/app?schema=one":      "PostgreSQL at db:6000, database app, schema one",
		"postgres://bot:hunter2@a,b:1/app?sslmode=disable":     "PostgreSQL at a:5432, b:1, database app, schema countersign",
		"postgres://bot@/app?host=/tmp/pg&password=hunter2":    "PostgreSQL at /tmp/pg:5432, database app, schema countersign",
		"postgres://db/app?user=bot&password=hunter2&schema=x": "PostgreSQL at db:5432, database app, schema x",
	} {
		p, err := PlaceOf(url)
		if err != nil || p.String() != want {
			t.Errorf("%s: %q, %v, want %q", url, p, err, want)
		}
	}
	for _, url := range []string{"postgres://bot:hunter2@[::/app", "postgres://bot:hunter2@db/app?schema=pg_hunter2"} {
		if _, err := PlaceOf(url); !errors.Is(err, ErrURL) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
