package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// none stands for what has no value.
const none = "–"

// number writes a count with its thousands apart.
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// percent writes a share.
func percent(s *float64) string {
	if s == nil {
		return none
	}
	return fmt.Sprintf("%.1f %%", 100**s)
}

// part writes a number and what share of the whole it is.
func part(n, whole int) string {
	if whole == 0 {
		return number(n)
	}
	return number(n) + " (" + percent(share(n, whole)) + ")"
}

// span writes how long something took, in seconds.
func span(s *float64) string {
	if s == nil {
		return none
	}
	d := time.Duration(*s * float64(time.Second)).Round(time.Millisecond)
	const day = 24 * time.Hour
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 10*time.Minute:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %d h", d/day, d%day/time.Hour)
}

// class names a class of times.
func class(c TimeClass) string {
	switch {
	case c.AtLeast == 0:
		return "under " + round(c.Below)
	case c.Below == 0:
		return round(c.AtLeast) + " or more"
	}
	return round(c.AtLeast) + " to " + round(c.Below)
}

// shortClass names a class of times in a plot, by its end.
func shortClass(c TimeClass) string {
	if c.Below == 0 {
		return "longer"
	}
	return "< " + round(c.Below)
}

func round(s float64) string {
	for _, u := range []struct {
		s    float64
		name string
	}{{24 * 3600, "d"}, {3600, "h"}, {60, "min"}} {
		if s >= u.s {
			return strconv.Itoa(int(s/u.s)) + " " + u.name
		}
	}
	return strconv.Itoa(int(s)) + " s"
}

// who names a person: by the id that the surface knows, with the workspace where the report is of several.
func (r *Report) who(u approvals.UserID) string {
	if len(r.Workspaces) > 1 || u.Local() == "" {
		return string(u)
	}
	return u.Local()
}

// where names the workspaces.
func (r *Report) where() string {
	if len(r.Workspaces) == 0 {
		return "none that has an audit trail"
	}
	names := make([]string, len(r.Workspaces))
	for i, ws := range r.Workspaces {
		names[i] = string(ws)
	}
	return strings.Join(names, ", ")
}

// kindWords say what a kind of request asks of people.
func kindWords(kind string) string {
	switch agent.InterruptionKind(kind) {
	case agent.Confirm:
		return "may the call run"
	case agent.FieldsRequired:
		return "arguments to fill in"
	case agent.ExternalResult:
		return "a result, or an answer"
	case agent.OutcomeUnknown:
		return "what became of the call"
	}
	return kind
}

func reviewWords(e *Emergency, who func(approvals.UserID) string) string {
	switch e.Review {
	case "":
		return "not reviewed"
	case approvals.ReviewAccept:
		return "accepted by " + who(e.Reviewer)
	}
	return "objected to by " + who(e.Reviewer)
}
