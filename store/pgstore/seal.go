package pgstore

import (
	"bytes"
	"errors"
	"fmt"

	"countersign/store/seal"
)

// A value of an encrypted store is the number of the key that sealed it, one byte, and what seal.Cipher makes of the
// payload, bound to kind and key of the record, which begins with the workspace. In a plain store it is the payload.
const sealedOverhead = 1 + seal.Overhead

// sealForm begins what a value is bound to. It changes with the meaning of the rest.
const sealForm = 1

// errKeysChanged is returned for a value whose key this store does not know yet: another process has begun to use it.
var errKeysChanged = errors.New("a record is encrypted under a key that was added since")

// overhead is by how much stored values are longer than what they hold.
func (t *tx) overhead() int {
	if t.crypt == nil {
		return 0
	}
	return sealedOverhead
}

// seal returns a payload as it is stored. It is never a part of the payload.
func (t *tx) seal(payload []byte, kind string, key ...string) []byte {
	if t.crypt == nil {
		if payload == nil {
			return []byte{}
		}
		return bytes.Clone(payload)
	}
	v := make([]byte, 1, sealedOverhead+len(payload))
	v[0] = t.crypt.first
	return t.crypt.ciphers[v[0]].Seal(v, payload, bound(kind, key))
}

// open returns what a stored value holds, once it is proven to be what was stored there.
func (t *tx) open(v []byte, kind string, key ...string) ([]byte, error) {
	switch {
	case t.crypt == nil:
		return v, nil
	case len(v) < sealedOverhead:
		return nil, fmt.Errorf("%w: a value of %d bytes", ErrDamaged, len(v))
	case int(v[0]) >= len(t.crypt.ciphers):
		return nil, errKeysChanged
	}
	payload, err := t.crypt.ciphers[v[0]].Open(make([]byte, 0, len(v)-sealedOverhead), v[1:], bound(kind, key))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return payload, nil
}

// bound is what a value is bound to. Parts end with 0x00 0x01, a zero byte within one is 0x00 0xff, so that no two lists
// of parts are the same bytes. The schema it is bound to by the salt in its key.
func bound(kind string, key []string) []byte {
	about := append([]byte{sealForm}, kind...)
	about = append(about, 0)
	for _, part := range key {
		about = append(about, bytes.ReplaceAll([]byte(part), []byte{0}, []byte{0, 0xff})...)
		about = append(about, 0, 1)
	}
	return about
}
