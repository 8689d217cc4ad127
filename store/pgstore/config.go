package pgstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/store/seal"
)

// Config configures a store. The zero value is usable.
type Config struct {
	// Logger receives what an operator should know; nil discards it.
	Logger *slog.Logger
	// Workers is how many handlers Dispatch runs at once for each group of each kind of job; 16 when zero.
	Workers int
	// ReadOnly opens the store for reading only, and leaves its schema as it is.
	ReadOnly bool
	// Keys encrypt what the store holds; nil: it is plain.
	Keys *seal.Keyring

	moving bool // the store is moved: nobody else may have it open, and it opens with keys that it does not need
	half   bool // it is opened to be moved into, and may be half of what is moved

	jobs   jobSettings    // tests
	format formatSettings // tests
	blind  bool           // tests: what became of a commit is not looked up
	apart  bool           // tests: nobody shares a transaction
	always bool           // tests: whoever finds nobody there begins a transaction for several all the same
	loose  bool           // tests: those who share one are not kept from each other's rows

	straggling time.Duration         // tests: in place of the constant
	leaves     func(context.Context) // tests: told of each closure that needs a transaction of its own
}

// ErrURL is returned by Open for a URL that cannot be used.
var ErrURL = errors.New("unusable PostgreSQL URL")

const urlForm = "use postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME, with reserved characters percent-encoded"

const defaultSchema = "countersign"

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,47}$`)

// idleInTransaction is how long a transaction may stand still before the server ends it. Whoever stands still longer, a
// process that is frozen, may have locked rows; they are free again when its claims of jobs are.
const idleInTransaction = claimLease

// idleTimeout names the setting of the server that says so.
const idleTimeout = "idle_in_transaction_session_timeout"

// idleSession names the setting of the server that ends sessions without a transaction after a while. Ours may rest:
// some hold a lock, or listen.
const idleSession = "idle_session_timeout"

// settings of every session. Plans are made once per connection, perhaps while a table is empty, and go by indexes row
// by row: a plan that reads a whole table is slow once that has grown, and, be it small, has the transaction conflict
// with every other one that writes to it.
var settings = map[string]string{
	"application_name":  "countersign",
	"timezone":          "UTC",
	"enable_seqscan":    "off",
	"enable_bitmapscan": "off",
	"enable_hashjoin":   "off",
	"enable_mergejoin":  "off",
	"enable_sort":       "off",
	"plan_cache_mode":   "force_generic_plan",
	"jit":               "off",
	"statement_timeout": "30s",
	"lock_timeout":      "10s",
	idleSession:         "0",
	idleTimeout:         strconv.FormatInt(idleInTransaction.Milliseconds(), 10),
}

const (
	defaultConns = 8 // of each pool, unless the URL says pool_max_conns
	// pingTimeout is how long a connection that was not used for a second may take to answer before it counts as lost,
	// unless the URL says pool_ping_timeout. Nothing is heard of those to a host that has lost its power.
	pingTimeout = time.Second
)

// readURL takes the schema out of the URL and returns how to connect. No error repeats the URL, which may hold a
// password.
func readURL(text string, readOnly bool) (*pgxpool.Config, string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, "", fmt.Errorf("%w: %s", ErrURL, urlForm)
	}
	query := u.Query()
	schema := defaultSchema
	if query.Has("schema") {
		schema = query.Get("schema")
	}
	if !schemaName.MatchString(schema) || strings.HasPrefix(schema, "pg_") || schema == "public" {
		return nil, "", fmt.Errorf("%w: schema must be 1 to 48 of a-z, 0-9 and _, not begin with a digit or pg_, and "+
			"not be public", ErrURL)
	}
	if misread(u) {
		return nil, "", fmt.Errorf("%w: %s", ErrURL, urlForm)
	}
	for _, values := range query {
		if len(values) > 1 {
			return nil, "", fmt.Errorf("%w: a parameter behind the ? stands there twice", ErrURL)
		}
	}
	query.Del("schema")
	sized, pinged := query.Has("pool_max_conns"), query.Has("pool_ping_timeout")
	u.RawQuery = query.Encode()
	cfg, err := pgxpool.ParseConfig(u.String())
	if file, ok := errors.AsType[*fs.PathError](err); ok { // its text is about the file alone, which is not the store
		return nil, "", fmt.Errorf("%w: a file that it, or the environment (PGSSLROOTCERT and the like), names cannot "+
			"be read: %v", ErrURL, file)
	}
	if err != nil {
		bare := *u
		bare.RawQuery = ""
		if _, err := pgxpool.ParseConfig(bare.String()); err == nil && len(query) > 0 {
			return nil, "", fmt.Errorf("%w: a parameter behind the ? has a value that it cannot have (sslmode, "+
				"pool_max_conns and the like)", ErrURL)
		}
		return nil, "", fmt.Errorf("%w: %s", ErrURL, urlForm)
	}
	if !sized {
		cfg.MaxConns = defaultConns
	}
	if !pinged {
		cfg.PingTimeout = pingTimeout
	}
	cfg.MaxConnLifetimeJitter = 5 * time.Minute
	for k, v := range settings {
		if readOnly && k == idleTimeout {
			v = "60s" // it locks no rows, and an operator may hold up what it prints
		}
		if _, given := cfg.ConnConfig.RuntimeParams[k]; !given {
			cfg.ConnConfig.RuntimeParams[k] = v
		}
	}
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	if readOnly {
		cfg.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	cfg.ConnConfig.DialFunc = watchTLS(cfg.ConnConfig.DialFunc)
	return cfg, schema, nil
}

// misread reports that a password with a /, ? or # that is not percent-encoded has been taken for other parts of the
// URL, which messages show.
func misread(u *url.URL) bool {
	for name := range u.Query() {
		if strings.Contains(name, "@") {
			return true
		}
	}
	return u.Fragment != "" || u.User == nil && strings.Contains(u.Path, "@")
}
