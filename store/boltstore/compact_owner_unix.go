//go:build unix

package boltstore

import (
	"fmt"
	"os"
	"syscall"
)

// keepOwner gives the new file to whom the old one belongs, so that whoever could open the store still can.
func keepOwner(old, new *os.File) error {
	was, err := old.Stat()
	if err != nil {
		return err
	}
	is, err := new.Stat()
	if err != nil {
		return err
	}
	from, ok := was.Sys().(*syscall.Stat_t)
	to, same := is.Sys().(*syscall.Stat_t)
	if !ok || !same || from.Uid == to.Uid && from.Gid == to.Gid {
		return nil
	}
	if err := new.Chown(int(from.Uid), int(from.Gid)); err != nil {
		return fmt.Errorf("give the new file to the owner of the old one: %w", err)
	}
	return nil
}
