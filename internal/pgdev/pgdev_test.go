package pgdev

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) {
	code := m.Run()
	StopShared()
	os.Exit(code)
}

// count connects to the database and counts the rows of a table.
func count(t *testing.T, url, table string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "select count(*) from "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDatabasesAreApart(t *testing.T) {
	c := Start(t)
	a, b := c.Database(t), c.Database(t)
	if a == b {
		t.Fatalf("two tests share %s", a)
	}
	count(t, a, "pg_class")
	count(t, b, "pg_class")
}

func TestStopAndStart(t *testing.T) {
	c := Own(t, Options{Settings: map[string]string{"max_connections": "7"}})
	url := c.Database(t)
	for _, crash := range []bool{false, true} {
		c.Stop(crash)
		if _, err := pgx.Connect(t.Context(), url); err == nil {
			t.Error("a stopped server takes connections")
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		count(t, url, "pg_class")
	}
}

func TestRemoved(t *testing.T) {
	s, err := NewServer(Options{})
	need(t, err)
	s.Remove()
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}
