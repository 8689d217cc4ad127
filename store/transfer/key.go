package transfer

import (
	"encoding/binary"
	"encoding/json"
	"slices"
)

// Key names a record among those of its kind. Keys are ordered as lists of strings are, part by part and byte by byte.
type Key []string

// Compare returns -1, 0 or 1.
func (k Key) Compare(other Key) int { return slices.Compare(k, other) }

// number returns a part that is ordered as n is.
func number(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// Number returns what a part says that was made of a number; zero for another.
func Number(part string) uint64 {
	if len(part) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64([]byte(part))
}

// MarshalJSON keeps parts that are no text as they are.
func (k Key) MarshalJSON() ([]byte, error) {
	parts := make([][]byte, len(k))
	for i, p := range k {
		parts[i] = []byte(p)
	}
	return json.Marshal(parts)
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (k *Key) UnmarshalJSON(data []byte) error {
	var parts [][]byte
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	*k = nil
	for _, p := range parts {
		*k = append(*k, string(p))
	}
	return nil
}
