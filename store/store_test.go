package store

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"countersign/approvals"
	"countersign/store/boltstore"
	"countersign/store/pgstore"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a:b.db")
	s, err := Open(t.Context(), "bolt:"+path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, ok := s.(*boltstore.Store); !ok {
		t.Errorf("got a %T", s)
	}
	if x, ok := s.(approvals.Exclusive); !ok || !x.Exclusive() {
		t.Error("the store does not say that it is exclusive")
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url  string
		want error
	}{
		{"", ErrURL},
		{"countersign.db", ErrURL},
		{"bolt:", ErrURL},
		{"bolt://countersign.db", ErrURL},
		{"mysql://bot:hunter2@db/countersign", ErrURL},
		{"hunter2", ErrURL},
		{"bolt:~/hunter2.db", ErrURL},
		{"bolt:~", ErrURL},
		{"postgres://bot:hunter2@[::/countersign", ErrURL},
		{"PostgreSQL://bot:hunter2@db/countersign?schema=public", ErrURL},
		{"bolt:" + filepath.Join(t.TempDir(), "none", "x.db"), fs.ErrNotExist},
	} {
		s, err := Open(t.Context(), c.url, Config{})
		if !errors.Is(err, c.want) || s != nil {
			t.Errorf("%s: %v, %v, want %v", c.url, s, err, c.want)
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q gives the password away", err)
		}
		possible := strings.Contains(err.Error(), "bolt:PATH") || strings.Contains(err.Error(), "postgres://") ||
			strings.Contains(err.Error(), "schema must be") || strings.Contains(err.Error(), "bolt:./~")
		if c.want != fs.ErrNotExist && !possible {
			t.Errorf("%q does not say what is possible", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, "bolt:x.db", Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestRefusedIsNotWaitedFor: a start waits for a database that is away, and not for one that asks for something else.
func TestRefusedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	const nobody = "postgres://bot:hunter2@127.0.0.1:1/bots"
	_, away := Open(t.Context(), nobody, Config{})
	if !Waits(away) || errors.Is(away, ErrRefused) {
		t.Errorf("away: %v", away)
	}
	if err := postgresError(errors.Join(pgstore.ErrTLS, away)); Waits(err) || !errors.Is(err, ErrRefused) {
		t.Errorf("no TLS: %v", err)
	}
}
