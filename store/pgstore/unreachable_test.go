package pgstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/pgdev"
)

// TestUnreachable: where there is no connection, one line says why and what to do, whoever asks, and never the
// password.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	c := pgdev.Own(t, pgdev.Options{})
	c.Exec(t, "postgres", "set password_encryption = 'scram-sha-256'; create role bot login password 'right-5a1e'; "+
		"create role other login; create role few login connection limit 0")
	c.Exec(t, "postgres", "create database bots owner bot")
	c.Exec(t, "postgres", "revoke connect on database bots from public")
	c.Stop(false)
	rules := "local all postgres trust\nlocal all nobody trust\nlocal all other trust\nlocal all few trust\n" +
		"local all bot scram-sha-256\n"
	hba := filepath.Join(filepath.Dir(c.Socket()), "data", "pg_hba.conf")
	if err := os.WriteFile(hba, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	const wrong = "wrong-77c3"
	socket := func(user, password, database string) string {
		u := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: "localhost",
			Path: "/" + database, RawQuery: url.Values{"host": {filepath.Dir(c.Socket())}}.Encode()}
		return u.String()
	}
	overTCP := "postgres://bot:%s@" + forward(t, c.Socket()) + "/bots?sslmode="
	for _, tt := range []struct {
		name, url string
		is        error
		says      []string
	}{
		{"nobody listens", "postgres://bot:" + wrong + "@127.0.0.1:1/bots", nil,
			[]string{"127.0.0.1:1: nobody answers (connection refused): start it, or look at host, port and firewall"}},
		{"nobody listens on two", "postgres://bot:" + wrong + "@127.0.0.1:1,127.0.0.1:2/bots", nil,
			[]string{"127.0.0.1:1, 127.0.0.1:2: nobody answers (connection refused): start it"}},
		{"no socket", "postgres://bot:" + wrong + "@localhost/bots?host=" + t.TempDir(), nil,
			[]string{"nobody answers (there is no such socket): start it"}},
		{"wrong password", socket("bot", wrong, "bots"), nil,
			[]string{"refuses the password of the role bot (SQLSTATE 28P01): mend user and password"}},
		{"no password",
			"postgres://bot@localhost/bots?password=&passfile=/dev/null&host=" + filepath.Dir(c.Socket()), nil,
			[]string{"asks for a password of the role bot, and there is none (SQLSTATE 28P01)", "PGPASSFILE"}},
		{"missing database", socket("postgres", wrong, "nowhere"), nil,
			[]string{"there is no database nowhere (SQLSTATE 3D000): create it"}},
		{"missing role", socket("nobody", wrong, "bots"), nil,
			[]string{"does not let the role nobody in (SQLSTATE 28000)", ": create the role, or admit it in pg_hba"}},
		{"may not connect", socket("other", wrong, "bots"), nil,
			[]string{"the role other may not connect to the database bots (SQLSTATE 42501): grant it that"}},
		{"role that may have no more connections", socket("few", wrong, "postgres"), nil,
			[]string{`no connection left (SQLSTATE 53300), its words: too many connections for role "few": raise`,
				"limit of the role"}},
		{"misspelled parameter", socket("postgres", wrong, "postgres") + "&statment_timeout=10s", nil,
			[]string{"does not take the parameters of the store's URL (SQLSTATE 42704)",
				`"statment_timeout": mend them`}},
		{"parameter that has no such value", socket("postgres", wrong, "postgres") + "&statement_timeout=soon", nil,
			[]string{"does not take the parameters of the store's URL (SQLSTATE 22023)",
				`"statement_timeout": "soon"`}},
		{"no TLS", fmt.Sprintf(overTCP, wrong) + "require", ErrTLS,
			[]string{"the server has no TLS, and the store's URL asks for it (sslmode): switch it on"}},
		{"wrong password, after TLS was tried", fmt.Sprintf(overTCP, wrong) + "prefer", nil,
			[]string{"refuses the password of the role bot (SQLSTATE 28P01): mend user and password"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, opened := Open(t.Context(), tt.url, Config{})
			_, examined := Examine(t.Context(), tt.url)
			_, source := OpenSource(t.Context(), tt.url, Config{})
			_, target := OpenTarget(t.Context(), tt.url, Config{})
			for who, err := range map[string]error{
				"Open": opened, "Examine": examined, "OpenSource": source, "OpenTarget": target,
			} {
				text := fmt.Sprint(err)
				for _, want := range tt.says {
					if !strings.Contains(text, want) {
						t.Errorf("%s does not say %q: %s", who, want, text)
					}
				}
				if tt.is != nil && !errors.Is(err, tt.is) || tt.is == nil && errors.Is(err, ErrTLS) {
					t.Errorf("%s: %v, want one that is %v", who, err, tt.is)
				}
				if strings.ContainsAny(text, "\n\t") || strings.Contains(text, wrong) ||
					strings.Count(text, "SQLSTATE") > 1 {
					t.Errorf("%s says more than one line, or the password: %q", who, text)
				}
			}
		})
	}
	openStore(t, fmt.Sprintf(overTCP, "right-5a1e")+"prefer", Config{}).Close() // the control
}

