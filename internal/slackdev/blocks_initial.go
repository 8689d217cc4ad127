package slackdev

import (
	"math/big"
	"reflect"
	"strings"
	"time"
)

// What follows are rules about what an element begins with. They are those of Slack's reference of block elements
// (docs.slack.dev/reference/block-kit/block-elements): initial options are exactly options of the element, dates are
// YYYY-MM-DD, times HH:mm, moments UNIX timestamps of ten digits, and numbers are given as text. That an overflow menu
// has at least two options was in that reference until it was shortened to "up to five"; the fake keeps to it.

// initialAmong checks that what an element with options begins with is exactly one of them, or several.
func initialAmong(c *checker, path string, m map[string]any) {
	uniqueOptions(c, path, m)
	options := optionsOf(m)
	there := func(v any) bool {
		for _, o := range options {
			if reflect.DeepEqual(o, v) {
				return true
			}
		}
		return false
	}
	if one := m["initial_option"]; one != nil && !there(one) {
		c.add(path+"/initial_option", "initial_option must exactly match one of the provided options")
	}
	several, _ := m["initial_options"].([]any)
	for _, one := range several {
		if !there(one) {
			c.add(path+"/initial_options", "initial_options must exactly match the provided options")
		}
	}
}

// uniqueOptions checks that every option of an element has a value of its own: "a unique string value", says
// https://docs.slack.dev/reference/block-kit/composition-objects/option-object. Whether Slack refuses others has not
// been tried: the fake is strict. An app could not tell which of them was chosen.
func uniqueOptions(c *checker, path string, m map[string]any) {
	seen := map[string]bool{}
	for _, v := range optionsOf(m) {
		option, _ := v.(map[string]any)
		value := str(option["value"])
		if seen[value] {
			c.add(path+"/options", "option value %q already exists", value)
		}
		seen[value] = true
	}
}

// optionsOf lists the options of an element, those in groups too.
func optionsOf(m map[string]any) []any {
	options, _ := m["options"].([]any)
	groups, _ := m["option_groups"].([]any)
	for _, g := range groups {
		group, _ := g.(map[string]any)
		more, _ := group["options"].([]any)
		options = append(options[:len(options):len(options)], more...)
	}
	return options
}

// initialFits checks that a text input begins with no more than it takes.
func initialFits(c *checker, path string, m map[string]any) {
	most, ok := m["max_length"].(float64)
	if n := units(str(m["initial_value"])); ok && n > int(most) {
		c.add(path+"/initial_value", "initial_value must be less than max_length")
	}
}

// formed checks a text that is a date or a time of this layout.
func formed(layout, name string) rule {
	return func(c *checker, path string, v any) {
		if _, err := time.Parse(layout, str(v)); err != nil {
			c.add(path, "must be in the format %s", name)
		}
	}
}

// numeric checks a number that is given as text.
func numeric(c *checker, path string, v any) {
	if _, ok := new(big.Rat).SetString(str(v)); !ok || !written.MatchString(str(v)) {
		c.add(path, "must be a valid number")
	}
}

// numbersFit checks the bounds of a number_input, and what it begins with, against each other. The reference says what
// each of them is (docs.slack.dev/reference/block-kit/block-elements/number-input-element). That Slack refuses a view
// in which they contradict each other is what it does with other inputs, and has not been tried: the fake is strict.
func numbersFit(c *checker, path string, m map[string]any) {
	number := func(key string) *big.Rat {
		n, ok := new(big.Rat).SetString(str(m[key]))
		if !ok || !written.MatchString(str(m[key])) {
			return nil // absent, or refused by itself
		}
		if decimal, _ := m["is_decimal_allowed"].(bool); !decimal && strings.Contains(str(m[key]), ".") {
			c.add(path+"/"+key, "%s must be an integer", key)
		}
		return n
	}
	low, high, first := number("min_value"), number("max_value"), number("initial_value")
	if low != nil && high != nil && low.Cmp(high) > 0 {
		c.add(path+"/min_value", "min_value must be less than max_value")
	}
	if first != nil && low != nil && first.Cmp(low) < 0 {
		c.add(path+"/initial_value", "initial_value must be at least min_value")
	}
	if first != nil && high != nil && first.Cmp(high) > 0 {
		c.add(path+"/initial_value", "initial_value must be at most max_value")
	}
}
