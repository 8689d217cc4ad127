// Package testfile reads the files of `countersign test`: who is in a workspace, what a scripted model says, what
// people do, and what must come of it.
//
// They are read as strictly as the agents file. All problems of a file are reported together, each with line and
// column, and for an unknown key with the nearest one that exists.
package testfile
