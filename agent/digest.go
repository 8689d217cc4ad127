package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
)

// Digest is a SHA-256 sum. There are two kinds, and this file is where they are defined.
//
// The definition digest binds what a tool is: the parts below, in this order, each preceded by its length as eight
// bytes, big endian, so that no two lists of parts share an encoding.
//
//	"countersign.tool/1", kind, name, description, schema as written, version, number of attributes, attributes…
//	"countersign.tool/2", the same, wire form, hosted description, number of fields, fields…, external
//	"countersign.tool/3", the same, number of proposed fields, proposed fields…
//
// Each tool has the first form that holds everything it has. The definition of a call of a hosted MCP server's tool
// also holds that tool as the server listed it:
//
//	"countersign.hosted/1", definition digest of the server, name of the tool, its listed description
//
// The call digest binds a tool's definition and the canonical arguments of one call, encoded the same way; the second
// form is that of calls with preconditions:
//
//	"countersign.call/1", definition digest, canonical arguments
//	"countersign.call/2", definition digest, canonical arguments, number of preconditions, preconditions…
//
// Gates, timeouts and code are not in it: they may change without making a decision stale.
type Digest [sha256.Size]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads 64 hexadecimal digits in lower case.
func (d *Digest) UnmarshalText(text []byte) error {
	var got Digest
	if n, err := hex.Decode(got[:], limit(text, hex.EncodedLen(len(got)))); err != nil || n != len(got) {
		return fmt.Errorf("digest: want %d hexadecimal digits", hex.EncodedLen(len(got)))
	}
	if !bytes.Equal(hex.AppendEncode(nil, got[:]), text) {
		return fmt.Errorf("digest: want %d hexadecimal digits in lower case", hex.EncodedLen(len(got)))
	}
	*d = got
	return nil
}

// limit cuts off what is beyond max, so that a too long text cannot overrun the array it is decoded into.
func limit(text []byte, max int) []byte { return text[:min(len(text), max)] }

// Digest returns the digest of the tool's definition.
func (t Tool) Digest() Digest {
	more := t.Wire != WireFunction || len(t.hosted) > 0 || len(t.Fields) > 0 || t.External
	domain := "countersign.tool/1"
	switch {
	case len(t.Proposed) > 0:
		more, domain = true, "countersign.tool/3"
	case more:
		domain = "countersign.tool/2"
	}
	h := newParts(domain)
	h.add(string(t.kind()))
	h.add(t.Name)
	h.add(t.Description)
	h.add(string(t.Parameters))
	h.add(t.Version)
	h.list(t.Attributes)
	if more {
		h.add(string(t.Wire))
		h.add(string(t.hosted))
		h.list(t.Fields)
		h.add(strconv.FormatBool(t.External))
	}
	if len(t.Proposed) > 0 {
		h.list(t.Proposed)
	}
	return h.sum()
}

// Call returns the digest of a call with canonical arguments of a tool whose definition has the digest d, and with the
// preconditions of the call, if it has any.
func (d Digest) Call(canonical []byte, preconditions ...string) Digest {
	domain := "countersign.call/1"
	if len(preconditions) > 0 {
		domain = "countersign.call/2"
	}
	h := newParts(domain)
	h.add(string(d[:]))
	h.add(string(canonical))
	if len(preconditions) > 0 {
		h.list(preconditions)
	}
	return h.sum()
}

// parts collects a list of texts to be hashed, each preceded by its length, under a name for the kind of list.
type parts struct{ text []byte }

func newParts(domain string) *parts {
	p := &parts{make([]byte, 0, 512)}
	p.add(domain)
	return p
}

func (p *parts) count(n int) { p.text = binary.BigEndian.AppendUint64(p.text, uint64(n)) }

func (p *parts) list(texts []string) {
	p.count(len(texts))
	for _, s := range texts {
		p.add(s)
	}
}

func (p *parts) add(s string) {
	p.count(len(s))
	p.text = append(p.text, s...)
}

func (p *parts) sum() Digest { return sha256.Sum256(p.text) }
