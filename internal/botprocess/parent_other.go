//go:build !linux

package botprocess

import "os/exec"

// tether does nothing where the system has no such promise.
func tether(*exec.Cmd) {}
