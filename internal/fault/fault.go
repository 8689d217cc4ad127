//go:build !faults

// Package fault names the points where tests stop the program. Without the build tag "faults" it does nothing and
// costs nothing.
//
// With the tag, the environment variable COUNTERSIGN_FAULT=point[:nth] makes the nth pass through the point (the first
// when left out) write the point's name and a newline to file descriptor 3 and then block for ever: the parent that
// reads the name kills the process there.
package fault

// Point marks a crash point.
func Point(string) {}
