//go:build !nextformat

package pgstore

// formatNow is the number of the form that this program writes when all others can read it. It is raised with the first
// change after a release that a program of that release could not read.
const formatNow = 1

// laterFields are the fields of records that came with a format: they are left out before it is in force. What must not
// be left out, such as a field that restricts something, is not to be set before Store.Format reaches its number.
func laterFields() []laterField { return nil }
