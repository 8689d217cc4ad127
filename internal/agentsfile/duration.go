package agentsfile

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxDuration bounds what can be meant; it also keeps sums of time and duration far from any overflow.
const maxDuration = 3650 * 24 * time.Hour

// parseDuration reads 30s, 90m, 1h30m, 7d or 1d12h.
func parseDuration(s string) (time.Duration, error) {
	var days time.Duration
	rest := s
	if number, after, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("%q is no duration", s)
		}
		days, rest = time.Duration(n)*24*time.Hour, after
	}
	var more time.Duration
	if rest != "" || days == 0 {
		var err error
		if more, err = time.ParseDuration(rest); err != nil {
			return 0, fmt.Errorf("%q is no duration", s)
		}
	}
	if more < 0 || days+more <= 0 || days > maxDuration || more > maxDuration || days+more > maxDuration {
		return 0, fmt.Errorf("%q is not between 0 and 10 years", s)
	}
	return days + more, nil
}
