package bot

import "strings"

// How Slack's ids look, and ours. What does not look so is no id: it is not asked about, mentioned or linked to. These
// are no regular expressions because each click has several of them.

func isUserID(s string) bool       { return isSlackID(s, "UW") }
func isGroupID(s string) bool      { return isSlackID(s, "S") }
func isChannelID(s string) bool    { return isSlackID(s, "CDG") }
func isTeamID(s string) bool       { return isSlackID(s, "T") }
func isEnterpriseID(s string) bool { return isSlackID(s, "E") }

// isSlackID reports whether s is one of the letters that say what it is of, and 1 to 30 capital letters and digits.
func isSlackID(s, first string) bool {
	return len(s) >= 2 && len(s) <= 31 && strings.IndexByte(first, s[0]) >= 0 && consistsOf(s[1:], 'A', 'Z')
}

// isMessageTS reports whether s is 1 to 12 digits, a dot and 1 to 9 digits.
func isMessageTS(s string) bool {
	seconds, fraction, _ := strings.Cut(s, ".")
	return seconds != "" && len(seconds) <= 12 && consistsOf(seconds, '0', '9') &&
		fraction != "" && len(fraction) <= 9 && consistsOf(fraction, '0', '9')
}

func isRequestID(s string) bool { return isOwnID(s, "req_") }
func isGrantID(s string) bool   { return isOwnID(s, "grant_") }

// isOwnID reports whether s is the prefix and 26 small letters and digits.
func isOwnID(s, prefix string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && len(rest) == 26 && consistsOf(rest, 'a', 'z')
}

// consistsOf reports whether s has nothing but digits and the letters between from and to, in ASCII.
func consistsOf(s string, from, to byte) bool {
	for i := range len(s) {
		if c := s[i]; (c < from || c > to) && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
