//go:build unix

package boltstore

import "golang.org/x/sys/unix"

// writable says why this user may make no file in the folder that lasts; nil: it may. To make a name last, the folder
// has to be opened for reading.
func writable(folder string) error { return unix.Access(folder, unix.R_OK|unix.W_OK|unix.X_OK) }
