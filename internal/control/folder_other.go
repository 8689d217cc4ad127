//go:build !linux

package control

import "errors"

// ownedAlone refuses every folder: on this system the socket lets nobody in. See lineage.PeerOf.
func ownedAlone(string) error {
	return errors.New("this system does not say who is at the other end of a socket")
}
