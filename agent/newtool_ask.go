package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of a Question.
const (
	MaxQuestion       = 1000 // characters of its text
	MinQuestionChoice = 2    // options, if there are any
	MaxQuestionChoice = 20
	MaxQuestionOption = 75 // characters of an option
)

// Question is what an agent asks people of its own accord: the arguments of a tool that NewAskTool makes. It is the
// model's text, to be shown as data.
type Question struct {
	Question string   `json:"question" doc:"what people are asked, at most 1000 characters"`
	Options  []string `json:"options,omitempty" doc:"2 to 20 different answers of a line; none: people write one"`
	Several  bool     `json:"several,omitempty" doc:"whether more than one of the options may be chosen"`
}

// NewAskTool returns a tool by which the model asks people a Question. Nothing runs: each call interrupts with
// ExternalResult, without a gate before, and what RunState.Approve is given as Output is what the model reads. A
// question that is empty or too long, has one option or two that are equal, or allows several choices without options,
// is told to the model as unusable arguments, and nobody is asked.
func NewAskTool(name, description string) Tool {
	t := NewTool(name, description, func(context.Context, Question) (string, error) { return "", nil })
	t.Kind, t.External, t.Invoke = KindAsk, true, nil
	fits := t.Validate
	if fits == nil {
		return t
	}
	t.Validate = func(arguments json.RawMessage) error {
		if err := fits(arguments); err != nil {
			return err
		}
		_, err := ParseQuestion(arguments)
		return err
	}
	return t
}

// ParseQuestion reads the arguments of a call of a tool that NewAskTool made. The error says what is wrong with them,
// for the model. A question that can be read is returned with it; nil where none can.
func ParseQuestion(arguments json.RawMessage) (*Question, error) {
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
	case utf8.RuneCountInString(q.Question) > MaxQuestion:
		return fmt.Errorf("question: it has more than %d characters", MaxQuestion)
	case n == 0 && q.Several:
		return errors.New("several: there are no options to choose from")
	case n != 0 && (n < MinQuestionChoice || n > MaxQuestionChoice):
		return fmt.Errorf("options: give %d to %d, or none for an answer in people's own words, not %d",
			MinQuestionChoice, MaxQuestionChoice, n)
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
	case utf8.RuneCountInString(s) > MaxQuestionOption:
		return fmt.Errorf("it has more than %d characters", MaxQuestionOption)
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("it holds a line break or an invisible character")
	}
	return nil
}
