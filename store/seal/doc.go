// Package seal encrypts the records of a store with keys that the operator keeps outside of it.
//
// A [Keyring] is what the operator gives: keys with ids, of which the first encrypts and all decrypt, so that a key can
// be replaced while records of the old one remain. The keys themselves encrypt nothing. A store draws a random salt
// and asks the keyring for a [Cipher], whose key HKDF-SHA256 derives from the operator's key and the salt: files that
// were made with the same key share no key. A Cipher is AES-256-GCM with random nonces of 96 bits.
package seal
