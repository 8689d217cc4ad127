//go:build !linux

package boltstore

import "errors"

// renameNew would rename a file without replacing one.
func renameNew(_, _ string) error { return errors.ErrUnsupported }
