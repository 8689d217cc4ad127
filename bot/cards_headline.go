package bot

import (
	"encoding/json"
	"strings"

	"countersign/approvals"
)

// maxHeadline is how many characters a headline has at most; Slack takes 150 in a header.
const maxHeadline = 140

// maxHeadlineValue is how many characters of one argument stand in a headline.
const maxHeadlineValue = 80

// headline says on one line what the call does, for whoever has five seconds: the tool's own headline, else its name
// and first arguments; of a question its text. It is plain text, made visible and cut; secret values are masked. It is a
// summary: people decide about the arguments, which stand elsewhere.
func headline(r *approvals.Request) string {
	if q := r.Question(); q != nil {
		return label(firstLine(q.Question), maxHeadline)
	}
	if r.Headline != "" {
		return label(r.Headline, maxHeadline)
	}
	name := toolName(r)
	var values []string
	for _, value := range firstArguments(r.Mask().Arguments, 3) {
		values = append(values, label(value, maxHeadlineValue))
	}
	if len(values) == 0 {
		return name
	}
	return label(name+": "+strings.Join(values, ", "), maxHeadline)
}

// firstArguments returns the first few texts and numbers of an object, in its order.
func firstArguments(object json.RawMessage, most int) (values []string) {
	dec := json.NewDecoder(strings.NewReader(string(object)))
	dec.UseNumber()
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil
	}
	for dec.More() && len(values) < most {
		var value any
		if _, err := dec.Token(); err != nil || dec.Decode(&value) != nil {
			return values
		}
		switch v := value.(type) {
		case string:
			if text := firstLine(v); text != "" {
				values = append(values, text)
			}
		case json.Number:
			values = append(values, v.String())
		}
	}
	return values
}

// firstLine is the first line of a text that says something; that more follow is said.
func firstLine(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if first = strings.TrimSpace(first); strings.TrimSpace(rest) != "" {
		return first + " …"
	}
	return first
}
