//go:build unix

package boltstore

import "golang.org/x/sys/unix"

// writable says why this user may make no file in the folder; nil: it may.
func writable(folder string) error { return unix.Access(folder, unix.W_OK|unix.X_OK) }
