//go:build race

// Package raceflag says whether the race detector is on, under which tests do less of what takes long.
package raceflag

// Enabled reports that the program was built with -race.
const Enabled = true
