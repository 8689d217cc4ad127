package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"countersign/agent"
	"countersign/approvals"
)

// Errors of Move about what it was given.
var (
	// ErrNotEmpty is returned when the target holds records that no move has put there.
	ErrNotEmpty = errors.New("the store to move into is not empty")
	// ErrOther is returned when the target is half of another move: from another store, from this one as it was before
	// somebody worked on it, or by another version of the program.
	ErrOther = errors.New("the store to move into is half of another move")
	// ErrDiffers is returned when what has arrived is not what was sent.
	ErrDiffers = errors.New("the stores differ")
	// ErrChanged is returned when somebody has worked on the source meanwhile.
	ErrChanged = errors.New("the store to move has changed meanwhile")
)

// Options configure Move.
type Options struct {
	From string // where the records come from, in words, without secrets: it is kept in the target until the end
	// Progress, if set, is called after each batch.
	Progress func(Progress)
}

// Progress is how far Move has come.
type Progress struct {
	Comparing bool // otherwise it copies
	Kind      Kind
	Records   uint64 // that were copied, by earlier attempts too, or compared
}

// Report is what was moved.
type Report struct {
	Kinds      []Sum
	Workspaces []Trail
	Resumed    uint64 // records that an earlier attempt had moved
}

// Total returns how many records were moved.
func (r *Report) Total() (n uint64) {
	for _, k := range r.Kinds {
		n += k.Records
	}
	return n
}

// Sum is what both stores hold of a kind.
type Sum struct {
	Kind    Kind
	Records uint64
	Digest  agent.Digest // over the forms of all of them, in order
}

// Trail is an audit chain that was recomputed.
type Trail struct {
	Workspace approvals.WorkspaceID
	Entries   uint64
	Head      agent.Digest
}

// Move moves all records of a store into another one, which must be empty or what an earlier Move of the same source
// has left half done; then it compares the two. When it returns without an error the target is whole, and may be used
// instead of the source. After any error, and after a kill, the next Move goes on, unless the error is ErrNotEmpty,
// ErrOther, ErrDiffers or ErrChanged: then the move begins again with an empty target.
func Move(ctx context.Context, from Source, to Target, o Options) (Report, error) {
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	m := &move{Options: o, ctx: ctx, from: from, to: to}
	if err := m.begin(); err != nil {
		return Report{}, err
	}
	report := Report{Resumed: m.mark.Total()}
	if err := m.copy(); err != nil {
		return report, err
	}
	var err error
	if report.Kinds, report.Workspaces, err = m.compare(); err != nil {
		return report, err
	}
	print, err := Print(ctx, from)
	if err == nil && print != m.mark.Print {
		err = ErrChanged
	}
	if err != nil {
		return report, err
	}
	point("transfer.before_finish")
	return report, to.Finish(ctx)
}

// move is one Move under way.
type move struct {
	Options
	ctx  context.Context // of the call of Move
	from Source
	to   Target
	mark Mark
}

// begin finds out whether there is something to go on with, and marks the target.
func (m *move) begin() error {
	mark, err := Begun(m.ctx, m.from, m.to)
	if err != nil {
		return err
	}
	if mark != nil {
		m.mark = *mark
		return nil
	}
	print, err := Print(m.ctx, m.from)
	if err != nil {
		return err
	}
	m.mark = Mark{Version: Version, From: m.Options.From, Print: print, Copied: map[Kind]uint64{}}
	return m.to.Import(m.ctx, nil, m.mark)
}

// Begun returns how far an earlier Move of the source into the target has come; nil: it would begin. It returns
// ErrNotEmpty and ErrOther as Move does, and changes nothing.
func Begun(ctx context.Context, from Source, to Target) (*Mark, error) {
	mark, err := to.Mark(ctx)
	if err != nil {
		return nil, err
	}
	if mark == nil {
		empty, err := to.Empty(ctx)
		if err == nil && !empty {
			err = ErrNotEmpty
		}
		return nil, err
	}
	print, err := Print(ctx, from)
	switch {
	case err != nil:
		return nil, err
	case mark.Version != Version:
		return nil, fmt.Errorf("%w: another version of the program has begun it", ErrOther)
	case mark.Print != print:
		return nil, fmt.Errorf("%w: what is there comes from %s as it was then", ErrOther, mark.From)
	}
	if mark.Copied == nil {
		mark.Copied = map[Kind]uint64{}
	}
	return mark, nil
}

// Print returns a short text that changes with almost everything that is done in a store: it sums up where each audit
// trail ends, and how often a job was enqueued. It is cheap. What it misses, the comparison at the end finds.
func Print(ctx context.Context, s Source) (string, error) {
	sum := sha256.New()
	err := s.View(ctx, func(tx approvals.Tx) error {
		sum.Reset()
		all, err := tx.AuditWorkspaces()
		for _, ws := range all {
			if err != nil {
				break
			}
			var head *approvals.AuditEntry
			if head, err = tx.AuditHead(ws); err == nil {
				sum.Write(Form(Audit{head}))
			} else if errors.Is(err, approvals.ErrNotFound) {
				fmt.Fprintf(sum, "%q", ws)
				err = nil
			}
		}
		return err
	})
	if err != nil {
		return "", err
	}
	for r, err := range s.Records(ctx, KindCounter, nil) {
		if err != nil {
			return "", err
		}
		sum.Write(Form(r))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
