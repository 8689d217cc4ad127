package shelltool

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"countersign/agent/internal/redact"
)

// capture keeps the beginning and the end of a stream, and counts the rest.
type capture struct {
	limit int
	head  []byte // the first bytes, half the limit at most
	tail  []byte // what came after them; only its last bytes count, the other half of the limit
	total int64
	lines int  // that have ended
	open  bool // the last one has not

	hidden *redact.Output // what is taken out of it
}

func newCapture(limit int, hidden *redact.Output) *capture {
	return &capture{limit: limit, hidden: hidden}
}

// Write never fails.
func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	c.lines += bytes.Count(p, []byte{'\n'})
	c.open = n > 0 && p[n-1] != '\n' || n == 0 && c.open
	room := min(len(p), c.limit/2-len(c.head))
	c.head, p = append(c.head, p[:room]...), p[room:]
	keep := c.limit - c.limit/2
	c.tail = append(c.tail, p[max(0, len(p)-keep):]...)
	if len(c.tail) > 2*keep {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-keep:]...)
	}
	return n, nil
}

// count is the number of lines that came.
func (c *capture) count() int {
	if c.open {
		return c.lines + 1
	}
	return c.lines
}

// ReadFrom reads r to its end or error.
func (c *capture) ReadFrom(r io.Reader) (int64, error) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		_, _ = c.Write(buf[:n])
		if err == io.EOF {
			return c.total, nil
		}
		if err != nil {
			return c.total, err
		}
	}
}

// text is the stream as text of about limit bytes, and what is to be said about it: how much of it was left out, and
// whether it was no text.
func (c *capture) text(limit int) (text, note string) {
	limit = min(limit, c.limit)
	whole := c.total <= int64(limit)
	if whole {
		text = c.hidden.Hide(string(c.head) + string(c.tail))
	} else {
		head, tail := c.head[:min(limit/2, len(c.head))], c.tail
		if int64(len(c.head)+len(c.tail)) == c.total { // the end may begin in what was kept as the beginning
			tail = slices.Concat(c.head[len(head):], c.tail)
		}
		tail = tail[max(0, len(tail)-(limit-limit/2)):]
		head, tail = trimEnd(head), trimStart(tail)
		text = c.hidden.HideCut(string(head))
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		left := c.total - int64(len(head)+len(tail))
		text += fmt.Sprintf("[… %d bytes left out …]\n", left) + c.hidden.HideRest(string(tail))
		note = fmt.Sprintf("%d bytes, %d of them left out", c.total, left)
	}
	clean := strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if clean != text {
		if note != "" {
			note += "; "
		}
		note += "not all of it is text: other bytes are shown as \uFFFD"
	}
	return clean, note
}

// trimEnd cuts off the beginning of a character that goes on after the cut.
func trimEnd(b []byte) []byte {
	for n := 1; n <= min(3, len(b)); n++ {
		switch c := b[len(b)-n]; {
		case c < 0x80:
			return b
		case c >= 0xC0:
			if size := 2 + btoi(c >= 0xE0) + btoi(c >= 0xF0); size > n {
				return b[:len(b)-n]
			}
			return b
		}
	}
	return b
}

// trimStart cuts off the end of a character that began before the cut.
func trimStart(b []byte) []byte {
	n := 0
	for n < min(3, len(b)) && b[n]&0xC0 == 0x80 {
		n++
	}
	return b[n:]
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
