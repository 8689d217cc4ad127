package app_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// fullPipe is the end of a pipe that takes nothing more, and that nobody reads.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = w.Write(make([]byte, 4096))
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return w
}

// TestLogIsNotTaken: a bot whose log nobody takes does its work, and ends when it is told to.
func TestLogIsNotTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	bot := &process{t: t, cmd: exec.Command(binary(t), "run"), exited: make(chan struct{})}
	bot.cmd.Dir, bot.cmd.Env, bot.cmd.Stderr = w.dir, w.env(), fullPipe(t)
	if err := bot.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		bot.cmd.Wait()
		close(bot.exited)
	}()
	t.Cleanup(bot.kill)
	w.until("a connection", func() bool { return w.slack.Connections() > 0 })
	thread := w.mention("pay 5")
	w.mustClick(ben, w.card(thread, 1), "approve")
	w.answer(thread, "R-1")
	w.onlyEffect(`{"amount":5,"to":"acct"}`)
	bot.signal(syscall.SIGTERM)
	if code := bot.wait(); code != 0 {
		t.Errorf("it ends with exit code %d", code)
	}
}
