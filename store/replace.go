package store

import (
	"os"

	"countersign/store/boltstore"
)

// ErrOlder is returned by Open for a file that an earlier version of the program has written, when it is opened for
// reading only: to read it, Open has to bring it to today's format.
var ErrOlder = boltstore.ErrOlder

// Replace puts the file at from in the place of the store's file at path; what was there is called aside from then on.
// boltstore.Replace has the details.
func Replace(path, from, aside string) error { return boltstore.Replace(path, from, aside) }

// Beside returns the folder in which the file at from of Replace has to be.
func Beside(path string) (string, error) { return boltstore.Beside(path) }

// Folder returns the folder of the file at path, which is left as it is written: boltstore.Folder.
func Folder(path string) string { return boltstore.Folder(path) }

// CreateTemp makes a file in the folder that is to be whole before GiveName gives it a name which no other file has.
// Both are those of boltstore.
func CreateTemp(folder string) (*os.File, error) { return boltstore.CreateTemp(folder) }

// GiveName is the other half of CreateTemp.
func GiveName(from, to string) error { return boltstore.GiveName(from, to) }
