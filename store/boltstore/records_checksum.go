package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// sumSize is the length of the checksum in front of every value.
const sumSize = 4

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errSum     = errors.New("checksum mismatch")
)

// checksum binds a value to its key: bbolt has no checksums of its own for what it stores.
func checksum(key, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, payload)
}

// withChecksum returns the payload as it is stored under the key.
func withChecksum(key, payload []byte) []byte {
	v := make([]byte, sumSize, sumSize+len(payload))
	binary.BigEndian.PutUint32(v, checksum(key, payload))
	return append(v, payload...)
}

// cutChecksum returns the payload of a stored value. It is a part of v, not a copy.
func cutChecksum(key, v []byte) ([]byte, error) {
	if len(v) < sumSize {
		return nil, fmt.Errorf("value of %d bytes", len(v))
	}
	payload := v[sumSize:]
	if binary.BigEndian.Uint32(v) != checksum(key, payload) {
		return nil, errSum
	}
	return payload, nil
}

// appendWithChecksum appends the record that p points to as it is stored under the key.
func appendWithChecksum(b, key []byte, p any) []byte {
	start := len(b)
	b = appendRecord(append(b, make([]byte, sumSize)...), p)
	v := b[start:]
	binary.BigEndian.PutUint32(v, checksum(key, v[sumSize:]))
	return b
}
