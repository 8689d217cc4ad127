package boltstore

import (
	"bytes"
	"errors"
	"fmt"

	"countersign/store/seal"
)

// A stored value begins with what proves that it belongs where it is. In a plain file that is a checksum, see
// records_checksum.go. In an encrypted file a value is the number of the key that encrypted it, one byte, and what
// seal.Cipher makes of the payload. The values of the bucket meta are plain in every file: they say how to read the
// others.
const cipherOverhead = 1 + seal.Overhead

// encryption encrypts and decrypts the values of one file. It does not change while the store is open.
type encryption struct {
	ciphers []*seal.Cipher // by the number of their key; see fileKeys
	first   byte           // the number of the key that encrypts
	file    *fileKeys
}

// errCipherNumber is what is wrong with a value whose key the file does not list.
var errCipherNumber = errors.New("it names no key of the file: it is damaged or was tampered with")

// encrypts reports whether the view reads and writes the values of the bucket encrypted.
func (t *tx) encrypts(bucket []byte) bool {
	return t.crypt != nil && string(bucket) != string(bucketMeta)
}

// overhead is by how much the stored values of a bucket are longer than what they hold.
func (t *tx) overhead(bucket []byte) int {
	if t.encrypts(bucket) {
		return cipherOverhead
	}
	return sumSize
}

// seal returns the payload as it is stored under the key.
func (t *tx) seal(bucket, k, payload []byte) []byte {
	if !t.encrypts(bucket) {
		return withChecksum(k, payload)
	}
	v := make([]byte, 1, cipherOverhead+len(payload))
	v[0] = t.crypt.first
	return t.crypt.ciphers[v[0]].Seal(v, payload, t.bound(bucket, k))
}

// payload returns what a stored value holds, once it is proven to be what was stored under this key. It is a part of v,
// or of the view's buffer, which the view's next record overwrites.
func (t *tx) payload(bucket, k, v []byte) ([]byte, error) {
	if !t.encrypts(bucket) {
		return cutChecksum(k, v)
	}
	payload, err := t.decrypt(t.buf[:0], bucket, k, v)
	if err == nil {
		t.buf = payload
	}
	return payload, err
}

// copied is payload in memory of its own.
func (t *tx) copied(bucket, k, v []byte) ([]byte, error) {
	if t.encrypts(bucket) {
		return t.decrypt(make([]byte, 0, max(len(v)-cipherOverhead, 0)), bucket, k, v)
	}
	payload, err := cutChecksum(k, v)
	return bytes.Clone(payload), err
}

func (t *tx) decrypt(room, bucket, k, v []byte) ([]byte, error) {
	switch {
	case len(v) < cipherOverhead:
		return nil, fmt.Errorf("value of %d bytes", len(v))
	case int(v[0]) >= len(t.crypt.ciphers):
		return nil, errCipherNumber
	}
	return t.crypt.ciphers[v[0]].Open(room, v[1:], t.bound(bucket, k))
}

// bound is what a value is bound to: the form of the records, the bucket, and the key, which begins with the workspace.
// The file it is bound to by the salt in its key. A bucket's name has no zero byte.
func (t *tx) bound(bucket, k []byte) []byte {
	t.about = append(t.about[:0], formatEncrypted)
	t.about = append(t.about, bucket...)
	t.about = append(t.about, 0)
	t.about = append(t.about, k...)
	return t.about
}
