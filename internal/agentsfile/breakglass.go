package agentsfile

// BreakGlass says who may let a call run past the policies in an emergency, and which channel is told.
type BreakGlass struct {
	Users, Groups []string
	Notify        string // a Slack channel id; empty: the conversation alone is told
}

func (d *decoder) decodeBreakGlass(n *node) *BreakGlass {
	if n == nil {
		return nil
	}
	const what = "break_glass"
	o := d.object(n, what, breakGlassKeys)
	if n.kind != kindMapping {
		return nil
	}
	b := &BreakGlass{
		Users: o.ids("users", "UW", "U0123456789"), Groups: o.ids("groups", "S", "S0123456789"),
		Notify: o.literal("notify"),
	}
	if len(b.Users)+len(b.Groups) == 0 {
		d.problem(n.pos, "break_glass names nobody; write users or groups, or leave it out")
	}
	if b.Notify != "" && !isSlackID(b.Notify, "CG") {
		d.problem(o.values["notify"].pos, "notify is the Slack id of a channel, such as C0123456789, not %q", b.Notify)
	}
	return b
}
