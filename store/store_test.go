package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
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

// TestOneOfSeveralIsAway: what one of several servers refuses is not final while another one is away: a standby that is
// made anew lacks the database, and the primary is just started again.
func TestOneOfSeveralIsAway(t *testing.T) {
	t.Parallel()
	noTLS := answering(t, "N")
	noDatabase := answering(t, "E\x00\x00\x00\x19SFATAL\x00C3D000\x00Mgone\x00\x00")
	starting := answering(t, "E\x00\x00\x00\x19SFATAL\x00C57P03\x00Mwait\x00\x00")
	for _, c := range []struct {
		name, hosts, mode string
		waits             bool
	}{
		{"one has no TLS", "127.0.0.1:1," + noTLS, "require", true},
		{"one lacks the database", "127.0.0.1:1," + noDatabase, "disable", true},
		{"one starts", starting + "," + noDatabase, "disable", true},
		{"both have no TLS", noTLS + "," + answering(t, "N"), "require", false},
		{"the only one has no TLS", noTLS, "require", false},
		{"the only one lacks the database", noDatabase, "disable", false},
		{"the only one does not know a parameter",
			answering(t, "E\x00\x00\x00\x19SFATAL\x00C42704\x00Mwhat\x00\x00"), "disable", false},
	} {
		url := "postgres://bot:hunter2@" + c.hosts + "/bots?sslmode=" + c.mode
		_, opened := Open(t.Context(), url, Config{})
		_, examined := Examine(t.Context(), url)
		for who, err := range map[string]error{"Open": opened, "Examine": examined} {
			if err == nil || Waits(err) != c.waits || errors.Is(err, ErrRefused) == c.waits {
				t.Errorf("%s: %s: %v; want one to wait for: %v", c.name, who, err, c.waits)
			}
		}
	}
}

// answering returns the address of a server that says the same to everybody.
func answering(t *testing.T, says string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := conn.Read(make([]byte, 1<<10)); err == nil {
				io.WriteString(conn, says)
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return l.Addr().String()
}
