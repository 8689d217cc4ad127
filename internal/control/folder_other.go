//go:build !linux

package control

import "errors"

// ownedAlone refuses every folder: on this system the socket lets nobody in. See lineage.PeerOf.
func ownedAlone(string, ...uint32) error {
	return errors.New("this system does not say who is at the other end of a socket")
}

// ownersOf returns nobody, for the same reason.
func ownersOf(string) []uint32 { return nil }
