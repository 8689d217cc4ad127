// Package filepages gives back memory that only the start of the program needed.
package filepages

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Release takes the program's file out of the memory of this process: its code and the tables that are only read. What
// runs on comes back page by page, from the memory in which the system keeps files. Most of what was there is code of
// initialisation and what lies around it, which nobody needs again: docs/adr/0059 has the figures.
//
// A part in which something was changed stays whole, as what was changed is nowhere else: breakpoints of a debugger,
// addresses that a dynamic linker has filled in. An error means that less was given back, or nothing; the program runs
// on as it did.
func Release() error {
	all, err := mappings()
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.changed > 0 {
			continue
		}
		_, _, errno := syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
		if errno != 0 {
			return fmt.Errorf("madvise: %w", errno)
		}
	}
	return nil
}

// mapping is a part of the address space.
type mapping struct {
	from, to uintptr
	resident int // kB that are in memory
	changed  int // kB that are not as they are in the file
}

// mappings returns where the program's file is mapped and cannot be written to (proc(5), /proc/pid/smaps).
func mappings() ([]mapping, error) {
	file, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	var all []mapping
	var m *mapping // of which the lines tell; nil: of none that counts
	for line := range strings.Lines(string(smaps)) {
		line = strings.TrimSuffix(line, "\n")
		first, rest, _ := strings.Cut(line, " ")
		if key, heading := strings.CutSuffix(first, ":"); heading {
			if err := m.tell(key, rest); err != nil {
				return nil, fmt.Errorf("/proc/self/smaps: %w", err)
			}
			continue
		}
		m = nil
		if !strings.HasPrefix(rest, "r") || strings.HasPrefix(rest, "rw") || !strings.HasSuffix(rest, " "+file) {
			continue
		}
		from, to, _ := strings.Cut(first, "-")
		begin, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("/proc/self/smaps: %q", line)
		}
		all = append(all, mapping{from: uintptr(begin), to: uintptr(end)})
		m = &all[len(all)-1]
	}
	return all, nil
}

// tell takes in one line about the mapping.
func (m *mapping) tell(key, rest string) error {
	if m == nil || key != "Rss" && key != "Anonymous" && key != "Swap" {
		return nil
	}
	kB, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(rest, "kB")))
	if key == "Rss" {
		m.resident = kB
	} else {
		m.changed += kB
	}
	return err
}
