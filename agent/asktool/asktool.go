// Package asktool makes a tool by which the model asks people a question of its own: with options, or for an answer in
// their own words.
package asktool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"countersign/agent"
)

// The bounds of a Question.
const (
	MaxText    = 1000 // characters of Question.Question
	MinOptions = 2    // if there are any
	MaxOptions = 20
	MaxOption  = 75 // characters of an option, of which an emoji may be two
)

// Question is what an agent asks people of its own accord: the arguments of a tool that New makes. It is the
// model's text, to be shown as data.
type Question struct {
	Question string   `json:"question" doc:"what people are asked, at most 1000 characters"`
	Options  []string `json:"options,omitempty" doc:"2 to 20 different answers of a line; none: people write one"`
	Several  bool     `json:"several,omitempty" doc:"whether more than one of the options may be chosen"`
}

// New returns a tool by which the model asks people a Question. Nothing runs: each call interrupts with
// [agent.ExternalResult], without a gate before, and what [agent.RunState.Approve] is given as Output is what the model
// reads. A question that is empty or too long, has one option or two that are equal, or allows several choices without
// options, is told to the model as unusable arguments, and nobody is asked.
func New(name, description string) agent.Tool {
	t := agent.NewTool(name, description, func(context.Context, Question) (string, error) { return "", nil })
	t.Kind, t.External, t.Invoke = agent.KindAsk, true, nil
	fits := t.Validate
	if fits == nil {
		return t
	}
	t.Validate = func(arguments json.RawMessage) error {
		if err := fits(arguments); err != nil {
			return err
		}
		_, err := Parse(arguments)
		return err
	}
	return t
}

// Parse reads the arguments of a call of a tool that New made. The error says what is wrong with them,
// for the model. A question that can be read is returned with it; nil where none can.
func Parse(arguments json.RawMessage) (*Question, error) {
	var q Question
	if err := json.Unmarshal(arguments, &q); err != nil {
		return nil, fmt.Errorf("arguments do not fit: %w", err)
	}
	return &q, q.check()
}

func (q *Question) check() error {
	switch n := len(q.Options); {
	case strings.TrimSpace(q.Question) == "":
		return errors.New("question: it is empty")
	case utf8.RuneCountInString(q.Question) > MaxText:
		return fmt.Errorf("question: it has more than %d characters", MaxText)
	case n == 0 && q.Several:
		return errors.New("several: there are no options to choose from")
	case n != 0 && (n < MinOptions || n > MaxOptions):
		return fmt.Errorf("options: give %d to %d, or none for an answer in people's own words, not %d",
			MinOptions, MaxOptions, n)
	}
	for i, option := range q.Options {
		if err := checkOption(option); err != nil {
			return fmt.Errorf("options/%d: %w", i, err)
		}
		same := func(other string) bool { return strings.EqualFold(option, other) }
		if slices.ContainsFunc(q.Options[:i], same) {
			return fmt.Errorf("options/%d: it is there already", i)
		}
	}
	return nil
}

// checkOption refuses what people could not tell from another option, or not write down.
func checkOption(s string) error {
	switch {
	case s == "" || strings.TrimSpace(s) != s:
		return errors.New("it is empty, or begins or ends with a space")
	case len(utf16.Encode([]rune(s))) > MaxOption:
		return fmt.Errorf("it has more than %d characters", MaxOption)
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("it holds a line break or an invisible character")
	}
	return nil
}
