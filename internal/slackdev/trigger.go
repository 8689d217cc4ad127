package slackdev

import (
	"time"
)

// trigger is a trigger id: a person did something, and for a short time the app
// may open one modal for them.
type trigger struct {
	user    string
	view    string // the modal in which it happened, empty elsewhere
	expires time.Time
	used    bool
}

// newTrigger hands out a trigger id. w.mu is held.
func (w *Workspace) newTrigger(user, view string) string {
	now := time.Now()
	for id, t := range w.triggers {
		if now.Sub(t.expires) > time.Minute {
			delete(w.triggers, id)
		}
	}
	id := w.ids.triggerID()
	w.triggers[id] = &trigger{user: user, view: view, expires: now.Add(w.cfg.TriggerLife)}
	return id
}

// NewTrigger hands out a trigger id as if the person had just clicked
// something, for tests of views.open alone.
func (w *Workspace) NewTrigger(user string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newTrigger(user, "")
}

// useTrigger redeems a trigger id. Slack checks the view first, so that a
// refused view does not use the trigger up. w.mu is held.
func (w *Workspace) useTrigger(id string) (*trigger, error) {
	t, ok := w.triggers[id]
	switch {
	case !ok:
		return nil, invalid("invalid_arguments", []string{"[ERROR] invalid `trigger_id` [json-pointer:/trigger_id]"})
	case t.used:
		return nil, fail("exchanged_trigger_id")
	case time.Now().After(t.expires):
		return nil, fail("expired_trigger_id")
	}
	t.used = true
	return t, nil
}
