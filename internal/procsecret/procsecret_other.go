//go:build !linux

package procsecret

import "errors"

func hide() error { return errors.ErrUnsupported }
