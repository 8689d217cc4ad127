package bot

import (
	"encoding/json"

	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/internal/humanize"
)

// The inputs for the terms of a standing answer beside its scope: the command line's --same, --at-most, --without,
// --ttl and --uses.
const (
	sameBlock    = "same"
	atMostBlock  = "at_most"
	withoutBlock = "without"
	lastsBlock   = "ttl"
	usesBlock    = "uses"
)

// mostTermOptions is how many arguments can be chosen from; a call with more is bounded on the command line.
const mostTermOptions = 20

// termInputs ask on which terms a standing answer holds. All of them may be left empty.
func termInputs(r *approvals.Request, affirm bool) (blocks []slack.Block) {
	same, atMost, without := termChoices(r)
	some := func(block, name, hint string, all []choice) {
		if len(all) == 0 || len(all) > mostTermOptions {
			return
		}
		input := someInput(block, name, hint, all)
		input.Optional = true
		blocks = append(blocks, input)
	}
	some(sameBlock, wordsWhileSame, wordsWhileSameHint, same)
	some(atMostBlock, wordsWhileNotMore, wordsWhileNotMoreHint, atMost)
	some(withoutBlock, wordsWhileLeftOut, wordsWhileLeftOutHint, without)
	lasts := oneInput(lastsBlock, wordsUntilWhen, lastsHint(r), lastsChoices(r), "")
	lasts.Optional = true
	blocks = append(blocks, lasts)
	if affirm {
		uses := numberInput(usesBlock, wordsHowManyCalls, wordsAnyNumber, "", false)
		uses.Optional = true
		blocks = append(blocks, uses)
	}
	return blocks
}

// termChoices are the arguments that a standing answer can be bound to: none that is secret, as conditions are listed.
func termChoices(r *approvals.Request) (same, atMost, without []choice) {
	all, ok := membersOf(r.Arguments)
	if !ok {
		return nil, nil, nil
	}
	slices.SortStableFunc(all, func(a, b member) int { return orderOf(r.Order, a.name) - orderOf(r.Order, b.name) })
	for _, m := range all {
		if isSecret(r, m.name) || !choosable(m.name) {
			continue
		}
		same = append(same, sameChoice(m))
		if kindOf(m.value) == "number" {
			atMost = append(atMost, choice{value: m.name, text: wordsAtMost(m.name, string(m.value))})
		}
	}
	for _, name := range r.Order {
		there := slices.ContainsFunc(all, func(m member) bool { return m.name == name })
		if !there && !isSecret(r, name) && choosable(name) {
			without = append(without, choice{value: name, text: name})
		}
	}
	return same, atMost, without
}

// sameChoice names an argument with its value, or where that is no short line, with how much of it there is: all of it
// stands above.
func sameChoice(m member) choice {
	value := plainValue(m.value)
	if text := m.name + ": " + value; units(label(text, 4*maxOptionText)) <= maxOptionText &&
		!strings.Contains(value, "\n") {
		return choice{value: m.name, text: text}
	}
	lines := strings.Count(strings.TrimSuffix(value, "\n"), "\n") + 1
	return choice{value: m.name, text: wordsAsAbove(label(m.name, 40), lines, utf8.RuneCountInString(value))}
}

// choosable reports whether an option can stand for the argument: its value is the name.
func choosable(name string) bool {
	return name != "" && units(name) <= maxOptionText && !strings.HasPrefix(name, "/")
}

// plainValue is a value as people write it: a text without quotes.
func plainValue(value json.RawMessage) string {
	var text string
	if kindOf(value) == "string" && json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// lastings are the times that a standing answer can be given for, as far as the policy lets it.
var lastings = []time.Duration{15 * time.Minute, time.Hour, 8 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
	30 * 24 * time.Hour}

func lastsChoices(r *approvals.Request) (all []choice) {
	for _, d := range lastings {
		if d < r.GrantLasts() {
			all = append(all, choice{value: d.String(), text: wordsFor(rounded(d))})
		}
	}
	return append(all, choice{value: r.GrantLasts().String(), text: wordsFor(rounded(r.GrantLasts()))})
}

// rounded is a duration without what is zero at its end.
func rounded(d time.Duration) string { return strings.TrimSuffix(humanize.Duration(d), " 0 min") }

// lastsHint says what holds where nothing is chosen, and how far the policy goes.
func lastsHint(r *approvals.Request) string {
	return wordsLastsHint(rounded(r.GrantLasts()), slices.Contains(alwaysScopes(r), approvals.ScopeRun))
}

// readTerms reads the terms; nil for an answer that gives none beside the rest of the run.
func readTerms(r *approvals.Request, scope approvals.Scope, v values) (*approvals.GrantTerms, map[string]string) {
	t := &approvals.GrantTerms{
		Scope: scope, Same: v.options(sameBlock), AtMost: v.options(atMostBlock), Without: v.options(withoutBlock),
	}
	for _, name := range t.AtMost {
		if slices.Contains(t.Same, name) {
			return nil, map[string]string{atMostBlock: wordsSameAlready(label(name, 80))}
		}
	}
	if chosen := v.chosen(lastsBlock); chosen != "" {
		d, err := time.ParseDuration(chosen)
		if err != nil || d > r.GrantLasts() {
			return nil, map[string]string{lastsBlock: wordsLastsTooLong(rounded(r.GrantLasts()))}
		}
		t.TTL = d
	}
	if text := v.text(usesBlock); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, map[string]string{usesBlock: wordsWholeNumber}
		}
		t.Uses = n
	}
	if scope == approvals.ScopeRun && len(t.Same)+len(t.AtMost)+len(t.Without)+t.Uses == 0 && t.TTL == 0 {
		return nil, nil
	}
	return t, nil
}

// termBlock is the input that a refusal of the terms is about; empty: the scope.
func termBlock(_ *approvals.Request, refused *approvals.Refusal) string {
	switch refused.Rule {
	case approvals.RuleSame:
		return sameBlock
	case approvals.RuleAtMost:
		return atMostBlock
	case approvals.RuleWithout:
		return withoutBlock
	case approvals.RuleLasts:
		return lastsBlock
	case approvals.RuleUses:
		return usesBlock
	}
	return ""
}

// options are the values of the options that somebody chose.
func (v values) options(block string) (all []string) {
	for _, o := range v[block].Options {
		all = append(all, o.Value)
	}
	return all
}
