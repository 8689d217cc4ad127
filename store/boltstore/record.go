package boltstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
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

// seal returns the payload as it is stored under the key.
func seal(key, payload []byte) []byte {
	v := make([]byte, sumSize, sumSize+len(payload))
	binary.BigEndian.PutUint32(v, checksum(key, payload))
	return append(v, payload...)
}

// unseal returns the payload of a stored value. It is a part of v, not a copy.
func unseal(key, v []byte) ([]byte, error) {
	if len(v) < sumSize {
		return nil, fmt.Errorf("value of %d bytes", len(v))
	}
	payload := v[sumSize:]
	if binary.BigEndian.Uint32(v) != checksum(key, payload) {
		return nil, errSum
	}
	return payload, nil
}

// encode returns the record as JSON, sealed. Raw JSON within the record keeps its bytes: digests are computed over
// them, so nothing in them may be escaped anew.
func encode(key []byte, record any) ([]byte, error) {
	buf := bytes.NewBuffer(make([]byte, sumSize, 512))
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return nil, err
	}
	v := bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
	binary.BigEndian.PutUint32(v, checksum(key, v[sumSize:]))
	return v, nil
}

// decode reads a record written by encode.
func decode(key, v []byte, record any) error {
	payload, err := unseal(key, v)
	if err != nil {
		return err
	}
	return json.Unmarshal(payload, record)
}
