package pgstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"countersign/store/transfer"
)

// ErrTLS is returned where the URL asks for TLS and the server has none, or a certificate that does not hold.
var ErrTLS = errors.New("no TLS with the PostgreSQL server")

// ErrAway is what an error is where the URL names several servers, and not all of them have refused: what one of them
// says may be of no account once another one is back.
var ErrAway = errors.New("a PostgreSQL server is away")

// errNoTLS is what a server says that has no TLS. Whether that matters depends on the URL.
var errNoTLS = errors.New("server has no TLS")

// connectError says in one line why there is no connection, and what to do. The driver's own words are a paragraph,
// with one line for each attempt.
type connectError struct {
	says   string
	causes []error
}

func (e *connectError) Error() string { return e.says }

func (e *connectError) Unwrap() []error { return e.causes }

// explainConnect puts a failed attempt to connect into words. Whatever err is, the result is too.
func explainConnect(failed *pgconn.ConnectError, err error) error {
	cfg := failed.Config
	e := &connectError{causes: []error{err}}
	attempts, plain := attemptsOf(failed.Unwrap()), plainAllowed(cfg)
	if plain && slices.ContainsFunc(attempts, func(err error) bool { return !errors.Is(err, errNoTLS) }) {
		// The attempt without TLS that followed says what is wrong.
		attempts = slices.DeleteFunc(attempts, func(err error) bool { return errors.Is(err, errNoTLS) })
	}
	var reasons []string
	for _, attempt := range attempts {
		why, is := reason(cfg, attempt)
		if !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
		if is != nil {
			e.causes = append(e.causes, is)
		}
		if is == nil && away(attempt) && len(placeOfConfig(cfg).Hosts) > 1 {
			e.causes = append(e.causes, ErrAway)
		}
	}
	e.says = placeOfConfig(cfg).hosts() + ": " + strings.Join(reasons, "; ")
	return e
}

// away reports whether an attempt failed in a way that may be over by itself: there was no answer, or one of a server
// that starts, stops, is full or follows another one.
func away(attempt error) bool {
	if refusal, ok := errors.AsType[*pgconn.PgError](attempt); ok {
		return slices.Contains([]string{"08", "53", "57"}, refusal.Code[:2])
	}
	return !errors.Is(attempt, ErrAsync) && !errors.Is(attempt, transfer.ErrInUse)
}

// attemptsOf returns the error of each attempt.
func attemptsOf(err error) []error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.Clone(several.Unwrap())
	}
	if inner := errors.Unwrap(err); inner != nil { // of host names that are not known
		if several, ok := inner.(interface{ Unwrap() []error }); ok {
			return slices.Clone(several.Unwrap())
		}
	}
	return []error{err}
}

// plainAllowed reports whether the URL allows a connection without TLS.
func plainAllowed(cfg *pgconn.Config) bool {
	return cfg.TLSConfig == nil ||
		slices.ContainsFunc(cfg.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil })
}

// reason says why an attempt failed and what to do; is marks the error for callers, if they are to tell it apart.
func reason(cfg *pgconn.Config, err error) (says string, is error) {
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refusalOf(cfg, refusal)
	}
	for _, own := range []error{ErrStandby, ErrTakesNoWrites, ErrAsync, ErrPooler} {
		if errors.Is(err, own) {
			return own.Error(), nil
		}
	}
	var unknown *net.DNSError
	certificate := badCertificate(err)
	const look = "start it, or look at host, port and firewall"
	switch {
	case errors.Is(err, transfer.ErrInUse):
		return oneLine(innermost(err).Error()), nil
	case errors.Is(err, errNoTLS):
		return "the server has no TLS, and the store's URL asks for it (sslmode): switch it on in the server " +
			"(ssl = on); only where nobody can listen on the way, write sslmode=disable", ErrTLS
	case certificate != nil:
		return "the server's certificate does not hold (" + oneLine(certificate.Error()) + "): name its authority " +
			"with sslrootcert in the store's URL, and the host as the certificate does", ErrTLS
	case errors.As(err, &unknown):
		return "the host " + unknown.Name + " is not known: look at its name, or at the name server", nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody answers (connection refused): " + look, nil
	case errors.Is(err, syscall.ENOENT):
		return "nobody answers (there is no such socket): " + look, nil
	case errors.Is(err, context.Canceled):
		return "it was interrupted", nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), pgconn.Timeout(err):
		return "no answer in time: " + look, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection was ended at once: look at the server's log, and whether it is PostgreSQL", nil
	}
	return oneLine(innermost(err).Error()) + ": " + look, nil
}

