package boltstore

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/store/seal"
)

// fileKeys is the record of the bucket meta that says which keys an encrypted file needs. A value names its key by its
// place in the list. Keys are added at the end; those that nothing needs any more go when the file is compacted.
type fileKeys struct {
	Keys []fileKey `json:"keys"`
}

// fileKey is one of the keys: its id in the operator's keyring, the salt from which the file's own key is derived, and
// a known text encrypted with it, which tells a wrong key from a damaged record.
type fileKey struct {
	ID    string `json:"id"`
	Salt  []byte `json:"salt"`
	Check []byte `json:"check"`
}

// maxFileKeys is how many keys the number in front of a value can tell apart.
const maxFileKeys = 256

// keyCheck is the known text.
const keyCheck = "countersign store"

// encryptionKey is where fileKeys lies. It is there if and only if the file is encrypted.
var encryptionKey = []byte("encryption")

var (
	// ErrKeys is wrapped by KeyError.
	ErrKeys = seal.ErrKeys
	// ErrPlain is returned by Open when keys are given for a file that is not encrypted.
	ErrPlain = seal.ErrPlain
)

// KeyError is returned by Open when an encrypted file needs keys that Config.Keys does not have. It wraps ErrKeys.
type KeyError struct {
	Path    string
	Missing []string // ids of keys that the file needs and the keyring lacks
	Wrong   []string // ids for which the keyring has another key than the one that encrypted the file
}

// Error says which keys are missing or wrong.
func (e *KeyError) Error() string {
	var parts []string
	if len(e.Missing) > 0 {
		parts = append(parts, "no key with the id "+strings.Join(e.Missing, ", ")+" is given")
	}
	if len(e.Wrong) > 0 {
		parts = append(parts, "the key given as "+strings.Join(e.Wrong, ", ")+
			" is another one than the one of that id which encrypted the file")
	}
	return fmt.Sprintf("open store %s: it is encrypted: %s", e.Path, strings.Join(parts, "; "))
}

// Unwrap returns ErrKeys.
func (e *KeyError) Unwrap() error { return ErrKeys }

// fits reports whether the cipher is the one that the entry was made with.
func (k *fileKey) fits(c *seal.Cipher) bool {
	text, err := c.Open(nil, k.Check, encryptionKey)
	return err == nil && string(text) == keyCheck
}

// ciphers returns the ciphers of all the file's keys. It returns a *KeyError unless the keyring has every one of them:
// a record whose key is missing would otherwise come up only when it is read. The keyring may be nil.
func (f *fileKeys) ciphers(path string, keys *seal.Keyring) ([]*seal.Cipher, error) {
	wrong := &KeyError{Path: path}
	list := make([]*seal.Cipher, len(f.Keys))
	for i := range f.Keys {
		k := &f.Keys[i]
		if keys == nil || !keys.Has(k.ID) {
			wrong.Missing = append(wrong.Missing, k.ID)
			continue
		}
		c, err := keys.Cipher(k.ID, k.Salt)
		if err != nil {
			return nil, fmt.Errorf("open store %s: %w", path, err)
		}
		if !k.fits(c) {
			wrong.Wrong = append(wrong.Wrong, k.ID)
		}
		list[i] = c
	}
	if len(wrong.Missing)+len(wrong.Wrong) > 0 {
		return nil, wrong
	}
	return list, nil
}

// fileKeys reads the record.
func (t *tx) fileKeys() (*fileKeys, error) {
	f := new(fileKeys)
	v := t.value(bucketMeta, encryptionKey)
	if v == nil {
		return nil, t.damaged(errors.New("the record of its keys is missing"))
	}
	if err := t.decode(bucketMeta, encryptionKey, v, f); err != nil {
		return nil, err
	}
	if len(f.Keys) == 0 || len(f.Keys) > maxFileKeys {
		return nil, t.damaged(fmt.Errorf("it lists %d keys", len(f.Keys)))
	}
	return f, nil
}

// unlock prepares to read the values of a file that is encrypted, or refuses one that is not, although it should be.
func (s *Store) unlock(t *tx, has found) (err error) {
	defer t.end(t.begin(), &err)
	switch {
	case has.version == 0:
		return nil
	case !has.encrypted && s.cfg.Keys != nil && !s.cfg.compacting:
		return fmt.Errorf("open store %s: %w, although keys are given: run \"countersign compact\" once with the same "+
			"keys, which encrypts all of it", s.path, ErrPlain)
	case !has.encrypted:
		return nil
	}
	f, err := t.fileKeys()
	if err != nil {
		return err
	}
	ciphers, err := f.ciphers(s.path, s.cfg.Keys)
	if err != nil {
		return err
	}
	s.crypt = &encryption{ciphers: ciphers, first: byte(max(f.find(s.cfg.Keys.First()), 0)), file: f}
	return nil
}

// encrypt makes a new file an encrypted one.
func (s *Store) encrypt(t *tx) error {
	f := new(fileKeys)
	c, err := f.add(s.cfg.Keys)
	if err != nil {
		return err
	}
	if err := t.putFileKeys(f); err != nil {
		return err
	}
	s.crypt = &encryption{ciphers: []*seal.Cipher{c}, file: f}
	return nil
}

// useFirstKey adds the first key of the keyring to the file, unless the file has it: from then on it encrypts.
func (s *Store) useFirstKey() error {
	if s.crypt == nil || s.cfg.ReadOnly || s.cfg.compacting || s.crypt.file.find(s.cfg.Keys.First()) >= 0 {
		return nil
	}
	if len(s.crypt.file.Keys) == maxFileKeys {
		return fmt.Errorf("open store %s: it was encrypted under %d keys one after the other, and no more fit: "+
			"run \"countersign compact\", with all of them given", s.path, maxFileKeys)
	}
	f := &fileKeys{Keys: slices.Clone(s.crypt.file.Keys)}
	c, err := f.add(s.cfg.Keys)
	if err != nil {
		return err
	}
	if err := s.change(func(t *tx) error { return t.putFileKeys(f) }); err != nil {
		return err
	}
	s.crypt = &encryption{ciphers: append(s.crypt.ciphers, c), first: byte(len(f.Keys) - 1), file: f}
	s.cfg.Logger.Info("the store file is encrypted under a new key from now on; what it holds stays under the old one "+
		"until it is compacted", "path", s.path, "key", s.cfg.Keys.First())
	return nil
}

// add adds the first key of the keyring.
func (f *fileKeys) add(keys *seal.Keyring) (*seal.Cipher, error) {
	salt := make([]byte, seal.SaltSize)
	rand.Read(salt)
	c, err := keys.Cipher(keys.First(), salt)
	if err != nil {
		return nil, err
	}
	check := c.Seal(nil, []byte(keyCheck), encryptionKey)
	f.Keys = append(f.Keys, fileKey{ID: keys.First(), Salt: salt, Check: check})
	return c, nil
}

func (t *tx) putFileKeys(f *fileKeys) error { return t.put(bucketMeta, encryptionKey, f) }

// find returns the place of the newest entry of a key, or -1.
func (f *fileKeys) find(id string) int {
	for i, k := range slices.Backward(f.Keys) {
		if k.ID == id {
			return i
		}
	}
	return -1
}
