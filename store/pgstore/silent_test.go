package pgstore

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"countersign/approvals"
	"countersign/internal/pgdev"
)

// silence forwards connections to a server, until those that are there carry nothing any more, as to a host that has
// lost its power. Connections that are made later are carried.
type silence struct {
	Addr string
	mu   sync.Mutex
	now  *atomic.Bool // of the connections that are made now
	all  []net.Conn
	// atUnlisten has them fall silent when one is to listen no more.
	atUnlisten atomic.Bool
}

func newSilence(t *testing.T, socket string) *silence {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &silence{Addr: l.Addr().String(), now: new(atomic.Bool)}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				client.Close()
				continue
			}
			s.mu.Lock()
			silent := s.now
			s.all = append(s.all, client, server)
			s.mu.Unlock()
			go s.carry(client, server, silent)
			go s.carry(server, client, silent)
		}
	}()
	return s
}

func (s *silence) carry(to, from net.Conn, silent *atomic.Bool) {
	defer to.Close()
	defer from.Close()
	data := make([]byte, 1<<15)
	for {
		n, err := from.Read(data)
		if err != nil {
			return
		}
		if bytes.Contains(data[:n], []byte("unlisten ")) && s.atUnlisten.CompareAndSwap(true, false) {
			s.falls()
		}
		if silent.Load() {
			continue
		}
		if _, err := to.Write(data[:n]); err != nil {
			return
		}
	}
}

// cut ends all connections, so that nobody waits any longer for what the silent ones will not say.
func (s *silence) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.all {
		c.Close()
	}
}

// falls has the connections that are there carry nothing any more.
func (s *silence) falls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Store(true)
	s.now = new(atomic.Bool)
}

// silentStore opens a store whose connections can fall silent.
func silentStore(t *testing.T, cfg Config) (*silence, *Store) {
	c := pgdev.Start(t)
	newURL(t) // makes the database
	p := newSilence(t, c.Socket())
	url := "postgres://postgres@" + p.Addr + "/stores?sslmode=disable"
	s := openStore(t, inSchema(url, fmt.Sprintf("s%d", schemas.Add(1))), cfg)
	t.Cleanup(p.cut)
	return p, s
}

// TestSilentConnections: connections of which nothing is heard any more, as after the loss of a host, are given up
// soon, and callers have others.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	p, s := silentStore(t, Config{})
	var conns []*pgxpool.Conn
	for range 2 {
		conns = append(conns, must(s.clicks.Acquire(t.Context())))
	}
	for _, c := range conns {
		c.Release()
	}
	p.falls()
	<-time.After(time.Second) // one that was used within a second is taken to be there
	ctx, cancel := context.WithTimeout(t.Context(), *awaiting/2)
	defer cancel()
	if err := s.Update(ctx, writeEffect("1")); err != nil {
		t.Error(err)
	}
}

// TestClaimsOutliveSilence has the connections of a replica fall silent while a handler is at work. Its claim is
// prolonged on another one in time.
func TestClaimsOutliveSilence(t *testing.T) {
	t.Parallel()
	const lease = 6 * time.Second
	p, s := silentStore(t, Config{jobs: jobSettings{lease: lease}})
	begun, ended := make(chan string, 1), make(chan error, 1)
	defer dispatch(t, s, func(ctx context.Context, j approvals.Job) error {
		begun <- j.ID
		select {
		case <-ctx.Done():
			ended <- context.Cause(ctx)
		case <-time.After(lease * 4 / 3):
			ended <- nil
		}
		return ctx.Err()
	})()
	defer p.cut()
	enqueueJobs(t, s, job("run_1"))
	await(t, "the handler", begun)
	p.falls()
	if err := await(t, "its end", ended); err != nil {
		t.Error(err)
	}
}

// TestStopInSilence: a replica ends also where nothing is heard any more of the connection on which it finds out
// whether notifications arrive.
func TestStopInSilence(t *testing.T) {
	t.Parallel()
	p, s := silentStore(t, Config{})
	p.atUnlisten.Store(true)
	db, err := s.dispatchPool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		p.cut()
		db.Close()
	}()
	heard := make(chan bool, 1)
	go func() {
		is, _ := notifies(t.Context(), db, s.schema)
		heard <- is
	}()
	if !await(t, "whether notifications arrive", heard) {
		t.Error("none arrives: this test shows nothing")
	}
}
