package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"countersign/store/seal"
)

// encryption seals and opens the values of one schema.
type encryption struct {
	ciphers []*seal.Cipher // by the number of their key
	first   byte           // the number of the key that seals
}

// Errors of Open about the keys.
var (
	ErrKeys  = seal.ErrKeys  // the store needs keys that are not given
	ErrPlain = seal.ErrPlain // keys are given for a store that is not encrypted
)

const (
	keyCheck  = "countersign store" // a known text, which tells a wrong key from a damaged record
	checkKind = "encryption"
	maxKeys   = 256 // that one byte tells apart
)

// storeKey is a row of store_keys.
type storeKey struct {
	id          string
	salt, check []byte
}

// queryer is what reads with: a transaction or a pool.
type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func storeKeys(ctx context.Context, q queryer) ([]storeKey, error) {
	rows, err := q.Query(ctx, "select id, salt, check_text from store_keys order by number")
	if err != nil {
		return nil, fmt.Errorf("read the list of keys: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (k storeKey, err error) {
		return k, row.Scan(&k.id, &k.salt, &k.check)
	})
}

// encrypt makes a new schema an encrypted one, if keys are given.
func (s *Store) encrypt(ctx context.Context, tx pgx.Tx) error {
	if s.cfg.Keys == nil {
		return nil
	}
	return s.addKey(ctx, tx, 0)
}

// addKey adds the first of the keys that are given, under a number.
func (s *Store) addKey(ctx context.Context, tx pgx.Tx, number int) error {
	salt := make([]byte, seal.SaltSize)
	rand.Read(salt)
	c, err := s.cfg.Keys.Cipher(s.cfg.Keys.First(), salt)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "insert into store_keys (number, id, salt, check_text) values ($1, $2, $3, $4)",
		number, s.cfg.Keys.First(), salt, c.Seal(nil, []byte(keyCheck), []byte(checkKind)))
	return err
}

// unlock prepares to read the values of a schema that is encrypted, or refuses one that is not, although it should be.
func (s *Store) unlock(ctx context.Context) error {
	keys, err := storeKeys(ctx, s.clicks)
	switch {
	case err != nil:
		return err
	case len(keys) == 0 && s.cfg.Keys != nil && (!s.cfg.moving || s.cfg.half):
		return fmt.Errorf("schema %s: %w, although keys are given: copy it into a schema that is made with them "+
			"(countersign migrate)", s.schema, ErrPlain)
	case len(keys) == 0:
		return nil
	}
	if err := s.useKeys(keys); err != nil {
		return err
	}
	return s.useFirstKey(ctx)
}

// useKeys prepares the ciphers of all keys, or returns the error of ciphersOf.
func (s *Store) useKeys(keys []storeKey) error {
	e, err := ciphersOf(s.schema, keys, s.cfg.Keys)
	if err == nil {
		s.crypt.Store(e)
	}
	return err
}

// ciphersOf makes the ciphers of all keys of a schema out of those that are given. It returns an error that wraps
// ErrKeys unless every one of them is given: a record whose key is missing would otherwise come up only when it is
// read.
func ciphersOf(schema string, keys []storeKey, given *seal.Keyring) (*encryption, error) {
	var missing, wrong []string
	e := &encryption{ciphers: make([]*seal.Cipher, len(keys))}
	for i, k := range keys {
		if given == nil || !given.Has(k.id) {
			missing = append(missing, k.id)
			continue
		}
		c, err := given.Cipher(k.id, k.salt)
		if err != nil {
			return nil, err
		}
		if said, err := c.Open(nil, k.check, []byte(checkKind)); err != nil || string(said) != keyCheck {
			wrong = append(wrong, k.id)
		}
		e.ciphers[i] = c
		if k.id == given.First() {
			e.first = byte(i)
		}
	}
	var parts []string
	if len(missing) > 0 {
		parts = append(parts, "no key with the id "+strings.Join(missing, ", ")+" is given")
	}
	if len(wrong) > 0 {
		parts = append(parts, "the key given as "+strings.Join(wrong, ", ")+
			" is another one than the one of that id which encrypted it")
	}
	if len(parts) > 0 {
		return nil, fmt.Errorf("schema %s: %w: %s", schema, ErrKeys, strings.Join(parts, "; "))
	}
	return e, nil
}

// useFirstKey adds the first of the keys that are given, unless the schema has it: from then on it encrypts.
func (s *Store) useFirstKey(ctx context.Context) error {
	if s.cfg.ReadOnly {
		return nil
	}
	added := false
	var keys []storeKey
	err := pgx.BeginTxFunc(ctx, s.clicks, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) (err error) {
		if _, err = tx.Exec(ctx, "lock table store_keys in exclusive mode"); err != nil {
			return err
		}
		if keys, err = storeKeys(ctx, tx); err != nil {
			return err
		}
		for _, k := range keys {
			if k.id == s.cfg.Keys.First() {
				return nil
			}
		}
		if len(keys) == maxKeys {
			return errors.New("it was encrypted under 256 keys one after the other, and no more fit: copy it into a " +
				"new schema (countersign migrate)")
		}
		added = true
		if err = s.addKey(ctx, tx, len(keys)); err != nil {
			return err
		}
		keys, err = storeKeys(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("schema %s: begin to use a key: %w", s.schema, err)
	}
	if added {
		s.cfg.Logger.Info("the store is encrypted under a new key from now on; what it holds stays under the old one",
			"schema", s.schema, "key", s.cfg.Keys.First())
	}
	return s.useKeys(keys)
}

// reloadKeys takes over the keys that another process has added to those that were known when a transaction began that
// has met one of them. Others may have met it at the same time, and taken it over already.
func (s *Store) reloadKeys(ctx context.Context, known *encryption) error {
	keys, err := storeKeys(ctx, s.clicks)
	if err != nil {
		return err
	}
	if known == nil || len(keys) <= len(known.ciphers) {
		return fmt.Errorf("%w: a record names a key that the store does not list", ErrDamaged)
	}
	return s.useKeys(keys)
}
