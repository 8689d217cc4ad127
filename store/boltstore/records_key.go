package boltstore

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"

	"countersign/approvals"
)

// Parts of a key end with endPart. A zero byte within a part is written as escZero, so that keys compare exactly as
// the lists of their parts do, and no choice of ids makes one key a prefix of another's part.
var (
	endPart = []byte{0x00, 0x01}
	escZero = []byte{0x00, 0xff}
)

// key joins parts to a key.
func key(parts ...string) []byte {
	n := 0
	for _, p := range parts {
		n += len(p) + len(endPart)
	}
	k := make([]byte, 0, n+8) // room for a number
	for _, p := range parts {
		k = appendPart(k, p)
	}
	return k
}

func appendPart(k []byte, part string) []byte {
	for i := 0; i < len(part); i++ {
		if part[i] == 0 {
			k = append(k, escZero...)
			continue
		}
		k = append(k, part[i])
	}
	return append(k, endPart...)
}

// behind returns the least key that is greater than all that begin with k, a key made of parts.
func behind(k []byte) []byte {
	past := bytes.Clone(k)
	past[len(past)-1]++ // of endPart
	return past
}

// cutPart splits off the first part; ok is false when k does not start with one.
func cutPart(k []byte) (part string, rest []byte, ok bool) {
	i := bytes.Index(k, endPart)
	if i < 0 {
		return "", nil, false
	}
	return unescaped(k[:i]), k[i+len(endPart):], true
}

// unescaped is the part that is written so.
func unescaped(written []byte) string {
	if bytes.IndexByte(written, 0) < 0 {
		return string(written)
	}
	return string(bytes.ReplaceAll(written, escZero, []byte{0}))
}

// countParts returns of how many parts a key is made.
func countParts(k []byte) int { return bytes.Count(k, endPart) }

// lastPart returns the last part of a key made of parts alone.
func lastPart(k []byte) string {
	k, ok := bytes.CutSuffix(k, endPart)
	if !ok {
		return ""
	}
	if before := bytes.LastIndex(k, endPart); before >= 0 {
		k = k[before+len(endPart):]
	}
	return unescaped(k)
}

// numberSize is how many bytes appendNumber appends.
const numberSize = 8

// appendNumber appends n so that keys compare as numbers do.
func appendNumber(k []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(k, n) }

// placeKey identifies a conversation. Place.Direct describes the channel and is no part of its identity.
func placeKey(ws approvals.WorkspaceID, p approvals.Place) []byte {
	return key(string(ws), p.Surface, p.Channel, p.Thread)
}

var (
	firstInstant = time.Unix(0, 0)
	lastInstant  = time.Unix(0, math.MaxInt64)
)

// instant returns t in nanoseconds since 1970, moved into the range that can be told apart.
func instant(t time.Time) uint64 {
	switch {
	case t.Before(firstInstant):
		return 0
	case t.After(lastInstant):
		return math.MaxInt64
	}
	return uint64(t.UnixNano())
}

// number is the inverse of appendNumber.
func number(b []byte) uint64 { return binary.BigEndian.Uint64(b) }

// timeOf is the inverse of appendNumber and instant.
func timeOf(b []byte) time.Time { return time.Unix(0, int64(number(b))) }
