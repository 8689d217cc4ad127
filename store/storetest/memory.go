package storetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"countersign/approvals"
)

// Memory is the data of a store in memory that keeps every promise in the plainest way: one writer at a time on a copy
// of everything. It says what a store must do, and nothing about how.
type Memory struct {
	writer  sync.Mutex             // held while a transaction writes
	current atomic.Pointer[tables] // replaced, never changed
}

// tables holds the records by kind and key.
type tables map[string]table

type table map[row]json.RawMessage

// row is a key: a workspace and what identifies the record there.
type row struct {
	ws         approvals.WorkspaceID
	a, b, c, d string
	n          uint64
}

func (r row) compare(o row) int {
	return cmp.Or(cmp.Compare(r.ws, o.ws), cmp.Compare(r.a, o.a), cmp.Compare(r.b, o.b), cmp.Compare(r.c, o.c),
		cmp.Compare(r.d, o.d), cmp.Compare(r.n, o.n))
}

// NewMemory returns empty data.
func NewMemory() *Memory { return newMemory(tables{}) }

func newMemory(content tables) *Memory {
	m := new(Memory)
	m.current.Store(&content)
	return m
}

// Open returns a store on the data. One store may be open at a time.
func (m *Memory) Open() approvals.Store {
	return &memoryStore{data: m, wake: make(chan struct{}, 1), running: make(map[row]bool)}
}

// memoryStore is an open store on a Memory.
type memoryStore struct {
	data    *Memory
	wake    chan struct{}
	running map[row]bool // jobs being handled; belongs to the writer

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup
}

func (s *memoryStore) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return approvals.ErrClosed
	}
	s.active.Add(1)
	return nil
}

func (s *memoryStore) View(ctx context.Context, fn func(approvals.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.active.Done()
	t := &memoryTx{store: s, tables: *s.data.current.Load()}
	defer func() { t.ended = true }()
	return fn(t)
}

func (s *memoryStore) Update(ctx context.Context, fn func(approvals.Tx) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.active.Done()
	s.data.writer.Lock()
	defer s.data.writer.Unlock()
	t := &memoryTx{store: s, write: true, tables: maps.Clone(*s.data.current.Load())}
	for kind, rows := range t.tables {
		t.tables[kind] = maps.Clone(rows)
	}
	defer func() { t.ended = true }()
	if err := fn(t); err != nil {
		return err
	}
	s.data.current.Store(&t.tables)
	s.wakeUp()
	return nil
}

func (s *memoryStore) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *memoryStore) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wakeUp() // ends Dispatch
	s.active.Wait()
	return nil
}

// memoryTx is a transaction: a copy of everything.
type memoryTx struct {
	store  *memoryStore
	tables tables
	write  bool
	ended  bool
}

var errMisused = errors.New("transaction cannot do that")

func (t *memoryTx) usable(write bool) error {
	if t.ended || write && !t.write {
		return errMisused
	}
	return nil
}

// get decodes a record.
func (t *memoryTx) get(kind string, at row, record any) error {
	if err := t.usable(false); err != nil {
		return err
	}
	data, ok := t.tables[kind][at]
	if !ok {
		return approvals.ErrNotFound
	}
	return json.Unmarshal(data, record)
}

// put encodes a record. A key needs its workspace and the parts that are named.
func (t *memoryTx) put(kind string, at row, record any, parts ...string) error {
	data, err := marshal(record)
	if err != nil {
		return err
	}
	return t.putRaw(kind, at, data, parts...)
}

func (t *memoryTx) putRaw(kind string, at row, data []byte, parts ...string) error {
	if err := t.usable(true); err != nil {
		return err
	}
	if at.ws == "" || slices.Contains(parts, "") {
		return approvals.ErrInvalid
	}
	if t.tables[kind] == nil {
		t.tables[kind] = table{}
	}
	t.tables[kind][at] = bytes.Clone(data)
	return nil
}

// rows lists the keys of a kind that match, in order.
func (t *memoryTx) rows(kind string, match func(row) bool) []row {
	var list []row
	for r := range t.tables[kind] {
		if match(r) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, row.compare)
	return list
}

// list decodes the records of a kind that match by key and content, in order, at most limit.
func list[T any](t *memoryTx, kind string, limit int, byKey func(row) bool, match func(*T) bool) ([]*T, error) {
	if err := t.usable(false); err != nil {
		return nil, err
	}
	var records []*T
	for _, r := range t.rows(kind, byKey) {
		if len(records) >= limit {
			break
		}
		record := new(T)
		if err := t.get(kind, r, record); err != nil {
			return nil, err
		}
		if match(record) {
			records = append(records, record)
		}
	}
	return records, nil
}

// marshal keeps the bytes of raw JSON within the record.
func marshal(record any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(record)
	return buf.Bytes(), err
}
