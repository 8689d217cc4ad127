package pgstore

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/pgdev"
	"countersign/store/seal"
)

var (
	long = flag.Bool("long", false, "also run what takes minutes")
	// awaiting is named so because patience is the store's own.
	awaiting = flag.Duration("patience", time.Minute, "how long a test waits for what must come")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(pgdev.Run(m))
}

// schemas numbers the schemas of tests: each is a store of its own, in one database.
var schemas atomic.Int64

var storesDB struct {
	sync.Mutex
	url string
}

// newURL names a store that nobody else uses.
func newURL(t testing.TB) string {
	t.Helper()
	c := pgdev.Start(t)
	storesDB.Lock()
	defer storesDB.Unlock()
	if storesDB.url == "" {
		c.Exec(t, "postgres", "create database stores")
		storesDB.url = c.URL("stores")
	}
	return inSchema(storesDB.url, fmt.Sprintf("s%d", schemas.Add(1)))
}

func inSchema(url, schema string) string {
	if strings.Contains(url, "?") {
		return url + "&schema=" + schema
	}
	return url + "?schema=" + schema
}

func openStore(t testing.TB, url string, cfg Config) *Store {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s, err := Open(t.Context(), url, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// testKeys returns a keyring of keys that follow from their ids.
func testKeys(t testing.TB, ids ...string) *seal.Keyring {
	t.Helper()
	var list []string
	for _, id := range ids {
		list = append(list, id+":"+strings.Repeat(id[:1], 42)+"Y=")
	}
	k, err := seal.Parse(strings.Join(list, ","))
	if err != nil {
		t.Fatal(err)
	}
	return k
}
