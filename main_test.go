package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/agent"
)

func TestCurrentTime(t *testing.T) {
	t.Parallel()
	tool := currentTime()
	for _, c := range []struct {
		arguments, zone string
		fails           bool
	}{
		{`{"zone":null}`, "UTC", false},
		{`{"zone":"Europe/Berlin"}`, "Europe/Berlin", false},
		{`{"zone":"Nowhere/Land"}`, "", true},
	} {
		if err := tool.Validate(json.RawMessage(c.arguments)); err != nil {
			t.Errorf("%s: %v", c.arguments, err)
		}
		out, err := tool.Invoke(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(c.arguments)})
		if c.fails {
			if err == nil || !strings.Contains(err.Error(), "Nowhere/Land") {
				t.Errorf("%s: %v", c.arguments, err)
			}
			continue
		}
		var got currentTimeOutput
		if err := json.Unmarshal([]byte(out.Text), &got); err != nil {
			t.Fatalf("%s: %v", out.Text, err)
		}
		at, err := time.Parse(time.RFC3339, got.Time)
		if err != nil || time.Since(at).Abs() > time.Minute || got.Zone != c.zone ||
			got.Weekday != at.Weekday().String() {
			t.Errorf("%s: %+v %v", c.arguments, got, err)
		}
	}
}
