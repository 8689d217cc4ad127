package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
)

// Overhead is by how many bytes a ciphertext is longer than its plaintext: the nonce and the tag.
const Overhead = 12 + 16

// ErrOpen is returned by Cipher.Open for a ciphertext that was not made by this cipher with this additional data.
var ErrOpen = errors.New("it cannot be decrypted: it is damaged, was tampered with, or belongs elsewhere")

// Cipher encrypts and authenticates with one derived key. It is safe for concurrent use. Nonces are random, so one
// cipher should encrypt no more than 2³² plaintexts.
type Cipher struct{ aead cipher.AEAD }

func newCipher(key []byte) (*Cipher, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	return &Cipher{aead}, nil
}

// Seal appends to dst the plaintext, encrypted and bound to the additional data, which is not stored: Open needs the
// same. The plaintext must not overlap what dst has room for.
func (c *Cipher) Seal(dst, plaintext, additional []byte) []byte {
	return c.aead.Seal(dst, nil, plaintext, additional)
}

// Open appends to dst the plaintext of what Seal has made. The ciphertext must not overlap what dst has room for.
// Errors: ErrOpen, and then dst is unchanged up to its length.
func (c *Cipher) Open(dst, ciphertext, additional []byte) ([]byte, error) {
	plaintext, err := c.aead.Open(dst, nil, ciphertext, additional)
	if err != nil {
		return dst, ErrOpen
	}
	return plaintext, nil
}
