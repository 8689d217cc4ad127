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

// headline says on one line what the call does, for whoever has five seconds: the tool and its first arguments. It is
// plain text, made visible and cut; secret values are masked. It is a summary: people decide about the arguments, which
// stand elsewhere.
func headline(r *approvals.Request) string {
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
			if text := strings.TrimSpace(v); text != "" {
				values = append(values, text)
			}
		case json.Number:
			values = append(values, v.String())
		}
	}
	return values
}
