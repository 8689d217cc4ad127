// Package boltstore keeps the records of approvals in one file, with go.etcd.io/bbolt.
package boltstore
