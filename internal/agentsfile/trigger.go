package agentsfile

import (
	"cmp"
	"time"
)

// Trigger is where the calls of an external tool are sent, to what carries them out.
type Trigger struct {
	Position
	Method  string // POST, PUT or PATCH
	URL     Text
	Headers []Header
	Timeout time.Duration
	// Idempotent says that a call may be sent again with the same Idempotency-Key.
	Idempotent bool
}

// decodeTrigger reads the key `trigger`; nil when it is left out.
func (o *object) decodeTrigger() *Trigger {
	n := o.of("trigger", kindMapping)
	if n == nil {
		return nil
	}
	in := o.object(n, "a trigger", triggerKeys)
	in.require("a trigger", "url")
	idempotent := in.boolean("idempotent")
	return &Trigger{
		Position:   n.pos,
		Method:     cmp.Or(in.choice("method", bodyWords), "POST"),
		URL:        in.decodeURL("url"),
		Headers:    in.decodeHeaders(ownHeaders),
		Timeout:    in.duration("timeout", defaultHTTPTimeout),
		Idempotent: idempotent != nil && *idempotent,
	}
}
