package pgstore

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// proxy stands between a store and its server, and cuts a connection at the next COMMIT when it is told to.
type proxy struct {
	addr string
	next atomic.Int32 // what happens to the next COMMIT: pass, or one of the cuts
	cuts atomic.Int32 // how many there were
	// forgets has it pass on nothing of what a session is asked to set, as a pooler does that is told to ignore it.
	forgets atomic.Bool
}

const (
	pass      int32 = iota
	cutBefore       // the server never sees the COMMIT
	cutAfter        // the server carries it out, and its answer is lost
	stopAfter       // the server carries it out, and says that it stops before it has answered
)

// newProxy forwards to a server's Unix socket.
func newProxy(t *testing.T, socket string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &proxy{addr: l.Addr().String()}
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

// message reads one message of the protocol: a type, unless it is the first, a length, and the rest.
func message(r *bufio.Reader, first bool) ([]byte, error) {
	head := make([]byte, 5)
	if first {
		head = head[:4]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	rest := make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)
	_, err := io.ReadFull(r, rest)
	return append(head, rest...), err
}

// requests forwards what the client sends. The COMMIT is a prepared statement: its name is learnt from the Parse.
func (p *proxy) requests(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	var commit []byte // the name
	r := bufio.NewReader(client)
	for first := true; ; first = false {
		m, err := message(r, first)
		if err != nil {
			return
		}
		if first && p.forgets.Load() {
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
			if bytes.Equal(name, commit) && p.next.CompareAndSwap(cutBefore, pass) {
				p.cuts.Add(1)
				return
			}
		}
		if _, err := server.Write(m); err != nil {
			return
		}
	}
}

// answers forwards what the server sends.
func (p *proxy) answers(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	r := bufio.NewReader(server)
	for {
		m, err := message(r, false)
		if err != nil {
			return
		}
		if m[0] == 'C' && bytes.Equal(m[5:], []byte("COMMIT\x00")) {
			stops := p.next.CompareAndSwap(stopAfter, pass)
			if stops {
				client.Write(stopping)
			}
			if stops || p.next.CompareAndSwap(cutAfter, pass) {
				p.cuts.Add(1)
				return
			}
		}
		if _, err := client.Write(m); err != nil {
			return
		}
	}
}

// stopping is what the server says when it is told to stop.
var stopping = must((&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01",
	Message: "terminating connection due to administrator command"}).Encode(nil))

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
	binary.BigEndian.PutUint32(short, uint32(len(short)))
	return short
}
