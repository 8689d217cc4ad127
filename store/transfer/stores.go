package transfer

import (
	"context"
	"errors"
	"iter"

	"countersign/approvals"
)

var (
	// ErrHalf is returned by whatever opens a store that holds only a part of what is being moved into it.
	ErrHalf = errors.New("store is half of a move that has not ended")
	// ErrInUse is returned when a store is opened to be moved that somebody else has open, and the other way round.
	ErrInUse = errors.New("store is in use")
)

// Source is a store that is read whole. Nobody works on it meanwhile.
type Source interface {
	// View is that of approvals.Store.
	View(ctx context.Context, fn func(approvals.Tx) error) error
	// Records yields the records of the kind whose keys are greater than after (nil: all), in the order of their keys;
	// an error ends them. It holds few of them in memory at a time.
	Records(ctx context.Context, kind Kind, after Key) iter.Seq2[Record, error]
	Close() error
}

// Target is a store into which another one is moved. Nobody else has it open. As a Source it says what it has been
// given so far.
type Target interface {
	Source
	// Mark returns how far the move has come; nil: none has begun.
	Mark(ctx context.Context) (*Mark, error)
	// Empty reports whether the store holds no record at all. What it says of itself does not count.
	Empty(ctx context.Context) (bool, error)
	// Import adds records, none of which is there, and replaces the mark, in one transaction that is durable when it
	// returns. From the first mark on the store is half a store. When it fails, nothing was changed, or all was.
	Import(ctx context.Context, records []Record, m Mark) error
	// Finish takes the mark away: the store is whole, and can be opened.
	Finish(ctx context.Context) error
}

// Mark is how far a move has come.
type Mark struct {
	Version int    `json:"version"` // of the stream
	From    string `json:"from"`    // where the records come from, in words
	// Print tells sources apart, and versions of one: see Print.
	Print string `json:"print"`
	// Kind and After are of the last record that is there; an empty Kind says that none is.
	Kind  Kind `json:"kind,omitempty"`
	After Key  `json:"after,omitempty"`
	// Copied is how many records of each kind are there.
	Copied map[Kind]uint64 `json:"copied,omitempty"`
	// Complete says that all records are there. What is left to do is to compare them.
	Complete bool `json:"complete,omitempty"`
}

// Total returns how many records are there.
func (m *Mark) Total() (n uint64) {
	for _, of := range m.Copied {
		n += of
	}
	return n
}

// How much Pages and Move hold in memory at a time.
const (
	PageRecords = 2000
	PageBytes   = 4 << 20
)

// Pages yields what read returns, one call after the other, until it returns none: read is given the key of the last
// record before, and returns the records behind it, some of them at most.
func Pages(after Key, read func(after Key) ([]Record, error)) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			page, err := read(after)
			if err != nil {
				yield(nil, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
			after = page[len(page)-1].Key()
		}
	}
}
