package slackdev

import (
	"slices"
	"strings"
)

// Press returns the click of a person who wants an action on the message, wherever it stands: as a button, which has
// the action as its id, or in an overflow menu, where the option's value is the action, alone or with a colon and more
// behind it. of chooses between several by what is behind the colon, or by the value of a button. ok is false where the
// message has no such action.
func (m Message) Press(user, action string, of ...string) (c Click, ok bool) {
	c, ok = press(interactive(m.Blocks), action, of)
	c.User, c.Channel, c.TS = user, m.Channel, m.TS
	return c, ok
}

// Press is Message.Press for a view.
func (v View) Press(user, action string, of ...string) (c Click, ok bool) {
	c, ok = press(interactive(v.Blocks), action, of)
	c.User, c.ViewID = user, v.ID
	return c, ok
}

// Actions lists what can be pressed on the message, in reading order: buttons by their ids, options of overflow menus
// by what stands before the colon in their values.
func (m Message) Actions() []string { return actionsOf(interactive(m.Blocks)) }

// Actions is Message.Actions for a view.
func (v View) Actions() []string { return actionsOf(interactive(v.Blocks)) }

func press(all []element, action string, of []string) (Click, bool) {
	for _, e := range all {
		switch e.kind() {
		case "button":
			value := str(e.def["value"])
			if e.actionID() == action && (len(of) == 0 || slices.Contains(of, value)) {
				return Click{ActionID: action, Value: value}, true
			}
		case "overflow":
			for _, value := range e.values() {
				name, rest, _ := strings.Cut(value, ":")
				if name == action && (len(of) == 0 || slices.Contains(of, rest)) {
					return Click{ActionID: e.actionID(), Value: value}, true
				}
			}
		}
	}
	return Click{}, false
}

func actionsOf(all []element) (names []string) {
	for _, e := range all {
		switch e.kind() {
		case "button":
			names = append(names, e.actionID())
		case "overflow":
			for _, value := range e.values() {
				name, _, _ := strings.Cut(value, ":")
				names = append(names, name)
			}
		}
	}
	return names
}

// values lists the values of the element's options.
func (e element) values() (all []string) {
	options, _ := e.def["options"].([]any)
	for _, o := range options {
		option, _ := o.(map[string]any)
		all = append(all, str(option["value"]))
	}
	return all
}
