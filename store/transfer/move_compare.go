package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"

	"countersign/agent"
)

// compare holds what has arrived against what was sent, record for record, and recomputes the audit chains of what has
// arrived.
func (m *move) compare() (sums []Sum, trails []Trail, err error) {
	var chain chain
	var total uint64
	for _, kind := range Kinds() {
		sum, err := m.compareKind(kind, &chain, total)
		if err != nil {
			return sums, nil, fmt.Errorf("compare %s: %w", kind, err)
		}
		sums, total = append(sums, sum), total+sum.Records
	}
	return sums, chain.trails, nil
}

func (m *move) compareKind(kind Kind, chain *chain, before uint64) (Sum, error) {
	theirs, stop := iter.Pull2(m.to.Records(m.ctx, kind, nil))
	defer stop()
	hash := sha256.New()
	sum := Sum{Kind: kind}
	for sent, err := range m.from.Records(m.ctx, kind, nil) {
		if err != nil {
			return sum, err
		}
		arrived, err, more := theirs()
		if err != nil {
			return sum, err
		}
		if !more {
			return sum, fmt.Errorf("%w: %s is missing", ErrDiffers, name(sent))
		}
		form := Form(arrived)
		if err := match(sent, arrived, form); err != nil {
			return sum, err
		}
		if e, ok := arrived.(Audit); ok {
			if err := chain.add(e.AuditEntry, false); err != nil {
				return sum, err
			}
		}
		hash.Write(binary.AppendUvarint(nil, uint64(len(form))))
		hash.Write(form)
		if sum.Records++; sum.Records%PageRecords == 0 {
			m.Progress(Progress{Comparing: true, Kind: kind, Records: before + sum.Records})
		}
	}
	arrived, err, more := theirs()
	switch {
	case err != nil:
		return sum, err
	case more:
		return sum, fmt.Errorf("%w: %s is there, and was not sent", ErrDiffers, name(arrived))
	}
	sum.Digest = agent.Digest(hash.Sum(nil))
	return sum, m.ctx.Err()
}

// match compares a record with the one that should be the same.
func match(sent, arrived Record, form []byte) error {
	if !bytes.Equal(Form(sent), form) {
		if sent.Key().Compare(arrived.Key()) != 0 {
			return fmt.Errorf("%w: %s was sent, and %s is in its place", ErrDiffers, name(sent), name(arrived))
		}
		return fmt.Errorf("%w: %s is not as it was sent", ErrDiffers, name(sent))
	}
	return nil
}

// name says which record it is. Numbers are told from text by their length and their first byte.
func name(r Record) string {
	var parts []string
	for _, p := range r.Key() {
		if n := Number(p); n > 0 && p[0] == 0 || p == number(0) {
			p = fmt.Sprint(n)
		}
		parts = append(parts, fmt.Sprintf("%q", p))
	}
	return fmt.Sprintf("%s %s", r.Kind(), strings.Join(parts, " "))
}
