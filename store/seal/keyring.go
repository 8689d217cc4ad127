package seal

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

const (
	// KeySize is the length of a key in bytes.
	KeySize = 32
	// MaxID is the length of the longest id of a key.
	MaxID = 16
	// SaltSize is the length in bytes of a salt for Keyring.Cipher.
	SaltSize = 32
)

var (
	// ErrKeyring is returned by Parse for a text that is no list of keys.
	ErrKeyring = errors.New("unusable keys")
	// ErrNoKey is returned by Keyring.Cipher for an id that the keyring does not have.
	ErrNoKey = errors.New("no key of that id")
)

// Keyring is a list of keys. It is never empty, does not change, and shows nothing but ids when it is printed or
// logged.
type Keyring struct{ keys []key }

type key struct {
	id     string
	secret []byte
}

// Parse reads a list of keys: "id:key,id:key,…". A key is 32 bytes in standard base64; its id is 1 to 16 characters out
// of a-z, 0-9, - and _. Spaces around an entry do not count. Neither an id nor a key may be there twice. Errors wrap
// ErrKeyring and name the place of the entry in the list, from 1, and its id, never a key.
func Parse(text string) (*Keyring, error) {
	r := &Keyring{}
	for i, entry := range strings.Split(text, ",") {
		k, err := parseKey(strings.TrimSpace(entry))
		if err == nil {
			err = r.check(k)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: entry %d%s: %w", ErrKeyring, i+1, k.label(), err)
		}
		r.keys = append(r.keys, k)
	}
	return r, nil
}

// parseKey reads one entry. The key it returns has an id also beside an error, if the id can be used: any other may be
// a part of a key.
func parseKey(entry string) (k key, err error) {
	id, encoded, ok := strings.Cut(entry, ":")
	switch {
	case entry == "":
		return key{}, errors.New("it is empty; write id:key, separated by commas")
	case !ok:
		return key{}, errors.New("it has no id; write id:key")
	case !validID(id):
		return key{}, fmt.Errorf("its id is not 1 to %d characters out of a-z, 0-9, - and _", MaxID)
	}
	k.id = id
	if k.secret, err = base64.StdEncoding.Strict().DecodeString(encoded); err != nil {
		return k, errors.New("its key is not standard base64; openssl rand -base64 32 makes one")
	}
	if len(k.secret) != KeySize {
		return k, fmt.Errorf("its key has %d bytes, and must have %d; openssl rand -base64 32 makes one",
			len(k.secret), KeySize)
	}
	return k, nil
}

func validID(id string) bool {
	odd := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' }
	return id != "" && len(id) <= MaxID && !strings.ContainsFunc(id, odd)
}

// label names the key in an error.
func (k key) label() string {
	if k.id == "" {
		return ""
	}
	return " (" + k.id + ")"
}

// check refuses a key that the keyring has already.
func (r *Keyring) check(k key) error {
	for i, other := range r.keys {
		switch {
		case other.id == k.id:
			return fmt.Errorf("entry %d has the same id", i+1)
		case bytes.Equal(other.secret, k.secret):
			return fmt.Errorf("entry %d (%s) has the same key", i+1, other.id)
		}
	}
	return nil
}

// First returns the id of the key that encrypts.
func (r *Keyring) First() string { return r.keys[0].id }

// IDs returns the ids of all keys, in their order.
func (r *Keyring) IDs() []string {
	ids := make([]string, len(r.keys))
	for i, k := range r.keys {
		ids[i] = k.id
	}
	return ids
}

// Has reports whether the keyring has a key of that id.
func (r *Keyring) Has(id string) bool { return slices.Contains(r.IDs(), id) }

// purpose sets the derived keys apart from any other use of the operator's key.
const purpose = "countersign store AES-256-GCM 1"

// Cipher returns the cipher of a key and a salt, which is SaltSize random bytes and no secret. Errors: ErrNoKey.
func (r *Keyring) Cipher(id string, salt []byte) (*Cipher, error) {
	i := slices.IndexFunc(r.keys, func(k key) bool { return k.id == id })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoKey, id)
	}
	derived, err := hkdf.Key(sha256.New, r.keys[i].secret, salt, purpose, KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return newCipher(derived)
}

// String returns the ids.
func (r *Keyring) String() string { return "keys " + strings.Join(r.IDs(), ", ") }

// Format writes the ids, whatever the verb.
func (r *Keyring) Format(f fmt.State, _ rune) { fmt.Fprint(f, r.String()) }

// LogValue logs the ids.
func (r *Keyring) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalText encodes the ids.
func (r *Keyring) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