// TestMisreadURL: a password that is not percent-encoded must not be taken for a port or a database, which are shown.
func TestMisreadURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://bot:12/34@host/bots", "postgres://bot:12?34@host/bots", "postgres://bot:12#34@host/bots",
		"postgres://bot:s3cret@host/bots#12",
	} {
		if at, err := PlaceOf(url); !errors.Is(err, ErrURL) {
			t.Errorf("%s: %s, %v", url, at, err)
		}
	}
	for _, url := range []string{ // the controls
		"postgres://bot:12%2F34@host/bots", "postgres://host/bots?user=bot@company", "postgres:///bots?host=/run/pg",
	} {
		if _, err := PlaceOf(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestMissingCertificate: a file of certificates that is not there is named; nothing else of the URL is.
func TestMissingCertificate(t *testing.T) {
	t.Parallel()
	for _, parameters := range []string{"sslrootcert=/gone.pem", "sslcert=/gone.pem&sslkey=/gone.pem"} {
		_, err := PlaceOf("postgres://bot:s3cret@host/bots?sslmode=verify-full&" + parameters)
		if !errors.Is(err, ErrURL) || !strings.Contains(fmt.Sprint(err), "open /gone.pem: no such file") ||
			strings.Contains(fmt.Sprint(err), "s3cret") {
			t.Errorf("%s: %v", parameters, err)
		}
	}
}

// TestBadCertificates: what is wrong with the server's certificate stands in one line, and is told apart.
func TestBadCertificates(t *testing.T) {
	t.Parallel()
	c := pgdev.Own(t, pgdev.Options{})
	c.Exec(t, "postgres", "create database bots")
	now := time.Now()
	signer := newAuthority(t, now)
	front := func(host string, until time.Time) string {
		return overTLS(t, c.Socket(), signer.certificate(t, host, until))
	}
	url := func(at, more string) string {
		return "postgres://postgres@" + at + "/bots?sslmode=verify-full" + more
	}
	trusted := "&sslrootcert=" + signer.file
	for _, tt := range []struct{ name, url, says string }{
		{"unknown authority", url(front("127.0.0.1", now.Add(time.Hour)), ""), "unknown authority"},
		{"of another host", url(front("10.9.8.7", now.Add(time.Hour)), trusted), "10.9.8.7"},
		{"expired", url(front("127.0.0.1", now.Add(-time.Minute)), trusted), "expired"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Open(t.Context(), tt.url, Config{})
			text := fmt.Sprint(err)
			if !errors.Is(err, ErrTLS) || strings.Contains(text, "\n") || !strings.Contains(text, tt.says) ||
				!strings.Contains(text, "sslrootcert") {
				t.Errorf("%v", err)
			}
		})
	}
	openStore(t, url(front("127.0.0.1", now.Add(time.Hour)), trusted), Config{}).Close() // the control
}

// authority signs certificates; file holds its own.
type authority struct {
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	from time.Time
}

func newAuthority(t *testing.T, now time.Time) *authority {
	t.Helper()
	a := &authority{file: filepath.Join(t.TempDir(), "ca.pem"), from: now.Add(-time.Hour)}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: a.from,
		NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(a.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// certificate is one for a server at the address.
func (a *authority) certificate(t *testing.T, host string, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, NotBefore: a.from, NotAfter: until,
		IPAddresses: []net.IP{net.ParseIP(host)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// overTLS is an address on this machine that leads to a PostgreSQL server at a Unix socket, with TLS as the server
// would have it: clients ask for it with eight bytes, and "S" is yes.
func overTLS(t *testing.T, socket string, cert tls.Certificate) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	cfg := &tls.Config{
		Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"postgresql"},
	}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				if _, err := io.ReadFull(client, make([]byte, 8)); err != nil {
					return
				}
				client.Write([]byte("S"))
				inside := tls.Server(client, cfg)
				if inside.Handshake() != nil {
					return
				}
				join(inside, socket)
			}()
		}
	}()
	return l.Addr().String()
}

// join copies between a client and the server at the socket until both have ended.
func join(client net.Conn, socket string) {
	defer client.Close()
	server, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		io.Copy(server, client)
		server.Close()
	})
	both.Go(func() {
		io.Copy(client, server)
		client.Close()
	})
	both.Wait()
}

// forward is an address on this machine that leads to a Unix socket, byte for byte.
func forward(t *testing.T, socket string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go join(client, socket)
		}
	}()
	return l.Addr().String()
}
