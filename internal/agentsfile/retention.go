package agentsfile

import (
	"fmt"
	"strings"
	"time"
)

// Retention is for how long records are kept; zero: for ever. The audit trail and grants are always kept.
type Retention struct {
	Runs     time.Duration // since the run ended
	Requests time.Duration // since the request was settled
	Sessions time.Duration // since the place's memory was last added to
	Events   time.Duration // since the event was first heard of
}

// leastEvents is the least time for which an event must be known: within it the surface may deliver it again.
const leastEvents = time.Hour

func (d *decoder) decodeRetention(n *node) Retention {
	o := d.object(n, "retention", retentionKeys)
	r := Retention{
		Runs: o.duration("runs", 0), Requests: o.duration("requests", 0), Sessions: o.duration("sessions", 0),
		Events: o.duration("events", 0),
	}
	if n := o.values["events"]; n != nil && r.Events > 0 && r.Events < leastEvents {
		o.problem(n.pos, "events is at least 1h: Slack delivers an event again within that time, and it would start "+
			"another run")
	}
	return r
}

// String says in one line what is kept for how long.
func (r Retention) String() string {
	var bounded, always []string
	for _, part := range []struct {
		name string
		keep time.Duration
	}{{"runs", r.Runs}, {"requests", r.Requests}, {"sessions", r.Sessions}, {"events", r.Events}} {
		if part.keep == 0 {
			always = append(always, part.name)
			continue
		}
		bounded = append(bounded, part.name+" "+writeDuration(part.keep))
	}
	switch {
	case len(bounded) == 0:
		return "everything, for ever"
	case len(always) == 0:
		return strings.Join(bounded, ", ") + "; the audit trail and grants for ever"
	}
	return fmt.Sprintf("%s; %s, the audit trail and grants for ever",
		strings.Join(bounded, ", "), strings.Join(always, ", "))
}

// writeDuration is the inverse of parseDuration: 90d, 1d12h, 90m.
func writeDuration(d time.Duration) string {
	const day = 24 * time.Hour
	text := ""
	if d >= day {
		text, d = fmt.Sprintf("%dd", d/day), d%day
	}
	if d == 0 {
		return text
	}
	rest := d.String()
	if strings.HasSuffix(rest, "m0s") {
		rest = strings.TrimSuffix(rest, "0s")
	}
	if strings.HasSuffix(rest, "h0m") {
		rest = strings.TrimSuffix(rest, "0m")
	}
	return text + rest
}
