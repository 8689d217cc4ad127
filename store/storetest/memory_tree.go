package storetest

import (
	"encoding/json"
	"hash/fnv"
	"iter"
	"sync"
)

// tree is a sorted map of keys to values that is never changed: put and delete return another tree and share with the
// old one what they did not touch. So a snapshot costs nothing, and a transaction that fails leaves nothing behind. nil
// is the empty tree. (It is a treap: a search tree by key and a heap by rank.)
type tree struct {
	key         string
	value       *value
	rank        uint64
	left, right *tree
}

// value is the content of a record: JSON, or bytes as they were given.
type value struct {
	data   []byte
	decode sync.Once
	record any // what data says; see look
}

// look returns the record, decoded once. It is shared: nobody may change it or hand it out.
func look[T any](v *value) *T {
	v.decode.Do(func() {
		record := new(T)
		if err := json.Unmarshal(v.data, record); err != nil {
			panic(err) // put wrote it
		}
		v.record = record
	})
	return v.record.(*T)
}

func (t *tree) get(key string) *value {
	for t != nil && t.key != key {
		if key < t.key {
			t = t.left
		} else {
			t = t.right
		}
	}
	if t == nil {
		return nil
	}
	return t.value
}

func (t *tree) put(key string, v *value) *tree {
	if t == nil {
		return &tree{key: key, value: v, rank: rank(key)}
	}
	own := *t
	switch {
	case key == t.key:
		own.value = v
	case key < t.key:
		own.left = t.left.put(key, v)
		if up := own.left; up.rank > own.rank { // put made it, so it may be changed
			own.left, up.right = up.right, &own
			return up
		}
	default:
		own.right = t.right.put(key, v)
		if up := own.right; up.rank > own.rank {
			own.right, up.left = up.left, &own
			return up
		}
	}
	return &own
}

func (t *tree) delete(key string) *tree {
	if t.get(key) == nil {
		return t
	}
	if key == t.key {
		return join(t.left, t.right)
	}
	own := *t
	if key < t.key {
		own.left = t.left.delete(key)
	} else {
		own.right = t.right.delete(key)
	}
	return &own
}

// join returns a tree of both; all keys of a come before those of b.
func join(a, b *tree) *tree {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.rank > b.rank:
		own := *a
		own.right = join(a.right, b)
		return &own
	}
	own := *b
	own.left = join(a, b.left)
	return &own
}

// from yields the keys that are not before start, in order.
func (t *tree) from(start string) iter.Seq2[string, *value] {
	return func(yield func(string, *value) bool) { t.walk(start, yield) }
}

func (t *tree) walk(start string, yield func(string, *value) bool) bool {
	if t == nil {
		return true
	}
	if start < t.key && !t.left.walk(start, yield) {
		return false
	}
	if start <= t.key && !yield(t.key, t.value) {
		return false
	}
	return t.right.walk(start, yield)
}

// rank spreads keys evenly, however alike they are.
func rank(key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	return mix(h.Sum64())
}

// mix turns numbers that are close together into numbers that are not.
func mix(n uint64) uint64 {
	n ^= n >> 30
	n *= 0xbf58476d1ce4e5b9
	n ^= n >> 27
	n *= 0x94d049bb133111eb
	return n ^ n>>31
}
