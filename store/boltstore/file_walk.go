package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"time"
)

// Kinds of pages, and the flag of a leaf's element that holds a bucket.
const (
	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageFreelist = 0x10

	elemBucket = 0x01
	elemSize   = 16

	noFreelist = ^uint64(0)
	maxDepth   = 40
)

// walker checks the structure of a bbolt file by reading it: unlike bbolt, which trusts what it maps, it survives any
// content, and it notices trees that run in circles, on which bbolt would exhaust the stack and end the process.
//
// Without leaves it reads only the pages that point to others. With them it reads everything and hands every entry to
// entry.
type walker struct {
	r        io.ReaderAt
	head     head
	deadline time.Time // when not zero, what the trees hold that is unread by then is left unchecked
	leaves   bool
	entry    func(bucket, k, v []byte) error

	free, seen bitset
	pages      uint64 // read so far
}

// subtree is a page to visit and what must hold for it.
type subtree struct {
	page      uint64
	bucket    []byte // nil: the bucket of buckets
	depth     int
	low, high []byte // keys are at least low and less than high; nil: no bound
	skip      bool   // known to be a leaf: nothing to follow there
}

// walk checks the list of free pages in any case, and the trees until the deadline.
func (w *walker) walk() error {
	w.free, w.seen = newBitset(w.head.high), newBitset(w.head.high)
	if err := w.freelist(); err != nil {
		return err
	}
	stack := []subtree{{page: w.head.root}}
	for len(stack) > 0 && !w.late() {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		children, err := w.visit(top)
		if err != nil {
			return err
		}
		stack = append(stack, children...)
	}
	return nil
}

// late reports whether the deadline has passed. It looks at the clock once for many pages.
func (w *walker) late() bool {
	return !w.deadline.IsZero() && w.pages%64 == 0 && time.Now().After(w.deadline)
}

// read returns a page with its overflow.
func (w *walker) read(id uint64) ([]byte, error) {
	w.pages++
	size := w.head.pageSize
	buf := make([]byte, size)
	if _, err := w.r.ReadAt(buf, int64(id*size)); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	if got := binary.NativeEndian.Uint64(buf); got != id {
		return nil, fmt.Errorf("page %d says it is page %d", id, got)
	}
	overflow := uint64(binary.NativeEndian.Uint32(buf[12:]))
	if overflow == 0 {
		return buf, nil
	}
	if overflow >= w.head.high-id {
		return nil, fmt.Errorf("page %d reaches beyond the end", id)
	}
	buf = append(buf, make([]byte, overflow*size)...)
	if _, err := w.r.ReadAt(buf[size:], int64((id+1)*size)); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return buf, nil
}

func pageFlags(page []byte) uint16 { return binary.NativeEndian.Uint16(page[8:]) }
func pageCount(page []byte) int    { return int(binary.NativeEndian.Uint16(page[10:])) }

// use notes that a page is part of a tree.
func (w *walker) use(id uint64) error {
	switch {
	case id < 2 || id >= w.head.high:
		return fmt.Errorf("page %d does not exist", id)
	case w.free.has(id):
		return fmt.Errorf("page %d is in use and free", id)
	case !w.seen.add(id):
		return fmt.Errorf("page %d is used twice", id)
	}
	return nil
}

// freelist reads the list of free pages: a wrong entry would let a later write destroy what is in use.
func (w *walker) freelist() error {
	id := w.head.freelist
	if id == noFreelist {
		return errors.New("the list of free pages is missing")
	}
	if err := w.use(id); err != nil {
		return err
	}
	page, err := w.read(id)
	if err != nil {
		return err
	}
	if pageFlags(page) != pageFreelist {
		return fmt.Errorf("page %d is not the list of free pages", id)
	}
	if err := w.useOverflow(id, page); err != nil {
		return err
	}
	list, count := page[pageHeader:], uint64(pageCount(page))
	if count == 0xffff {
		count, list = binary.NativeEndian.Uint64(list), list[8:]
	}
	if count > uint64(len(list))/8 {
		return fmt.Errorf("page %d: %d free pages do not fit", id, count)
	}
	return w.freePages(list[:count*8])
}

func (w *walker) freePages(list []byte) error {
	var before uint64
	for ; len(list) > 0; list = list[8:] {
		free := binary.NativeEndian.Uint64(list)
		if free < 2 || free >= w.head.high || free <= before || w.seen.has(free) {
			return fmt.Errorf("free page %d is out of order, in use or does not exist", free)
		}
		w.free.add(free)
		before = free
	}
	return nil
}

func (w *walker) useOverflow(id uint64, page []byte) error {
	for i := uint64(1); i < uint64(len(page))/w.head.pageSize; i++ {
		if err := w.use(id + i); err != nil {
			return err
		}
	}
	return nil
}

// visit checks a page and returns the subtrees below it.
func (w *walker) visit(s subtree) ([]subtree, error) {
	if err := w.use(s.page); err != nil {
		return nil, err
	}
	if s.depth > maxDepth {
		return nil, fmt.Errorf("page %d lies too deep", s.page)
	}
	if s.skip {
		return nil, nil
	}
	page, err := w.read(s.page)
	if err != nil {
		return nil, err
	}
	if err := w.useOverflow(s.page, page); err != nil {
		return nil, err
	}
	var children []subtree
	switch pageFlags(page) {
	case pageBranch:
		children, err = w.branch(s, page)
	case pageLeaf:
		children, err = w.leaf(s, page)
	default:
		err = fmt.Errorf("unexpected kind %#x", pageFlags(page))
	}
	if err != nil {
		return nil, fmt.Errorf("page %d: %w", s.page, err)
	}
	return children, nil
}

