// Package pgdev starts private PostgreSQL servers for tests and benchmarks, from the binaries that are installed. A
// server lives in a folder of its own, listens on a Unix socket there alone, and dies with the process that started it.
// Several run side by side.
package pgdev
