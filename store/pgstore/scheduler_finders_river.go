//go:build riveralone

package pgstore

// A program that is built with the tag riveralone is told of jobs by River alone, but for those that it has in hand: no
// sweep looks for any, and it is not told of what it commits itself.
var finders = jobSettings{sweep: -1, noLocal: true}
