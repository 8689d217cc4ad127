package cli

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"countersign/internal/app"
)

// logPatience is how long a line of the log may wait to be taken.
const logPatience = time.Second

// logWriter is where a bot writes its log. The bot writes wherever it works: a log that nobody takes, being a full pipe
// whose reader hangs, must hold up neither clicks nor the end of the program. What is not taken in time is left out,
// and so is what comes behind it, until the log is taken again; then a line says how many are missing.
type logWriter struct {
	w       io.Writer
	missing func(to io.Writer, lines int) // writes that line

	mu   sync.Mutex
	late chan error // gets the result of a write that has not ended in time; nil: there is none
	left int        // lines that were left out since
}

// logTo returns where the bot's log goes.
func logTo(w io.Writer, cfg *app.Config) *logWriter {
	return &logWriter{w: w, missing: func(to io.Writer, lines int) {
		cfg.Logger(to).Error("lines are missing here: the log was not taken", "lines", lines)
	}}
}

// Write is part of io.Writer. A line that is left out is no error: nobody could be told.
func (l *logWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.late != nil {
		select {
		case <-l.late:
			l.late = nil
		default:
			l.left++
			return len(line), nil
		}
	}
	var text bytes.Buffer
	if l.left > 0 {
		l.missing(&text, l.left)
		l.left = 0
	}
	text.Write(line) // which is the caller's to use again
	written := make(chan error, 1)
	go func() {
		_, err := l.w.Write(text.Bytes())
		written <- err
	}()
	patience := time.NewTimer(logPatience)
	defer patience.Stop()
	select {
	case err := <-written:
		if err != nil {
			return 0, fmt.Errorf("write the log: %w", err)
		}
	case <-patience.C: // nothing ends a write that hangs: it is left to itself
		l.late = written
	}
	return len(line), nil
}
