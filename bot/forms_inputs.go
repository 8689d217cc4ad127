package bot

import (
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"
)

// The only input of a form that asks for one text.
const (
	inputBlock  = "reason"
	inputAction = "text"
)

// inputValue is the action_id of the input in every other block of a form.
const inputValue = "value"

// Slack's limits for inputs.
const (
	maxInput       = 3000 // characters of a text input
	maxOptionText  = 75
	maxRadio       = 10
	maxMenuOptions = 100
)

// textInput asks for a text of one line or several.
func textInput(block, action, name, hint, initial string, lines bool) *slack.InputBlock {
	e := slack.NewPlainTextInputBlockElement(nil, action)
	e.Multiline, e.InitialValue, e.MaxLength = lines, initial, maxInput
	return slack.NewInputBlock(block, plain(name), hinted(hint), e)
}

// reasonInput asks for the person's words.
func reasonInput(name, hint string) *slack.InputBlock {
	b := textInput(inputBlock, inputAction, name, hint, "", true)
	e := b.Element.(*slack.PlainTextInputBlockElement)
	e.MinLength, e.MaxLength = 1, maxReason
	return b
}

func hinted(hint string) *slack.TextBlockObject {
	if hint == "" {
		return nil
	}
	return plain(hint)
}

// choice is an option to choose: what people read, and what it stands for.
type choice struct{ value, text, more string }

func (c choice) option() *slack.OptionBlockObject {
	var more *slack.TextBlockObject
	if c.more != "" {
		more = plain(label(c.more, maxOptionText))
	}
	return slack.NewOptionBlockObject(c.value, plain(label(c.text, maxOptionText)), more)
}

// oneInput asks for one of the choices: buttons while there are few, else a menu. initial may name none of them.
func oneInput(block, name, hint string, all []choice, initial string) *slack.InputBlock {
	var options []*slack.OptionBlockObject
	var first *slack.OptionBlockObject
	for _, c := range all {
		options = append(options, c.option())
		if c.value == initial {
			first = options[len(options)-1]
		}
	}
	if len(all) <= maxRadio {
		e := slack.NewRadioButtonsBlockElement(inputValue, options...)
		e.InitialOption = first
		return slack.NewInputBlock(block, plain(name), hinted(hint), e)
	}
	e := slack.NewOptionsSelectBlockElement(slack.OptTypeStatic, nil, inputValue, options...)
	e.InitialOption = first
	return slack.NewInputBlock(block, plain(name), hinted(hint), e)
}

// someInput asks for any of the choices.
func someInput(block, name, hint string, all []choice, initial ...string) *slack.InputBlock {
	var options, first []*slack.OptionBlockObject
	for _, c := range all {
		options = append(options, c.option())
		for _, v := range initial {
			if c.value == v {
				first = append(first, options[len(options)-1])
			}
		}
	}
	if len(all) <= maxRadio {
		e := slack.NewCheckboxGroupsBlockElement(inputValue, options...)
		e.InitialOptions = first
		return slack.NewInputBlock(block, plain(name), hinted(hint), e)
	}
	e := slack.NewOptionsMultiSelectBlockElement(slack.MultiOptTypeStatic, nil, inputValue, options...)
	e.InitialOptions = first
	return slack.NewInputBlock(block, plain(name), hinted(hint), e)
}

// tooLong says that a text is longer than it may be; empty: it is not.
func tooLong(text string, most int) string {
	if n := utf8.RuneCountInString(text); n > most {
		return wordsTooLong(most, n)
	}
	return ""
}

// refilled puts what somebody typed back into the inputs of a form that is shown anew, except secret values, which are
// never sent.
func refilled(blocks []slack.Block, v values) []slack.Block {
	for _, block := range blocks {
		input, ok := block.(*slack.InputBlock)
		if !ok {
			continue
		}
		typed, ok := v[input.BlockID]
		if !ok || strings.HasPrefix(input.BlockID, secretBlock) {
			continue
		}
		switch e := input.Element.(type) {
		case *slack.PlainTextInputBlockElement:
			e.InitialValue = typed.Value
		case *slack.NumberInputBlockElement:
			e.InitialValue = typed.Value
		case *slack.DatePickerBlockElement:
			e.InitialDate = typed.Date
		case *slack.TimePickerBlockElement:
			e.InitialTime = typed.Time
		case *slack.DateTimePickerBlockElement:
			e.InitialDateTime = typed.DateTime
		case *slack.RadioButtonsBlockElement:
			e.InitialOption = picked(e.Options, typed.Option.Value)
		case *slack.SelectBlockElement:
			e.InitialOption = picked(e.Options, typed.Option.Value)
		case *slack.CheckboxGroupsBlockElement:
			e.InitialOptions = pickedAll(e.Options, typed)
		case *slack.MultiSelectBlockElement:
			e.InitialOptions = pickedAll(e.Options, typed)
		}
	}
	return blocks
}

func picked(options []*slack.OptionBlockObject, value string) *slack.OptionBlockObject {
	for _, o := range options {
		if o.Value == value {
			return o
		}
	}
	return nil
}

func pickedAll(options []*slack.OptionBlockObject, typed entered) (all []*slack.OptionBlockObject) {
	for _, chosen := range typed.Options {
		if o := picked(options, chosen.Value); o != nil {
			all = append(all, o)
		}
	}
	return all
}
