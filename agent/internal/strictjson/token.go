package strictjson

// plain marks the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// escapeLen returns the length of the escape sequence b starts with, or 0.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if hex4(b[2:]) >= 0 {
			return 6
		}
	}
	return 0
}

// hex4 returns the value of the four hexadecimal digits b starts with, or -1.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var v rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			return -1
		}
	}
	return v
}

// numberLen returns the length of the JSON number b starts with, or 0.
func numberLen(b []byte) int {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	n := digits(b[i:])
	if n == 0 || n > 1 && b[i] == '0' {
		return 0
	}
	i += n
	if i < len(b) && b[i] == '.' {
		if n = digits(b[i+1:]); n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if n = digits(b[i:]); n == 0 {
			return 0
		}
		i += n
	}
	return i
}

func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}
