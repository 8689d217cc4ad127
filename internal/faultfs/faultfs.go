// Package faultfs is a file system for tests, mounted with FUSE, that does what disks do when the power fails or they
// are full or broken: what was not synced is lost, or half of it is there; writing and syncing fail on request. It
// keeps one flat directory of files in memory. Names are durable at once; contents and sizes are when they are synced.
//
// A process that maps a file of it into memory must not be the one that serves it: a page fault would wait for a
// goroutine of the process that it has stopped.
package faultfs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// ErrUnavailable says that nothing can be mounted here.
var ErrUnavailable = errors.New("no FUSE here: it takes /dev/fuse and the right to mount")

// Required reports whether a test that needs a disk of its own must fail where none can be mounted, instead of being
// skipped: where COUNTERSIGN_TEST_REQUIRE has the word fuse, and in a long run where that is not set at all.
func Required(long bool) bool {
	words, set := os.LookupEnv("COUNTERSIGN_TEST_REQUIRE")
	return long && !set || slices.Contains(strings.Split(words, ","), "fuse")
}

const sector = 512

// FS is a mounted file system.
type FS struct {
	dir    string
	server *fuse.Server

	mu     sync.Mutex
	files  map[string]*file
	made   uint64 // files
	off    bool   // the power is
	syncs  int
	writes int
	// fail says what comes of an operation; 0: it is carried out.
	fail func(op Op, nth int) syscall.Errno
}

// Op is an operation that can fail.
type Op string

// The operations.
const (
	Write Op = "write"
	Sync  Op = "sync"
)

// file is what a program reads, and what is on the disk.
type file struct {
	now, disk []byte
	dirty     map[int]bool // sectors that were written since the last sync
	number    uint64       // of its inode
}

// Mount mounts an empty file system at the directory. An error that is ErrUnavailable says that this machine has none.
func Mount(dir string) (*FS, error) {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	f := &FS{dir: dir, files: map[string]*file{}, fail: func(Op, int) syscall.Errno { return 0 }}
	second := time.Second
	server, err := fs.Mount(dir, &root{of: f}, &fs.Options{EntryTimeout: &second, AttrTimeout: &second,
		MountOptions: fuse.MountOptions{DirectMount: true, FsName: "faultfs", Name: "faultfs"}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	f.server = server
	return f, nil
}

// Unmount ends it. Nobody should use it any more: the kernel may be a while behind a process that was killed, and is
// waited for. When something still uses it after half a minute the directory is freed all the same, and the error names
// the processes that have a file of it open.
func (f *FS) Unmount() error { return f.unmount(30 * time.Second) }

// unmount does not leave it to the library, which gives up after a third of a second and then asks for a program that
// is not installed everywhere.
func (f *FS) unmount(patience time.Duration) error {
	pause := 5 * time.Millisecond
	for start := time.Now(); ; {
		err := syscall.Unmount(f.dir, 0)
		if err == nil {
			f.server.Wait()
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Since(start) >= patience {
			err = fmt.Errorf("unmount %s: %w; used by %q", f.dir, err, f.users())
			return errors.Join(err, syscall.Unmount(f.dir, syscall.MNT_DETACH))
		}
		time.Sleep(pause)
		pause = min(2*pause, time.Second)
	}
}

// users returns what /proc says of the processes that have a file of it open, or are in the directory.
func (f *FS) users() []string {
	var links []string
	for _, pattern := range []string{"/proc/[0-9]*/fd/*", "/proc/[0-9]*/cwd"} {
		found, _ := filepath.Glob(pattern)
		links = append(links, found...)
	}
	var users []string
	for _, link := range links {
		to, err := os.Readlink(link)
		if err == nil && (to == f.dir || strings.HasPrefix(to, f.dir+"/")) {
			users = append(users, link+" -> "+to)
		}
	}
	return users
}

// Fail has fn say from now on what comes of the nth write, or sync, since the start: an error number, or 0.
func (f *FS) Fail(fn func(op Op, nth int) syscall.Errno) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fn
}

// Put makes a file that is on the disk.
func (f *FS) Put(name string, content []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.create(name)
	e.now, e.disk = append([]byte(nil), content...), append([]byte(nil), content...)
}

func (f *FS) create(name string) *file {
	f.made++
	e := &file{dirty: map[int]bool{}, number: 1 + f.made}
	f.files[name] = e
	return e
}

// Cut switches the power off: from now on every operation fails. It returns what is on the disk of the file. With a
// random source each sector that was written and not synced is on it with probability one half, else none is.
func (f *FS) Cut(name string, torn *rand.Rand) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.off = true
	e := f.files[name]
	if e == nil {
		return nil
	}
	disk := append([]byte(nil), e.disk...)
	if torn == nil {
		return disk
	}
	for n := range (len(e.now) + sector - 1) / sector {
		if !e.dirty[n] || torn.IntN(2) == 0 {
			continue
		}
		from, to := n*sector, min((n+1)*sector, len(e.now))
		if grown := to - len(disk); grown > 0 {
			disk = append(disk, make([]byte, grown)...)
		}
		copy(disk[from:to], e.now[from:to])
	}
	return disk
}

// Syncs returns how many syncs there were.
func (f *FS) Syncs() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.syncs
}

// begin counts an operation and says what comes of it. f.mu is held.
func (f *FS) begin(op Op) syscall.Errno {
	if f.off {
		return syscall.EIO
	}
	switch op {
	case Sync:
		f.syncs++
		return f.fail(op, f.syncs)
	case Write:
		f.writes++
		return f.fail(op, f.writes)
	}
	return 0
}

// write changes what programs read.
func (e *file) write(data []byte, off int64) {
	if end := int(off) + len(data); end > len(e.now) {
		e.resize(end)
	}
	copy(e.now[off:], data)
	for n := int(off) / sector; n*sector < int(off)+len(data); n++ {
		e.dirty[n] = true
	}
}

func (e *file) resize(size int) {
	for n := min(size, len(e.now)) / sector; n*sector < max(size, len(e.now)); n++ {
		e.dirty[n] = true
	}
	if size <= len(e.now) {
		e.now = e.now[:size]
		return
	}
	e.now = append(e.now, make([]byte, size-len(e.now))...)
}

// sync brings to the disk what was written since the last sync.
func (e *file) sync() {
	if grown := len(e.now) - len(e.disk); grown > 0 {
		e.disk = append(e.disk, make([]byte, grown)...)
	}
	e.disk = e.disk[:len(e.now)]
	for n := range e.dirty {
		if from := n * sector; from < len(e.now) {
			to := min(from+sector, len(e.now))
			copy(e.disk[from:to], e.now[from:to])
		}
	}
	clear(e.dirty)
}

// forget gives up what was written since the last sync: no later one brings it to the disk.
func (e *file) forget() { clear(e.dirty) }
