// Package rapidtest checks properties with rapid, each as often as it is worth.
package rapidtest

import (
	"flag"
	"os"

	"pgregory.net/rapid"
)

// CheckFew is [rapid.Check] for a property that takes long: it is tried n times at most, where rapid would try it a
// hundred times, unless -rapid.checks or RAPID_CHECKS says how often. A failure is made smaller as ever. A property
// that skips what it has drawn is tried as often as rapid likes from then on.
//
// Setting the flag for the whole program instead would make few of all its properties, and some cost next to nothing.
func CheckFew(t rapid.TB, n int, property func(*rapid.T)) {
	t.Helper()
	if chosen() {
		rapid.Check(t, property)
		return
	}
	tries, failed := 0, false
	rapid.Check(t, func(t *rapid.T) {
		if tries++; tries > n && !failed {
			return
		}
		returned := false
		defer func() { failed = failed || !returned || t.Failed() }() // from here on rapid looks for a smaller one
		property(t)
		returned = true
	})
}

// chosen tells whether whoever runs the tests has said how often.
func chosen() bool {
	_, given := os.LookupEnv("RAPID_CHECKS")
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	return given
}
