//go:build nextformat

package pgstore

// A program that is built with the tag nextformat stands for the next version in a test that replaces real programs.
const formatNow = 2

func laterFields() []laterField {
	return []laterField{{format: formatNow, kind: kindRun, path: []string{"state_message"}}}
}
