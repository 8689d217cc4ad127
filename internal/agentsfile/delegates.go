package agentsfile

import "time"

// Delegate says who decides for a person who is away, and through which day.
type Delegate struct {
	Position
	From, To string    // Slack user ids
	Until    time.Time // the last day, at its beginning in UTC
}

// Ends returns the first instant at which the delegate decides no longer: the end of the last day, in UTC.
func (d Delegate) Ends() time.Time { return d.Until.AddDate(0, 0, 1) }

// decodeDelegates reads who decides for whom, in the order of the file.
func (d *decoder) decodeDelegates(n *node) (all []Delegate) {
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		if !isSlackID(e.key, "UW") {
			d.problem(e.pos, "delegates are by the Slack id of the person who is away, such as U0123456789, not %q",
				e.key)
		}
		all = append(all, d.decodeDelegate(e))
	}
	return all
}

func (d *decoder) decodeDelegate(e entry) Delegate {
	const what = "a delegate"
	o := d.object(e.value, what, delegateKeys)
	found := Delegate{Position: e.pos, From: e.key, To: o.literal("to")}
	if e.value.kind != kindMapping {
		return found
	}
	o.require(what, "to", "until")
	switch at := o.values["to"]; {
	case found.To == "":
	case !isSlackID(found.To, "UW"):
		d.problem(at.pos, "to is the Slack id of a person, such as U0123456789, not %q", found.To)
	case found.To == e.key:
		d.problem(at.pos, "%s cannot decide for themselves as their own delegate", e.key)
	}
	if text := o.literal("until"); text != "" {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			d.problem(o.values["until"].pos, "until is the last day, such as 2026-12-31, not %q", text)
		}
		found.Until = day
	}
	return found
}
