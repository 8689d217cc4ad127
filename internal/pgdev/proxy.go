package pgdev

import (
	"bufio"
	"bytes"
	wire "encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Proxy stands between a store and its server, and cuts connections at a COMMIT.
type Proxy struct {
	Addr string
	// Next is what happens to the next COMMIT: Pass, or one of the cuts.
	Next atomic.Int32
	// Every has every nth COMMIT cut, before and after it by turns; 0: none.
	Every atomic.Int32
	// Cuts is how many connections were cut.
	Cuts atomic.Int32
	// Forgets has it pass on nothing of what a session is asked to set, as a pooler does that is told to ignore it.
	Forgets atomic.Bool
	// Silent has it pass on nothing, of new connections either, as where the server's host or the way to it is lost.
	Silent atomic.Bool

	commits atomic.Int32
}

// What happens to a COMMIT.
const (
	Pass       int32 = iota
	CutBefore        // the server never sees it
	CutAfter         // the server carries it out, and its answer is lost
	StopAfter        // the server carries it out, and says that it stops before it has answered
	PanicAfter       // the server carries it out, and says that it has failed to write to its disk, and ends
)

// NewProxy forwards to a server's Unix socket.
func NewProxy(t testing.TB, socket string) *Proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &Proxy{Addr: l.Addr().String()}
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
			go p.requests(client, server)
			go p.answers(client, server)
		}
	}()
	return p
}

// cuts reports whether the COMMIT that is on its way is to be cut before the server sees it.
func (p *Proxy) cuts() bool {
	if every := p.Every.Load(); every > 0 {
		if n := p.commits.Add(1); n%every == 0 {
			p.Next.Store(1 + n/every%2)
		}
	}
	return p.Next.CompareAndSwap(CutBefore, Pass)
}

// message reads one message of the protocol: a type, unless it is the first, a length, and the rest.
func message(r *bufio.Reader, first bool) ([]byte, error) {
	head := make([]byte, 5)
	if first {
		head = head[:4]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	rest := make([]byte, wire.BigEndian.Uint32(head[len(head)-4:])-4)
	_, err := io.ReadFull(r, rest)
	return append(head, rest...), err
}

// requests forwards what the client sends. The COMMIT is a prepared statement: its name is learnt from the Parse.
func (p *Proxy) requests(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	var commit []byte // the name
	r := bufio.NewReader(client)
	for first := true; ; first = false {
		m, err := message(r, first)
		if err != nil {
			return
		}
		if p.Silent.Load() {
			continue
		}
		if first && p.Forgets.Load() {
			m = forgetful(m)
		}
		if !first && m[0] == 'P' {
			if name, query, _ := bytes.Cut(m[5:], []byte{0}); bytes.HasPrefix(query, []byte("commit\x00")) {
				commit = bytes.Clone(name)
			}
		}
		if !first && m[0] == 'B' && commit != nil { // portal, statement
			_, rest, _ := bytes.Cut(m[5:], []byte{0})
			name, _, _ := bytes.Cut(rest, []byte{0})
			if bytes.Equal(name, commit) && p.cuts() {
				p.Cuts.Add(1)
				return
			}
		}
		if _, err := server.Write(m); err != nil {
			return
		}
	}
}

// answers forwards what the server sends.
func (p *Proxy) answers(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	r := bufio.NewReader(server)
	for {
		m, err := message(r, false)
		if err != nil {
			return
		}
		if p.Silent.Load() {
			continue
		}
		if m[0] == 'C' && bytes.Equal(m[5:], []byte("COMMIT\x00")) {
			for how, word := range lastWords {
				if last, err := word.Encode(nil); err == nil && p.Next.CompareAndSwap(how, CutAfter) {
					client.Write(last)
				}
			}
			if p.Next.CompareAndSwap(CutAfter, Pass) {
				p.Cuts.Add(1)
				return
			}
		}
		if _, err := client.Write(m); err != nil {
			return
		}
	}
}

// lastWords are what the server says when it is told to stop, and when the sync of its log fails.
var lastWords = map[int32]*pgproto3.ErrorResponse{
	StopAfter: {Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01",
		Message: "terminating connection due to administrator command"},
	PanicAfter: {Severity: "PANIC", SeverityUnlocalized: "PANIC", Code: "58030",
		Message: `could not fdatasync file "000000010000000000000001": Input/output error`},
}

// forgetful returns the first message of a session without the settings that it asks for.
func forgetful(m []byte) []byte {
	parts := bytes.Split(m[8:len(m)-2], []byte{0})
	short := bytes.Clone(m[:8])
	for i := 0; i+1 < len(parts); i += 2 {
		if name := string(parts[i]); name == "user" || name == "database" {
			short = append(append(append(append(short, parts[i]...), 0), parts[i+1]...), 0)
		}
	}
	short = append(short, 0)
	wire.BigEndian.PutUint32(short, uint32(len(short)))
	return short
}
