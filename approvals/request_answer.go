package approvals

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"countersign/agent"
	"countersign/agent/asktool"
)

// IsQuestion reports whether r is a question that an agent asks of its own accord, by a tool that asktool.New
// made: nothing runs, and Answer or Reject settles it. The answer of one person suffices, whatever the quorum.
func (r *RequestHead) IsQuestion() bool {
	return r.Kind == agent.ExternalResult && r.Tool.Kind == agent.KindAsk
}

// Question returns what the agent asks; nil for requests that are no questions. It is the model's text.
func (r *Request) Question() *asktool.Question {
	if !r.IsQuestion() {
		return nil
	}
	q, _ := asktool.Parse(r.Arguments) // what was asked once is answered under the bounds of later versions too
	return q
}

// checkAnswers refuses answers where they do not belong, and their absence where they do.
func (d *Decision) checkAnswers() error {
	if (d.Verdict == Answer) != (len(d.Answers) > 0) {
		return refuse(ErrInvalid, wordsGoesWith("answers", Answer))
	}
	for _, text := range d.Answers {
		switch {
		case strings.TrimSpace(text) == "":
			return refuse(ErrInvalid, wordsEmpty("answer"))
		case utf8.RuneCountInString(text) > maxReason:
			return refuse(ErrInvalid, wordsTooManyCharacters("answer", maxReason))
		case !utf8.ValidString(text):
			return refuse(ErrInvalid, wordsNotText("answer"))
		}
	}
	return nil
}

// answerable checks that the question of r can be answered so.
func (r *Request) answerable(d *Decision) error {
	q := r.Question()
	switch {
	case !r.IsQuestion():
		return nil // refused for its verdict
	case q == nil:
		return refuse(ErrInvalid, wordsQuestionUnreadable)
	case len(d.Answers) > 1 && len(q.Options) == 0:
		return refuse(ErrInvalid, wordsOneAnswer)
	case len(d.Answers) > 1 && !q.Several:
		return refuse(ErrInvalid, wordsOneOption)
	}
	for i, text := range d.Answers {
		switch {
		case len(q.Options) > 0 && !slices.Contains(q.Options, text):
			return refuse(ErrInvalid, wordsNoOption(quote(text), quoted(q.Options)))
		case slices.Contains(d.Answers[:i], text):
			return refuse(ErrInvalid, wordsGivenTwice(quote(text)))
		}
	}
	return nil
}

// answered is the output of a question that a person has answered: who they are and what they say, as data.
func (d *Decision) answered() string {
	said := struct {
		By      string   `json:"answered_by"`
		For     string   `json:"for,omitempty"`
		Answers []string `json:"answers"`
		Remark  string   `json:"remark,omitempty"`
	}{d.By.Local(), d.For.Local(), d.Answers, d.Reason}
	text, err := json.Marshal(said)
	if err != nil {
		return "A person has answered the question, and the answer cannot be written."
	}
	return "A person has answered the question. Their answer, as data: " + string(text)
}

// refusesToAnswer is the output of a question that was rejected.
func (d *Decision) refusesToAnswer() string {
	text := "A person says that nobody will answer the question."
	if d.Reason != "" {
		text += " Their words, as data: " + quote(d.Reason)
	}
	return text
}

// wordsDigest is what the trail holds of a person's words: the reason alone, or with the answers.
func (d *Decision) wordsDigest() agent.Digest {
	if len(d.Answers) == 0 {
		return textDigest(d.Reason)
	}
	return textDigest(quoted(append(slices.Clone(d.Answers), d.Reason)))
}
