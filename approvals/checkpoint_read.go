package approvals

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// checkpointMark begins every checkpoint in its JSON form.
var checkpointMark = []byte(`{"checkpoint":`)

// ReadCheckpoints finds the checkpoints in a text, such as a file of one on each line or a copy of the messages of a
// channel: what stands before, between and behind them does not matter. It counts what begins as one and cannot be
// read, as when a disk was full in the middle of a line. It does not check them; see Checkpoint.Check.
func ReadCheckpoints(r io.Reader) (all []Checkpoint, unreadable int, err error) {
	for b := bufio.NewReader(r); ; {
		line, err := b.ReadBytes('\n')
		found, bad := checkpointsIn(line)
		all, unreadable = append(all, found...), unreadable+bad
		switch {
		case errors.Is(err, io.EOF):
			return all, unreadable, nil
		case err != nil:
			return nil, 0, fmt.Errorf("read checkpoints: %w", err)
		}
	}
}

// checkpointsIn finds the checkpoints in a line.
func checkpointsIn(line []byte) (all []Checkpoint, unreadable int) {
	for {
		i := bytes.Index(line, checkpointMark)
		if i < 0 {
			return all, unreadable
		}
		line = line[i:]
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		var c Checkpoint
		if err := d.Decode(&c); err != nil {
			unreadable++
			line = line[len(checkpointMark):]
			continue
		}
		all = append(all, c)
		line = line[d.InputOffset():]
	}
}

// MissingCheckpoints counts the checkpoints of which only the next ones tell, which continue them.
func MissingCheckpoints(all []Checkpoint) int {
	there := make(map[[32]byte]bool, len(all))
	for i := range all {
		there[all[i].Sum()] = true
	}
	missing := make(map[[32]byte]bool)
	for _, c := range all {
		if c.Prev != [32]byte{} && !there[c.Prev] {
			missing[c.Prev] = true
		}
	}
	return len(missing)
}
