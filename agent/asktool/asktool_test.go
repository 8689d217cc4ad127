package asktool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/asktool"
)

// TestNew takes questions that people can be asked, and says what is wrong with others.
func TestNew(t *testing.T) {
	t.Parallel()
	tool := asktool.New("ask_team", "Asks the team.")
	options := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%q", fmt.Sprint("option ", i)))
		}
		return `{"question":"Which?","options":[` + strings.Join(all, ",") + `]}`
	}
	for _, tt := range []struct{ arguments, wrong string }{
		{`{"question":"Why?"}`, ""},
		{options(2), ""},
		{options(20), ""},
		{`{"question":"Which?","options":["a","b"],"several":true}`, ""},
		{`{"question":"` + strings.Repeat("é", 1000) + `"}`, ""},
		{`{"question":"` + strings.Repeat("é", 1001) + `"}`, "question: it has more than 1000 characters"},
		{`{"question":" \n"}`, "question: it is empty"},
		{`{}`, "question"},
		{`{"question":7}`, "question"},
		{`{"question":"Why?","header":"x"}`, "header"},
		{options(1), "options: give 2 to 20"},
		{options(21), "options: give 2 to 20"},
		{`{"question":"Why?","several":true}`, "several: there are no options"},
		{`{"question":"Why?","options":["yes","Yes"]}`, "options/1: it is there already"},
		{`{"question":"Why?","options":["yes",""]}`, "options/1: it is empty"},
		{`{"question":"Why?","options":["yes","yes "]}`, "options/1: it is empty, or begins or ends with a space"},
		{`{"question":"Why?","options":["yes","y\u200bes"]}`, "options/1: it holds a line break or an invisible"},
		{`{"question":"Why?","options":["yes","n\no"]}`, "options/1: it holds a line break"},
		{`{"question":"Why?","options":["yes","` + strings.Repeat("x", 76) + `"]}`, "options/1: it has more than 75"},
	} {
		err := tool.Validate(json.RawMessage(tt.arguments))
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want %q", tt.arguments, err, tt.wrong)
		}
	}
	if tool.NeedsApproval != nil || tool.Invoke != nil || !tool.External || tool.Kind != agent.KindAsk {
		t.Errorf("the tool is %+v", tool)
	}
}
