//go:build sweepalone

package pgstore

import "time"

// A program that is built with the tag sweepalone finds jobs by nothing but a sweep, which is frequent so that nobody
// waits for long.
var finders = jobSettings{sweep: 200 * time.Millisecond, noLocal: true, noRiver: true}
