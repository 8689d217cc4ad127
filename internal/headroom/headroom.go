// Package headroom keeps the garbage collector of a program with a small heap from running dozens of times a second.
package headroom

import "runtime"

// size is how much more than twice of what is in use the heap may hold before it is collected. What the bot keeps is a
// few megabytes: without headroom, a collection would come after every four of them. docs/adr/0043 has the figures.
const size = 48 << 20

// Keep gives the heap its headroom until release is called. The collector goes by what is allocated; this is, but as
// nobody touches it, the system gives no memory for it.
func Keep() (release func()) {
	untouched := make([]byte, size)
	return func() { runtime.KeepAlive(untouched) }
}
