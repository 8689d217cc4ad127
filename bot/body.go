package bot

import (
	"bytes"
	"net/url"
	"slices"
	"sync"
)

// buffer is memory that a body is read into, and that the next one takes over: a body is long, and is gone as soon as
// it is decoded.
type buffer struct{ bytes.Buffer }

// mostKept is how large a buffer may be to serve the next body, and what the claim of a body gets it before it has sent
// as much.
const mostKept = 64 << 10

// spoil is called with what has been read when it is given back; tests make it useless.
var spoil = func([]byte) {}

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// takeBuffer returns an empty buffer for a body that says how long it is, or a negative number.
func takeBuffer(length int64) *buffer {
	b := buffers.Get().(*buffer)
	b.Grow(int(min(max(length, 0), mostKept-bytes.MinRead)) + bytes.MinRead)
	return b
}

// giveBack leaves the buffer to others: nothing of what was read into it is looked at any more.
func (b *buffer) giveBack() {
	if b.Cap() > mostKept {
		return
	}
	b.Reset()
	spoil(b.AvailableBuffer()[:b.Available()]) // also what was written into it past its length
	buffers.Put(b)
}

// encodeForm is form.Encode, but for the order of the fields. It writes into one piece of memory: cards are long, and
// most of their characters are escaped.
func encodeForm(form url.Values) []byte {
	size := 0
	for name, values := range form {
		for _, v := range values {
			size += 2 + escapedLen(name) + escapedLen(v)
		}
	}
	out := make([]byte, size+escapeRoom)
	n := 0
	for name, values := range form {
		for _, v := range values {
			if n > 0 {
				out[n] = '&'
				n++
			}
			n += putEscaped(out[n:], name)
			out[n] = '='
			n++
			n += putEscaped(out[n:], v)
		}
	}
	return out[:n]
}

// formByte is how a character is written in a form: the first bytes of text. All are written, and what is too much is
// overwritten by the next: a branch for each character would cost several times as much.
type formByte struct {
	text [4]byte
	size int
}

// escapeRoom is how many bytes putEscaped may write behind what it returns.
const escapeRoom = len(formByte{}.text)

var formBytes = func() (of [256]formByte) {
	for c := range of {
		text := url.QueryEscape(string([]byte{byte(c)}))
		of[c].size = copy(of[c].text[:], text)
	}
	return of
}()

func escapedLen(s string) (n int) {
	for i := range len(s) {
		n += formBytes[s[i]].size
	}
	return n
}

// putEscaped writes s as url.QueryEscape does, and returns how many bytes that takes. out has escapeRoom more.
func putEscaped(out []byte, s string) (n int) {
	for i := range len(s) {
		e := &formBytes[s[i]]
		*(*[escapeRoom]byte)(out[n:]) = e.text
		n += e.size
	}
	return n
}

// onlyField appends to out the value of a form's field, where the form has that field alone; otherwise alone is false.
// An error says that the value is not encoded as it should be. Clicks come so, and are long.
func onlyField(out, body []byte, name string) (value []byte, alone bool, err error) {
	rest, ok := bytes.CutPrefix(body, []byte(name+"="))
	if !ok || bytes.IndexByte(rest, '&') >= 0 || bytes.IndexByte(rest, ';') >= 0 {
		return nil, false, nil
	}
	n := len(out) // what is written of out
	out = slices.Grow(out, len(rest))[:n+len(rest)]
	for len(rest) > 0 {
		same := 0
		for same < len(rest) && rest[same] != '%' {
			out[n+same] = unescaped[rest[same]]
			same++
		}
		n, rest = n+same, rest[same:]
		for len(rest) > 0 && rest[0] == '%' {
			if len(rest) < 3 {
				return nil, true, errUnreadable
			}
			high, low := hexValue[rest[1]], hexValue[rest[2]]
			if high|low > 15 {
				return nil, true, errUnreadable
			}
			out[n] = high<<4 | low
			n, rest = n+1, rest[3:]
		}
	}
	return out[:n], true, nil
}

// unescaped is what a character of a form stands for that is none of an escaped one.
var unescaped = func() (of [256]byte) {
	for c := range of {
		of[c] = byte(c)
	}
	of['+'] = ' '
	return of
}()

// hexValue is what a hexadecimal digit says; more than 15 for what is none.
var hexValue = func() (of [256]byte) {
	for i := range of {
		of[i] = 16
	}
	for i, c := range []byte("0123456789abcdef") {
		of[c] = byte(i)
		of[bytes.ToUpper([]byte{c})[0]] = byte(i)
	}
	return of
}()
