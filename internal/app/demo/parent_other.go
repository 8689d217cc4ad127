//go:build !linux

package demo

import "os/exec"

// dieWithParent does nothing where the system has no such promise.
func dieWithParent(*exec.Cmd) {}
