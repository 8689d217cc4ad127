package strictjson

import (
	"bytes"
	"math"
	"strconv"
)

const (
	maxInteger  = 1 << 53 // every integer up to here is a float64
	reasonRange = "number is too large; write it as a string if the tool allows one"
	reasonExact = "number has more digits than can be kept; shorten it, or write it as a string if the tool allows one"
)

// appendNumber appends the canonical form of the number tok, or returns why it is refused.
func appendNumber(dst, tok []byte) (out []byte, reason string) {
	if integer := isInteger(tok); integer && len(tok) <= 15 {
		if string(tok) == "-0" {
			tok = tok[1:]
		}
		return append(dst, tok...), ""
	} else if f, err := strconv.ParseFloat(string(tok), 64); err != nil || math.IsInf(f, 0) {
		return nil, reasonRange
	} else if integer && math.Abs(f) > maxInteger {
		return nil, reasonRange
	} else {
		return appendFloat(dst, tok, f)
	}
}

// appendFloat appends f as ECMAScript writes it, unless that is another number than tok says, or an integer that
// other readers cannot hold.
func appendFloat(dst, tok []byte, f float64) (out []byte, reason string) {
	if f == 0 {
		f = 0 // not minus zero
	}
	abs := math.Abs(f)
	start := len(dst)
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		dst = trimExponent(strconv.AppendFloat(dst, f, 'e', -1, 64))
	} else if abs > maxInteger {
		return nil, reasonRange
	} else {
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	if !sameDecimal(tok, dst[start:]) {
		return nil, reasonExact
	}
	return dst, ""
}

// trimExponent turns the e-09 of strconv into the e-9 of ECMAScript.
func trimExponent(b []byte) []byte {
	n := len(b)
	if n >= 4 && b[n-4] == 'e' && b[n-2] == '0' {
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

func isInteger(tok []byte) bool { return !bytes.ContainsAny(tok, ".eE") }

// sameDecimal reports whether two JSON numbers have the same decimal value, with no rounding. The sign of zero does
// not count.
func sameDecimal(a, b []byte) bool {
	da, db := decimalOf(a), decimalOf(b)
	if len(da.digits) == 0 || len(db.digits) == 0 {
		return len(da.digits) == len(db.digits)
	}
	return da.negative == db.negative && da.exponent == db.exponent && bytes.Equal(da.digits, db.digits)
}

// decimal is 0.digits × 10^exponent, with digits that neither begin nor end with zero.
type decimal struct {
	negative bool
	digits   []byte
	exponent int
}

func decimalOf(tok []byte) decimal {
	var d decimal
	if tok[0] == '-' {
		d.negative = true
		tok = tok[1:]
	}
	mantissa := tok
	if i := bytes.IndexAny(tok, "eE"); i >= 0 {
		mantissa = tok[:i]
		// A number out of int's range was refused by ParseFloat, or it is zero.
		d.exponent, _ = strconv.Atoi(string(bytes.TrimPrefix(tok[i+1:], []byte("+"))))
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	d.digits = append(append(make([]byte, 0, len(mantissa)), whole...), fraction...)
	d.exponent += len(whole)
	trimmed := bytes.TrimLeft(d.digits, "0")
	d.exponent -= len(d.digits) - len(trimmed)
	d.digits = bytes.TrimRight(trimmed, "0")
	return d
}
