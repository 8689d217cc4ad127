package control

import (
	"fmt"
	"os"
	"slices"
	"syscall"
)

// ownedAlone refuses a folder that somebody else than this user, or one of the others, could put a socket into.
func ownedAlone(folder string, others ...uint32) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm()&0o077 != 0 ||
		stat.Uid != uint32(os.Getuid()) && !slices.Contains(others, stat.Uid) {
		return fmt.Errorf("folder %s must belong to this user alone (mode 0700)", folder)
	}
	return nil
}

// ownersOf returns the owner of a file: the bot whose store it is runs as that user. It is empty where there is none.
func ownersOf(file string) []uint32 {
	info, err := os.Stat(file)
	if err != nil {
		return nil
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return []uint32{stat.Uid}
	}
	return nil
}
