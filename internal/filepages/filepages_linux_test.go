package filepages

import (
	"bytes"
	"debug/elf"
	"syscall"
	"testing"
)

// TestRelease: of what a start has touched of the program's file a good part is given back, and the test goes on with
// what comes back.
func TestRelease(t *testing.T) {
	before := resident(t)
	if err := Release(); err != nil {
		t.Fatal(err)
	}
	after := resident(t)
	t.Logf("%d kB of the file were in memory, %d are", before, after)
	if before < 1000 || after > before*3/4 {
		t.Errorf("of %d kB of the program's file %d are left in memory; want three quarters at the most", before, after)
	}
}

func resident(t *testing.T) (kB int) {
	t.Helper()
	all, err := mappings()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		kB += m.resident
	}
	return kB
}

// TestChangedStays: a part of the file in which something was written, as debuggers and dynamic linkers do, stays as it
// is. The control gives it back all the same, and finds the file's content.
func TestChangedStays(t *testing.T) {
	// The program's file once more, where nothing runs.
	fd, err := syscall.Open("/proc/self/exe", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	page, err := syscall.Mmap(fd, 0, syscall.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(page)
	copy(page, "changed")
	if err := syscall.Mprotect(page, syscall.PROT_READ); err != nil {
		t.Fatal(err)
	}
	if err := Release(); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(page, []byte("changed")) {
		t.Errorf("what was written is lost: %q", page[:7])
	}
	if err := syscall.Madvise(page, syscall.MADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(page, []byte(elf.ELFMAG)) {
		t.Errorf("the control: %q; want that the file is read again", page[:7])
	}
}