// badCertificate returns what is wrong with the server's certificate; nil: something else is wrong.
func badCertificate(err error) error {
	if e, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return e
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return e
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return e.Err
	}
	return nil
}

// refusalOf says what to do about the server's refusal of a connection. The server's texts are in its language, so it
// is the codes that count.
func refusalOf(cfg *pgconn.Config, refusal *pgconn.PgError) (says string, is error) {
	server := " (SQLSTATE " + refusal.Code + ")"
	switch refusal.Code {
	case "28P01":
		if cfg.Password == "" {
			return fmt.Sprintf("the server asks for a password of the role %s, and there is none%s: write it into the "+
				"store's URL, or set PGPASSWORD or PGPASSFILE", cfg.User, server), nil
		}
		return fmt.Sprintf("the server refuses the password of the role %s%s: mend user and password in the store's "+
			"URL, with reserved characters percent-encoded, or in PGPASSWORD or PGPASSFILE", cfg.User, server), nil
	case "28000":
		return fmt.Sprintf("the server does not let the role %s in%s, its words: %s: create the role, or admit it in "+
			"pg_hba.conf; docs/postgresql.md lists what it needs", cfg.User, server, oneLine(refusal.Message)), nil
	case "3D000":
		return fmt.Sprintf("there is no database %s%s: create it, or name another one in the store's URL",
			databaseOf(cfg), server), nil
	case "42501":
		return fmt.Sprintf("the role %s may not connect to the database %s%s: grant it that; docs/postgresql.md lists "+
			"what it needs", cfg.User, databaseOf(cfg), server), nil
	case codeNoSetting, codeBadSetting:
		return fmt.Sprintf("the server does not take the parameters of the store's URL%s, its words: %s: mend them",
			server, oneLine(refusal.Message)), nil
	case "53300":
		return "the server has no connection left" + server + ", its words: " + oneLine(refusal.Message) + ": " +
			moreConnections, nil
	case "57P03":
		return "the server does not take connections yet, or no longer" + server + ": wait, or look at its log", nil
	case codeProtocol:
		return ErrPooler.Error() + server, ErrPooler
	}
	return "the server refuses the connection" + server + ", its words: " + oneLine(refusal.Message) +
		": look at its log", nil
}

// moreConnections is what to do where there are too few. The server says which limit it is.
const moreConnections = "raise max_connections, or the connection limit of the role or the database, or lower " +
	"pool_max_conns in the store's URL"

// databaseOf is the database that the server looks for.
func databaseOf(cfg *pgconn.Config) string {
	if cfg.Database == "" {
		return cfg.User
	}
	return cfg.Database
}

// innermost returns what the driver's words about an attempt are wrapped around.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil || errors.Is(err, transfer.ErrInUse) && errors.Is(inner, transfer.ErrInUse) &&
			errors.Unwrap(inner) == nil {
			return err
		}
		err = inner
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// watchTLS has a connection return errNoTLS where the server answers that it has no TLS: the driver has no error of its
// own for that.
func watchTLS(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &tlsWatch{Conn: conn}, nil
	}
}

// tlsWatch looks at the first byte of a connection.
type tlsWatch struct {
	net.Conn
	answered atomic.Bool // its first bytes have come
}

// Read is part of net.Conn. Only whoever has asked for TLS reads a single byte first, and "N" is no.
func (w *tlsWatch) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if n > 0 && w.answered.CompareAndSwap(false, true) && len(b) == 1 && b[0] == 'N' {
		return 0, errNoTLS
	}
	return n, err
}
