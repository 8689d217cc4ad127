package lineage

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

var errNotUnix = errors.New("no Unix socket")

// Peer is the process at the other end of a Unix socket, as it was when it connected. Close it when done.
type Peer struct {
	// UID is the user of the process, and PID its number; zero for one that is outside of the container.
	UID uint32
	PID int

	handle int    // of the process, or -1: then only its number is known, which is used again once it has ended
	taken  uint64 // when the peer was looked at, as status.start
	closed sync.Once
}

// PeerOf returns the process at the other end of the connection.
func PeerOf(conn net.Conn) (*Peer, error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errNotUnix
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, err
	}
	var p *Peer
	var inner error
	if err := raw.Control(func(fd uintptr) { p, inner = peerOf(int(fd)) }); err != nil {
		return nil, err
	}
	return p, inner
}

func peerOf(socket int) (*Peer, error) {
	cred, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return nil, err
	}
	p := &Peer{UID: cred.Uid, PID: int(cred.Pid), handle: -1}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return nil, err
	}
	p.taken = uint64(time.Duration(now.Nano()) / (10 * time.Millisecond))
	// Linux 6.5 and newer. An error is one of an older kernel, or says that the process has ended: then its number
	// does.
	if handle, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
		p.handle = handle
		unix.CloseOnExec(handle)
	}
	return p, nil
}

// Close forgets the process. It may be called more than once.
func (p *Peer) Close() (err error) {
	p.closed.Do(func() {
		if p.handle >= 0 {
			err = unix.Close(p.handle)
		}
	})
	return err
}

// Judge returns nil when the process is an operator's, and otherwise an error that wraps ErrDescendant or ErrUnknown. A
// process that has ended meanwhile is not known.
func (m *Mark) Judge(p *Peer) error {
	if p.PID == 0 {
		return fmt.Errorf("%w: it is outside of the container that the bot runs in; run the command inside", ErrUnknown)
	}
	limit := uint64(unlimited)
	if m.found > 0 {
		var err error
		if limit, err = hardLimit(p.PID); err != nil {
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		}
	}
	ancestors, err := ancestorsOf(p.PID)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	// What was read is about this process if it is there still.
	if err := p.present(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return m.judge(limit, ancestors)
}

var errEnded = errors.New("it has ended")

// present returns an error unless the process has been there all the time.
func (p *Peer) present() error {
	if p.handle >= 0 {
		return p.handlePresent()
	}
	s, err := statusOf(p.PID)
	if err != nil {
		return err
	}
	if s.start > p.taken {
		return errEnded // and its number was given to another one
	}
	return nil
}

// handlePresent asks the handle, which can be read once the process has ended.
func (p *Peer) handlePresent() error {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.handle), Events: unix.POLLIN}}, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n > 0:
			return errEnded
		default:
			return nil
		}
	}
}
