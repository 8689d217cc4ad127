//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package patchtool

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// supported is false where a file in use cannot be replaced; New refuses.
const supported = false

const nonblocking = 0

func giveTo(*os.File, fs.FileInfo) {}

func mayChange(*os.Root) error { return nil }

func links(fs.FileInfo) (uint64, bool) { return 0, false }

func unsyncable(error) bool { return false }

func lock(context.Context, *os.Root) (func(), error) { return nil, errors.ErrUnsupported }
