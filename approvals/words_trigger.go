package approvals

import (
	"fmt"
)

// How far a call has come that is sent to another system. It is told in notices and on cards.

// ended says of a call whose run has ended before there was a result what people have to know.
func (t *TriggerState) ended() string {
	status := t.Status
	if t.Doubt && status != TriggerSent {
		status = TriggerUnknown
	}
	switch status {
	case TriggerPlanned, TriggerWithheld:
		return fmt.Sprintf("the call was not sent to %s, and will not be.", t.Target)
	case TriggerFailed:
		return fmt.Sprintf("%s had not taken the call (%s); nobody has reported a result.", t.Target, t.Text)
	case TriggerSent:
		return fmt.Sprintf("%s has the call and may go on with it; nobody here stops it. Its result is not awaited "+
			"any more; should it come, it is told here.", t.Target)
	}
	return fmt.Sprintf("it is unknown whether %s has the call and carries it out.", t.Target)
}

// Sending says in words how far the call of an external tool has come on its way to the system that carries it out;
// empty where it is sent nowhere.
func (r *RequestHead) Sending() string {
	t := r.Trigger
	if t == nil {
		return ""
	}
	text := t.sentence(r.Status == RequestPending)
	if t.Earlier != "" {
		text += fmt.Sprintf(" That was for %s, before it was asked again; results for that are not taken.", t.Earlier)
	}
	return text
}

func (t *TriggerState) sentence(waits bool) string {
	switch t.Status {
	case TriggerPlanned:
		if t.Doubt && !waits {
			return fmt.Sprintf("It is unknown whether %s has taken the call. It is not sent again.", t.Target)
		}
		if t.Doubt {
			return fmt.Sprintf("It is unknown whether %s has taken the call: %s. It is sent again.", t.Target, t.Text)
		}
		if !waits {
			return fmt.Sprintf("The call was not sent to %s.", t.Target)
		}
		if t.Text != "" {
			return fmt.Sprintf("The call has not reached %s yet: %s. It is tried again.", t.Target, t.Text)
		}
		return fmt.Sprintf("The call is to be sent to %s.", t.Target)
	case TriggerSending:
		if !waits { // the process that began it may have died, and nobody looks after it any more
			return fmt.Sprintf("It is unknown whether %s has taken the call. It is not sent again.", t.Target)
		}
		return fmt.Sprintf("The call is being sent to %s.", t.Target)
	case TriggerSent:
		return fmt.Sprintf("The call was sent to %s, which has taken it.", t.Target)
	case TriggerFailed:
		return fmt.Sprintf("The call was not taken by %s: %s.", t.Target, t.Text)
	case TriggerUnknown:
		text := fmt.Sprintf("It is unknown whether %s has taken the call", t.Target)
		if t.Text != "" {
			text += ": " + t.Text
		}
		return text + ". It is not sent again."
	}
	return fmt.Sprintf("The call was not sent to %s: %s.", t.Target, t.Text)
}
