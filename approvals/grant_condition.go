package approvals

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// ArgumentBound bounds one argument of a call: it is what it was in the recorded call, or at most that. Exactly one of
// Absent, Equal and AtMost is set.
type ArgumentBound struct {
	// Pointer is a JSON pointer (RFC 6901) into the arguments, such as "/to" or "/account/id".
	Pointer string `json:"pointer"`
	// Absent says that the argument is not there. That is something else than null.
	Absent bool `json:"absent,omitempty"`
	// Equal is the argument's value, AtMost the greatest number that it may be; both as canonical JSON.
	Equal  json.RawMessage `json:"equal,omitempty"`
	AtMost json.RawMessage `json:"at_most,omitempty"`
}

// The bounds of what a person may name, and of numbers that are compared.
const (
	maxBounds   = 20
	maxPointer  = 200
	maxDigits   = 64
	maxExponent = 400
)

// boundable returns ErrInvalid, in words, unless the terms can be derived from the call of r. None binds to a secret
// value: people who list grants read their conditions.
func (r *Request) boundable(terms *GrantTerms) error {
	for i, name := range slices.Concat(terms.Same, terms.AtMost) {
		b, err := newBound(name)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(b.Pointer[1:], "/")
		if slices.Contains(r.Secret, strings.NewReplacer("~1", "/", "~0", "~").Replace(first)) {
			rule := RuleSame
			if i >= len(terms.Same) {
				rule = RuleAtMost
			}
			return rule.refuse(ErrInvalid, name, wordsSecretCondition(name))
		}
	}
	_, err := bounds(r.Arguments, terms)
	return err
}

// bounds derives a condition from a recorded call: the arguments that the terms name as Same keep their values, those
// named as AtMost are numbers that do not become greater, and those named as Without are not there. Names are top-level
// fields or, with a slash first, JSON pointers. ErrInvalid says in words what is wrong with a name.
func bounds(arguments json.RawMessage, terms *GrantTerms) ([]ArgumentBound, error) {
	if len(terms.Same)+len(terms.AtMost)+len(terms.Without) > maxBounds {
		return nil, refuse(ErrInvalid, wordsTooManyConditions(maxBounds))
	}
	var all []ArgumentBound
	for _, name := range terms.Same {
		b, err := newBound(name)
		if err != nil {
			return nil, err
		}
		value, found := lookUp(arguments, b.Pointer)
		if !found { // a misspelt name would bind nothing
			return nil, RuleSame.refuse(ErrInvalid, name, wordsNothingToKeep(name))
		}
		b.Equal = value
		all = append(all, b)
	}
	for _, name := range terms.Without {
		b, err := newBound(name)
		if err != nil {
			return nil, err
		}
		if _, found := lookUp(arguments, b.Pointer); found {
			return nil, RuleWithout.refuse(ErrInvalid, name, wordsNotWithout(name))
		}
		b.Absent = true
		all = append(all, b)
	}
	for _, name := range terms.AtMost {
		b, err := newBound(name)
		if err != nil {
			return nil, err
		}
		value, found := lookUp(arguments, b.Pointer)
		if _, ok := exact(value); !found || !ok {
			return nil, RuleAtMost.refuse(ErrInvalid, name, wordsNoNumber(name))
		}
		b.AtMost = value
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b ArgumentBound) int { return strings.Compare(a.Pointer, b.Pointer) })
	for i := 1; i < len(all); i++ {
		if all[i].Pointer == all[i-1].Pointer {
			return nil, refuse(ErrInvalid, wordsNamedTwice(all[i].Pointer))
		}
	}
	return all, nil
}

// newBound returns a bound of the argument with the name.
func newBound(name string) (ArgumentBound, error) {
	p := pointerOf(name)
	switch {
	case name == "" || len(p) > maxPointer:
		return ArgumentBound{}, refuse(ErrInvalid, wordsArgumentName(maxPointer))
	case !validPointer(p):
		return ArgumentBound{}, refuse(ErrInvalid, wordsNoPointer(name))
	}
	return ArgumentBound{Pointer: p}, nil
}

// pointerOf returns the pointer that a name stands for.
func pointerOf(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func validPointer(p string) bool {
	rest := strings.NewReplacer("~0", "", "~1", "").Replace(p)
	return strings.HasPrefix(p, "/") && !strings.Contains(rest, "~")
}

// lookUp returns the part of canonical JSON that the pointer names, canonical too, and whether there is one.
func lookUp(value json.RawMessage, pointer string) (json.RawMessage, bool) {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = unescape.Replace(step)
		switch {
		case len(value) > 0 && value[0] == '{':
			var object map[string]json.RawMessage
			if json.Unmarshal(value, &object) != nil {
				return nil, false
			}
			inner, ok := object[step]
			if !ok {
				return nil, false
			}
			value = inner
		case len(value) > 0 && value[0] == '[':
			var list []json.RawMessage
			i, err := strconv.Atoi(step)
			if json.Unmarshal(value, &list) != nil || err != nil || i < 0 || i >= len(list) || strconv.Itoa(i) != step {
				return nil, false
			}
			value = list[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// holds reports whether all bounds hold for the canonical arguments of a call. A bound that says nothing, or that
// cannot be compared, does not hold.
func holds(condition []ArgumentBound, arguments json.RawMessage) bool {
	return !slices.ContainsFunc(condition, func(b ArgumentBound) bool { return !b.holds(arguments) })
}

func (b *ArgumentBound) holds(arguments json.RawMessage) bool {
	value, found := lookUp(arguments, b.Pointer)
	switch {
	case b.Absent:
		return !found
	case !found:
		return false
	case len(b.Equal) > 0:
		return bytes.Equal(value, b.Equal)
	}
	most, ok1 := exact(b.AtMost)
	has, ok2 := exact(value)
	return ok1 && ok2 && has.Cmp(most) <= 0
}

// exact returns the number that JSON text is. Numbers that are too long, or whose exponent is beyond that of a float64,
// are not compared: working them out could take very long.
func exact(value json.RawMessage) (*big.Rat, bool) {
	text := string(value)
	if len(text) == 0 || len(text) > maxDigits || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return nil, false
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil || n > maxExponent || n < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// String names the bound in words. The values come from a model and are shown as data.
func (b *ArgumentBound) String() string {
	name := strings.TrimPrefix(b.Pointer, "/")
	switch {
	case b.Absent:
		return wordsLeftOut(name)
	case len(b.AtMost) > 0:
		return wordsAtMost(name, string(b.AtMost))
	}
	return name + " = " + string(b.Equal)
}
