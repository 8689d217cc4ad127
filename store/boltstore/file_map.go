package boltstore

import "strconv"

// bbolt reads the file through a memory map. When the file outgrows the map, bbolt waits for all readers to end
// before it makes a larger one, and until then nobody begins to read or to write: one slow backup would stop the
// program. Open therefore reserves as much address space as the file can ever need. That costs nothing: the kernel
// keeps one entry for the whole map, and page tables only for what is read. Where so much cannot be had (RLIMIT_AS,
// few address bits), Open takes half of what it could get: the rest of the program needs addresses, too.
const (
	leastMap  = 1 << 30 // on 64-bit machines, where it can be had
	mostMap   = 64 << 40
	mostMap32 = 512 << 20 // of the 2 to 4 GiB that a 32-bit process has
	tinyMap   = 1 << 20   // less is not worth a try
)

// reservation returns how much address space to reserve for a file of that size on a file system of that size, which
// is 0 when it is unknown. mappable tries. The result is 0 when all that can be had is what the file needs now.
func reservation(file, system int64, mappable func(size int64) bool) int64 {
	most := int64(mostMap)
	if strconv.IntSize == 32 {
		most = mostMap32
	}
	size := min(powerOfTwo(max(system, 2*file, leastMap)), most)
	if mappable(size) {
		return size
	}
	for size /= 2; size/2 > max(file, tinyMap); size /= 2 {
		if mappable(size) {
			return size / 2
		}
	}
	return 0
}

// powerOfTwo returns the least power of two that is at least n.
func powerOfTwo(n int64) int64 {
	p := int64(1)
	for p < n {
		p <<= 1
	}
	return p
}
