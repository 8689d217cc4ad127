package agentsfile

// Notify says how people learn of a request, beside the card where the run was asked for.
type Notify struct {
	Named   string // how those are called whom the policy names: auto, dm, mention or none
	Channel string // a Slack channel id that gets every card too; empty: none
}

// NotifyAuto is the default way of calling people.
const NotifyAuto = "auto"

func (o *object) decodeNotify() Notify {
	n := o.values["notify"]
	if n == nil {
		return Notify{Named: NotifyAuto}
	}
	in := o.object(n, "notify", notifyKeys)
	if n.kind != kindMapping {
		return Notify{Named: NotifyAuto}
	}
	p := Notify{Named: in.choice("named", notifyWords), Channel: in.literal("channel")}
	if p.Named == "" {
		p.Named = NotifyAuto
	}
	if p.Channel != "" && !isSlackID(p.Channel, "CG") {
		at := in.values["channel"].pos
		o.problem(at, "channel is the Slack id of a channel, such as C0123456789, not %q", p.Channel)
	}
	return p
}
