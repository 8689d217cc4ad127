package mcptoolset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxNoise is how many lines that are no messages are logged of a program's output.
const maxNoise = 5

// messageReader reads the messages that a server writes to its standard output, one a line. Other lines, such as a
// banner or what a library prints there, are left out, as other clients do. It is closed by stop, when the server has
// had time to end.
type messageReader struct {
	lines *bufio.Reader
	noise func(line []byte, last bool) // is told of the first lines that are left out
	count int
	rest  []byte // of a message that was read in part
	err   error
}

func newMessageReader(r io.Reader, noise func(line []byte, last bool)) *messageReader {
	return &messageReader{lines: bufio.NewReaderSize(r, 64<<10), noise: noise}
}

func (m *messageReader) Read(p []byte) (int, error) {
	for len(m.rest) == 0 && m.err == nil {
		var line []byte
		line, m.err = m.line()
		switch {
		case isMessage(line):
			m.rest = append(bytes.TrimSpace(line), '\n')
		case len(bytes.TrimSpace(line)) > 0 && m.count < maxNoise:
			m.count++
			m.noise(line, m.count == maxNoise)
		}
	}
	if len(m.rest) == 0 {
		return 0, m.err
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func (m *messageReader) Close() error { return nil }

var errLongLine = errors.New("the server wrote a line of more than 16 MiB")

// line reads to the end of a line, or of the output.
func (m *messageReader) line() (line []byte, err error) {
	for {
		piece, err := m.lines.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > maxMessage:
			return nil, errLongLine
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// isMessage reports whether a line is a message, or several in a list.
func isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '[' {
		_, err := jsonrpc.DecodeMessage(line)
		return err == nil
	}
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil || len(batch) == 0 {
		return false
	}
	for _, raw := range batch {
		if _, err := jsonrpc.DecodeMessage(raw); err != nil {
			return false
		}
	}
	return true
}
