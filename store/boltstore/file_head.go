package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The head of a bbolt file is written twice, in pages 0 and 1, in turns: the newer of the valid ones counts. This file
// reads it without mapping the file. Numbers are in the byte order of the machine that wrote the file.
const (
	pageHeader  = 16
	headSize    = 64 // without the page's header
	headMagic   = 0xED0CDAED
	headVersion = 2
	minPage     = 1 << 10
	maxPage     = 1 << 24
)

// head says where a version of the file begins and how far it reaches.
type head struct {
	pageSize uint64
	root     uint64 // page of the bucket of buckets
	freelist uint64 // first page of the list of free pages
	high     uint64 // first page that was never used
	txid     uint64
}

var (
	errNoMagic = errors.New("not a bbolt file")
	errVersion = errors.New("unknown version of bbolt's format")
	errHead    = errors.New("head does not match its checksum")
)

// parseHead reads the head from the beginning of its page.
func parseHead(page []byte) (head, error) {
	order := binary.NativeEndian
	b := page[pageHeader:]
	h := head{
		pageSize: uint64(order.Uint32(b[8:])),
		root:     order.Uint64(b[16:]),
		freelist: order.Uint64(b[32:]),
		high:     order.Uint64(b[40:]),
		txid:     order.Uint64(b[48:]),
	}
	sum := fnv.New64a()
	sum.Write(b[:56])
	switch {
	case order.Uint32(b) != headMagic:
		return h, errNoMagic
	case order.Uint32(b[4:]) != headVersion:
		return h, errVersion
	case order.Uint64(b[56:]) != sum.Sum64():
		return h, errHead
	case h.pageSize < minPage || h.pageSize > maxPage || h.pageSize&(h.pageSize-1) != 0:
		return h, fmt.Errorf("page size %d", h.pageSize)
	}
	return h, nil
}

func headAt(r io.ReaderAt, off int64) (head, error) {
	var buf [pageHeader + headSize]byte
	if _, err := r.ReadAt(buf[:], off); err != nil {
		if errors.Is(err, io.EOF) {
			return head{}, errNoMagic
		}
		return head{}, err
	}
	return parseHead(buf[:])
}

// heads are the two copies of a file's head.
type heads struct {
	copies [2]head
	errs   [2]error
}

// readHeads reads both copies. When the first is unreadable, the second is looked for at every possible place.
func readHeads(r io.ReaderAt) heads {
	var h heads
	h.copies[0], h.errs[0] = headAt(r, 0)
	if h.errs[0] == nil {
		h.copies[1], h.errs[1] = headAt(r, int64(h.copies[0].pageSize))
		return h
	}
	for size := int64(minPage); size <= maxPage; size *= 2 {
		second, err := headAt(r, size)
		if err == nil && second.pageSize == uint64(size) {
			h.copies[1], h.errs[1] = second, nil
			return h
		}
		if h.errs[1] == nil || errors.Is(h.errs[1], errNoMagic) {
			h.errs[1] = err
		}
	}
	return h
}

// newest returns the copy that counts. whole is nil when both copies are readable.
func (h heads) newest() (newest head, whole, err error) {
	switch {
	case h.errs[0] != nil && h.errs[1] != nil:
		return head{}, nil, errors.Join(h.errs[0], h.errs[1])
	case h.errs[0] != nil:
		return h.copies[1], h.errs[0], nil
	case h.errs[1] != nil:
		return h.copies[0], h.errs[1], nil
	case h.copies[1].txid > h.copies[0].txid:
		return h.copies[1], nil, nil
	}
	return h.copies[0], nil, nil
}

// foreign reports that no copy looks as if it had ever been one.
func (h heads) foreign() bool {
	return errors.Is(h.errs[0], errNoMagic) && errors.Is(h.errs[1], errNoMagic)
}
