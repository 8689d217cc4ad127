// Package humanize puts values into words that people read at a glance.
package humanize

import (
	"fmt"
	"time"
)

// Duration says how long something took or takes, in the two largest units at most: "12 s", "3 min", "2 h 5 min",
// "3 days". A negative duration is "0 s".
func Duration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}
