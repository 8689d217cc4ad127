package procsecret

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// hide overwrites the block first: once the process is closed to its user, it may not write to its own /proc/self/mem.
func hide() error {
	err := overwrite()
	if e := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); e != nil {
		err = errors.Join(err, fmt.Errorf("close the process to others: %w", e))
	}
	return err
}

// overwrite makes the environment block zero. It is written through /proc, for to Go it is memory of nobody.
func overwrite() error {
	from, to, err := block()
	if err != nil {
		return fmt.Errorf("find the environment block: %w", err)
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("overwrite the environment block: %w", err)
	}
	defer mem.Close()
	if _, err := mem.WriteAt(make([]byte, to-from), from); err != nil {
		return fmt.Errorf("overwrite the environment block: %w", err)
	}
	return nil
}

// The places of env_start and env_end in /proc/self/stat, counted from the state, which is the third field.
const (
	envStart = 50 - 3
	envEnd   = 51 - 3
)

var errStat = errors.New("/proc/self/stat does not say where it is")

// block is where the environment block begins and ends.
func block() (from, to int64, err error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before it may hold anything
	if len(fields) <= envEnd {
		return 0, 0, errStat
	}
	from, err = strconv.ParseInt(string(fields[envStart]), 10, 64)
	if err == nil {
		to, err = strconv.ParseInt(string(fields[envEnd]), 10, 64)
	}
	if err != nil || from <= 0 || to < from {
		return 0, 0, errors.Join(errStat, err)
	}
	return from, to, nil
}
