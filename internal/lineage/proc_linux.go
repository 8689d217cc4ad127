package lineage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// hardLimit reads the hard limit of file locks of a process. Everybody may read it, whoever the process belongs to.
func hardLimit(pid int) (uint64, error) {
	const name = "Max file locks"
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok {
			continue
		}
		fields := strings.Fields(rest) // soft, hard, unit
		switch {
		case len(fields) < 2:
		case fields[1] == "unlimited":
			return unlimited, nil
		default:
			return strconv.ParseUint(fields[1], 10, 64)
		}
	}
	return 0, errors.New("the system does not say what the limit of file locks is")
}

// status is what is read of /proc/PID/stat.
type status struct {
	parent int    // zero for the first process of the namespace, and where the parent is outside
	start  uint64 // in hundredths of a second since the system was started
}

func statusOf(pid int) (status, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return status{}, err
	}
	return parseStatus(string(data))
}

// parseStatus reads the line of a process. The name in it is the process's own choice, and may hold anything.
func parseStatus(line string) (status, error) {
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:]) // from the third field on
	const parentField, startField = 4 - 3, 22 - 3
	if len(fields) <= startField {
		return status{}, fmt.Errorf("unreadable status of a process: %d fields", len(fields))
	}
	parent, err := strconv.Atoi(fields[parentField])
	if err != nil {
		return status{}, fmt.Errorf("parent of a process: %w", err)
	}
	start, err := strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return status{}, fmt.Errorf("start of a process: %w", err)
	}
	return status{parent, start}, nil
}

// Bounds of a walk: parents may end while it is under way.
const (
	mostAncestors = 1000
	mostWalks     = 5
)

// ancestorsOf lists the parent of a process, its parent, and so on.
func ancestorsOf(pid int) (all []int, err error) {
	for range mostWalks {
		if all, err = walk(pid); err == nil {
			return all, nil
		}
	}
	return nil, err
}

// walk fails when a process ends on the way; its children then have another parent.
func walk(pid int) ([]int, error) {
	var all []int
	for pid > 1 && len(all) < mostAncestors {
		s, err := statusOf(pid)
		if err != nil {
			return nil, err
		}
		pid = s.parent
		all = append(all, pid)
	}
	return all, nil
}
