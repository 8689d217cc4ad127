package bot

import (
	"slices"
	"strconv"

	"github.com/slack-go/slack"

	"countersign/approvals"
)

// maxButtonOptions is how many options a question may have to be answered by buttons.
const maxButtonOptions = 4

// questionButtons answer a question: a button for each of few options, else one that opens the form.
func questionButtons(r *approvals.Request, reject slack.BlockElement) [][]slack.BlockElement {
	q := r.Question()
	switch {
	case q == nil:
		return [][]slack.BlockElement{{reject}}
	case q.Several || len(q.Options) == 0 || len(q.Options) > maxButtonOptions:
		return [][]slack.BlockElement{{button(r, actInput, wordsAnswer, slack.StylePrimary), reject}}
	}
	var row []slack.BlockElement
	for i, option := range q.Options {
		a := actOption + action(strconv.Itoa(i))
		row = append(row, button(r, a, label(strconv.Itoa(i+1)+". "+option, maxOptionText), slack.StyleDefault))
	}
	return [][]slack.BlockElement{row, {reject}}
}

// questionInputs ask for the answer to a question.
func questionInputs(r *approvals.Request) ([]slack.Block, phrase) {
	q := r.Question()
	if q == nil {
		return nil, phrase{wordsQuestionRejected}
	}
	if len(q.Options) == 0 {
		return []slack.Block{reasonInput(wordsYourAnswer, wordsAgentIsTold)}, nil
	}
	var all []choice
	for i, option := range q.Options {
		all = append(all, choice{value: option, text: strconv.Itoa(i+1) + ". " + option})
	}
	if q.Several {
		return []slack.Block{someInput(inputBlock, wordsYourAnswers, wordsOneOrMoreTold, all)}, nil
	}
	return []slack.Block{oneInput(inputBlock, wordsYourAnswer, wordsAgentIsTold, all, "")}, nil
}

// questionAnswer makes the decision of what was chosen or written.
func questionAnswer(r *approvals.Request, v values) (approvals.Decision, map[string]string) {
	q := r.Question()
	d := approvals.Decision{Verdict: approvals.Answer}
	switch {
	case q == nil:
		return d, map[string]string{inputBlock: wordsQuestionUnread}
	case len(q.Options) == 0:
		words, bad := wordedDecision(approvals.Answer, v.text(inputBlock), wordsWriteAnAnswer)
		if bad != nil {
			return d, bad
		}
		d.Answers = []string{words.Reason}
		return d, nil
	case q.Several:
		for _, o := range v[inputBlock].Options {
			d.Answers = append(d.Answers, o.Value)
		}
	default:
		if one := v.chosen(inputBlock); one != "" {
			d.Answers = []string{one}
		}
	}
	if len(d.Answers) == 0 {
		return d, map[string]string{inputBlock: wordsChooseAnAnswer}
	}
	return d, nil
}

// optionChosen is the answer that a button stands for; ok is false for one that the question does not have.
func optionChosen(r *approvals.Request, n int) (answers []string, ok bool) {
	q := r.Question()
	if q == nil || q.Several || n < 0 || n >= len(q.Options) {
		return nil, false
	}
	return slices.Clone(q.Options[n : n+1]), true
}
