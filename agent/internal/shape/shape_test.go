package shape_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"countersign/agent/internal/shape"
)

type payment struct {
	Amount float64           `json:"amount" doc:"How much."`
	To     *string           `json:"to" enum:"ada,bob"`
	Lines  []int             `json:"lines"`
	Tags   map[string]string `json:"tags"`
}

// TestShape checks what is said to the model and what is taken from it: both come from the type.
func TestShape(t *testing.T) {
	t.Parallel()
	s, err := shape.Of(reflect.TypeFor[payment]())
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	err = json.Unmarshal(s.Schema(), &schema)
	if err != nil || len(schema.Properties) != 4 || len(schema.Required) != 4 {
		t.Errorf("%s: %v", s.Schema(), err)
	}
	for arguments, want := range map[string]string{
		`{"amount":1,"to":"ada","lines":[1,2],"tags":{"a":"b"}}`: "",
		`{"amount":1,"to":null,"lines":[],"tags":{}}`:            "",
		`{"amount":1,"lines":[],"tags":{}}`:                      "",
		`{"amount":"1","to":null,"lines":[],"tags":{}}`:          "amount",
		`{"amount":1,"to":"eve","lines":[],"tags":{}}`:           "to",
		`{"amount":1,"to":null,"lines":[1.5],"tags":{}}`:         "lines",
		`{"amount":1,"to":null,"lines":[],"tags":{"a":1}}`:       "a",
		`{"amount":1,"to":null,"lines":[],"tags":{},"more":1}`:   "more",
		`{"to":null,"lines":[],"tags":{}}`:                       "amount",
		`[]`:                                                     "object",
		`{"amount":1,"to":null,"lines":[],"tags":{}} {}`:         "",
	} {
		err := s.Check([]byte(arguments))
		if strings.HasSuffix(arguments, "} {}") {
			if err == nil {
				t.Errorf("%s: more than one value is taken", arguments)
			}
			continue
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

// TestOfRefuses names the field that cannot be described.
func TestOfRefuses(t *testing.T) {
	t.Parallel()
	type bad struct {
		Inner struct{ Done chan int }
	}
	if _, err := shape.Of(reflect.TypeFor[bad]()); err == nil || !strings.Contains(err.Error(), "Done") {
		t.Errorf("got %v", err)
	}
	if _, err := shape.Of(reflect.TypeFor[string]()); err == nil {
		t.Error("arguments that are no struct")
	}
}
