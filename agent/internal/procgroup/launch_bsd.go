//go:build darwin || freebsd || netbsd || openbsd

package procgroup

import "os/exec"

func launch(cmd *exec.Cmd) error { return cmd.Start() }
