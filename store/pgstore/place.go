package pgstore

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Place says which schema of which database a URL names. It holds no user, no password and none of the URL's other
// parameters, so it may be shown.
type Place struct {
	Hosts            []string // HOST:PORT, or the folder of a Unix socket and the port
	Database, Schema string
}

// PlaceOf reads a URL without connecting. Its errors are those of Open for a URL that cannot be used.
func PlaceOf(url string) (Place, error) {
	pool, schema, err := readURL(url, false)
	if err != nil {
		return Place{}, err
	}
	p := placeOfConfig(&pool.ConnConfig.Config)
	p.Schema = schema
	return p, nil
}

// placeOfConfig reads the hosts and the database out of what a connection is made with.
func placeOfConfig(c *pgconn.Config) Place {
	p := Place{Database: c.Database}
	add := func(host string, port uint16) {
		if at := net.JoinHostPort(host, strconv.Itoa(int(port))); !slices.Contains(p.Hosts, at) {
			p.Hosts = append(p.Hosts, at)
		}
	}
	add(c.Host, c.Port)
	for _, other := range c.Fallbacks {
		add(other.Host, other.Port)
	}
	return p
}

func (p Place) hosts() string { return strings.Join(p.Hosts, ", ") }

// String names the place for logs and messages.
func (p Place) String() string {
	return fmt.Sprintf("PostgreSQL at %s, database %s, schema %s", p.hosts(), p.Database, p.Schema)
}
