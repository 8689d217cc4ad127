package control

import (
	"fmt"
	"os"
	"syscall"
)

// ownedAlone refuses a folder that somebody else could put a socket into.
func ownedAlone(folder string) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || stat.Uid != uint32(os.Getuid()) || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("folder %s must belong to this user alone (mode 0700)", folder)
	}
	return nil
}
