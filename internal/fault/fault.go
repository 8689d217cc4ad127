//go:build !faults

// Package fault names the points where tests stop the program. Without the build tag "faults" it does nothing and
// costs nothing.
//
// With the tag, the environment variable COUNTERSIGN_FAULT=point[:nth[:action]] has the nth pass through the point (the
// first when left out) do one of these:
//
//   - kill (when left out) writes the point's name and a newline to file descriptor 3 and then blocks for ever: the
//     parent that reads the name kills the process there.
//   - freeze writes the same and stops the whole process with SIGSTOP, until somebody sends it SIGCONT.
//   - sleep=DURATION waits.
//   - error fails what is done there, at points that are passed with Error.
package fault

// Point marks a crash point.
func Point(string) {}

// Error is Point where something can fail: it returns what a test has ordered to come of it.
func Error(string) error { return nil }
