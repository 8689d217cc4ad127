package celpolicy

import (
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
)

// syntaxError says where an expression stops being one. What the parser says about the rest follows from that.
func syntaxError(issues *cel.Issues) *Error {
	first := issues.Errors()[0]
	for _, m := range issues.Errors() {
		if m.Location.Line() < first.Location.Line() ||
			m.Location.Line() == first.Location.Line() && m.Location.Column() < first.Location.Column() {
			first = m
		}
	}
	message, ok := strings.CutPrefix(first.Message, "Syntax error: ")
	if ok {
		message = "this is not an expression: " + syntaxMessage(message)
	}
	return &Error{Mistakes: []Mistake{mistakeAt(first.Location, message)}}
}

// end is what the parser calls the end of the expression.
const end = "<EOF>"

// syntaxMessage puts a message of the parser into words.
func syntaxMessage(message string) string {
	if wanted, ok := strings.CutPrefix(message, "missing "); ok {
		wanted, _, _ = strings.Cut(wanted, " at ")
		return wanted + " is missing"
	}
	if text, ok := strings.CutPrefix(message, "token recognition error at: '"); ok {
		return tokenMessage(strings.TrimSuffix(text, "'"))
	}
	for _, start := range []string{"mismatched input '", "extraneous input '"} {
		if text, ok := strings.CutPrefix(message, start); ok {
			text, _, _ = strings.Cut(text, "' expecting")
			return unexpected(text)
		}
	}
	if text, ok := strings.CutPrefix(message, "no viable alternative at input '"); ok {
		text = strings.TrimSuffix(text, "'") // what was read so far, up to what does not go on
		if strings.HasSuffix(text, end) {
			return unexpected(end)
		}
		_, size := utf8.DecodeLastRuneInString(text)
		return unexpected(text[len(text)-size:])
	}
	return "it cannot be read"
}

func tokenMessage(text string) string {
	switch {
	case strings.HasPrefix(text, `"`), strings.HasPrefix(text, "'"):
		return `a text is not closed, or holds a \ before a character that needs none`
	case strings.HasPrefix(text, "="):
		return "unexpected '='; to compare, write =="
	}
	return unexpected(strings.TrimSpace(text))
}

func unexpected(text string) string {
	switch text {
	case end:
		return "something is missing at its end"
	case "and", "AND":
		return "unexpected '" + text + "'; write &&"
	case "or", "OR":
		return "unexpected '" + text + "'; write ||"
	}
	return "unexpected '" + text + "'"
}

// overloadMessage says which values do not go together; rest is what the checker says after "overload for '".
func overloadMessage(rest string) string {
	name, applied, _ := strings.Cut(rest, "' applied to '")
	applied = strings.TrimSuffix(applied, "'")
	// A method is said to be applied to RECEIVER.(ARGUMENTS).
	receiver, list, method := strings.Cut(applied, ".(")
	if !method {
		list = strings.TrimPrefix(applied, "(")
	}
	list = strings.TrimSuffix(list, ")")
	var types []string
	if method {
		types = append(types, receiver)
	}
	types = append(types, splitTypes(list)...)
	wordsOf := make([]string, len(types))
	for i, t := range types {
		wordsOf[i] = typeWord(t)
	}
	message := "'" + operatorWord(name) + "' does not go with " + strings.Join(wordsOf, " and ")
	if mixed(types) {
		message += "; write a whole number with .0, or convert with double(…)"
	}
	return message
}

// mixed reports whether whole numbers meet other numbers.
func mixed(types []string) bool {
	return len(types) == 2 && (types[0] == "int" && types[1] == "double" || types[0] == "double" && types[1] == "int")
}

// operatorWord is how an operator is written.
func operatorWord(name string) string {
	switch name {
	case operators.Conditional:
		return "? :"
	case operators.Index:
		return "[ ]"
	case operators.Negate:
		return "-"
	}
	if word, ok := operators.FindReverse(name); ok && word != "" {
		return word
	}
	return name
}

// splitTypes takes a list of types apart at its outer commas.
func splitTypes(list string) (types []string) {
	depth, start := 0, 0
	for i, r := range list {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				types = append(types, strings.TrimSpace(list[start:i]))
				start = i + 1
			}
		}
	}
	if last := strings.TrimSpace(list[start:]); last != "" {
		types = append(types, last)
	}
	return types
}

// typeWord is what people call a type.
func typeWord(name string) string {
	switch name {
	case "string":
		return "text"
	case "int", "uint":
		return "a whole number"
	case "double":
		return "a number"
	case "bool":
		return "true or false"
	case "null", "null_type":
		return "null"
	case "dyn":
		return "anything"
	}
	switch {
	case strings.HasPrefix(name, "list"):
		return "a list"
	case strings.HasPrefix(name, "map"), strings.HasPrefix(name, "{"):
		return "an object"
	}
	return name
}
