//go:build unix

package boltstore

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// mayBeShared are the rights to a store's file that are kept: those of its owner, and of its group where a platform
// gives each process a user of its own. Nobody else is let in anew.
const mayBeShared = 0o660

// keepAccess gives the new file to whom the old one belongs, with the same rights, so that whoever could open the store
// still can.
func keepAccess(old, new *os.File) error {
	was, err := old.Stat()
	if err != nil {
		return err
	}
	if err := give(new, was); err != nil {
		return fmt.Errorf("give the new file to the owner of the old one: %w; run the command as the user that the "+
			"file belongs to", err)
	}
	is, err := new.Stat()
	if mode := was.Mode().Perm() & mayBeShared; err == nil && is.Mode().Perm() != mode {
		err = new.Chmod(mode)
	}
	if err != nil {
		return fmt.Errorf("give the new file the rights of the old one: %w", err)
	}
	return nil
}

// giveToFolder gives a file that the superuser has made to whom its folder belongs: whose folder it is works with it.
func giveToFolder(folder string, f *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	of, err := os.Stat(folder)
	if err == nil && ownedBySuperuser(of) {
		return nil
	}
	if err == nil {
		err = give(f, of)
	}
	if err != nil {
		return fmt.Errorf("give the new file to the owner of its folder %s: %w; run the command as that user",
			folder, err)
	}
	return nil
}

func ownedBySuperuser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == 0
}

// give gives a file to the user and the group of another one.
func give(f *os.File, as fs.FileInfo) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	from, ok := as.Sys().(*syscall.Stat_t)
	to, same := is.Sys().(*syscall.Stat_t)
	if !ok || !same || from.Uid == to.Uid && from.Gid == to.Gid {
		return nil
	}
	return f.Chown(int(from.Uid), int(from.Gid))
}