// element is an entry of a page.
type element struct {
	flags uint32
	page  uint64 // of branches
	k, v  []byte
	start int // of its key within the page; its value follows
}

// parse returns element i of a page.
func parse(page []byte, leaf bool, i int) (element, error) {
	off := pageHeader + i*elemSize
	if off+elemSize > len(page) {
		return element{}, fmt.Errorf("entry %d lies outside", i)
	}
	order, b := binary.NativeEndian, page[off:]
	var e element
	var pos, ksize, vsize uint64
	if leaf {
		e.flags, pos = order.Uint32(b), uint64(order.Uint32(b[4:]))
		ksize, vsize = uint64(order.Uint32(b[8:])), uint64(order.Uint32(b[12:]))
	} else {
		pos, ksize, e.page = uint64(order.Uint32(b)), uint64(order.Uint32(b[4:])), order.Uint64(b[8:])
	}
	if pos < elemSize || pos+ksize+vsize > uint64(len(b)) {
		return element{}, fmt.Errorf("entry %d lies outside", i)
	}
	e.start = off + int(pos)
	e.k, e.v = b[pos:pos+ksize], b[pos+ksize:pos+ksize+vsize]
	return e, nil
}

// elements returns the entries of a page in order, within the bounds of s.
func elements(s subtree, page []byte, leaf bool) ([]element, error) {
	list := make([]element, 0, pageCount(page))
	before := s.low
	// bbolt writes the contents without a gap behind the table of entries: with a wrong count, the first does not
	// begin where the table ends.
	next := pageHeader + pageCount(page)*elemSize
	for i := range pageCount(page) {
		e, err := parse(page, leaf, i)
		if err != nil {
			return nil, err
		}
		if e.start != next {
			return nil, fmt.Errorf("entry %d begins at byte %d, not %d", i, e.start, next)
		}
		next += len(e.k) + len(e.v)
		order := bytes.Compare(before, e.k)
		if before != nil && (order > 0 || order == 0 && i > 0) || s.high != nil && bytes.Compare(e.k, s.high) >= 0 {
			return nil, fmt.Errorf("key of entry %d is out of order", i)
		}
		before = e.k
		list = append(list, e)
	}
	return list, nil
}

func (w *walker) branch(s subtree, page []byte) ([]subtree, error) {
	list, err := elements(s, page, false)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("no entries")
	}
	skip := false
	if !w.leaves && s.bucket != nil { // buckets lie in the leaves of the first tree
		if skip, err = w.isLeaf(list[0].page); err != nil {
			return nil, err
		}
	}
	children := make([]subtree, len(list))
	for i, e := range list {
		high := s.high
		if i+1 < len(list) {
			high = list[i+1].k
		}
		children[i] = subtree{page: e.page, bucket: s.bucket, depth: s.depth + 1, low: e.k, high: high, skip: skip}
	}
	return children, nil
}

// isLeaf looks at one child of a branch: all are of one kind.
func (w *walker) isLeaf(id uint64) (bool, error) {
	if id < 2 || id >= w.head.high {
		return false, fmt.Errorf("page %d does not exist", id)
	}
	var buf [pageHeader]byte
	if _, err := w.r.ReadAt(buf[:], int64(id*w.head.pageSize)); err != nil {
		return false, err
	}
	return pageFlags(buf[:]) == pageLeaf, nil
}

func (w *walker) leaf(s subtree, page []byte) ([]subtree, error) {
	list, err := elements(s, page, true)
	if err != nil {
		return nil, err
	}
	if below := s.depth > 1 || s.bucket == nil && s.depth > 0; below && len(list) == 0 {
		return nil, errors.New("no entries")
	}
	var children []subtree
	for i, e := range list {
		switch {
		case (e.flags&elemBucket != 0) != (s.bucket == nil):
			return nil, fmt.Errorf("entry %d is of the wrong kind", i)
		case s.bucket == nil:
			child, err := w.bucket(e)
			if err != nil {
				return nil, fmt.Errorf("bucket %q: %w", e.k, err)
			}
			children = append(children, child...)
		case w.entry != nil:
			if err := w.entry(s.bucket, e.k, e.v); err != nil {
				return nil, err
			}
		}
	}
	return children, nil
}

// bucket returns the tree of a bucket. The tree of a small one lies in the entry itself.
func (w *walker) bucket(e element) ([]subtree, error) {
	if len(e.v) < elemSize {
		return nil, errors.New("too short")
	}
	root := binary.NativeEndian.Uint64(e.v)
	s := subtree{page: root, bucket: e.k, depth: 1}
	if root != 0 {
		return []subtree{s}, nil
	}
	page := e.v[elemSize:]
	if len(page) < pageHeader || pageFlags(page) != pageLeaf {
		return nil, errors.New("no page within")
	}
	return w.leaf(s, page)
}

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n uint64) bitset { return make(bitset, n/64+1) }

func (b bitset) has(n uint64) bool { return b[n/64]&(1<<(n%64)) != 0 }

// add reports whether n was new.
func (b bitset) add(n uint64) bool {
	if b.has(n) {
		return false
	}
	b[n/64] |= 1 << (n % 64)
	return true
}

// count returns how many numbers are in the set.
func (b bitset) count() (n uint64) {
	for _, word := range b {
		n += uint64(bits.OnesCount64(word))
	}
	return n
}
