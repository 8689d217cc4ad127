package httptool_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/agent/httptool"
)

func TestDefinition(t *testing.T) {
	t.Parallel()
	tool := newTool(t, httptool.Config{
		Name: "transfer", Description: "Moves money.", Version: "3", Method: "post", URL: "http://h/x?key=s3cret",
		WrittenURL: "http://h/x?key=${KEY}",
		Headers:    map[string]string{"x-b": "s3cret", "Authorization": "Bearer s3cret"},
		Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},` +
			`"required":["a"],"additionalProperties":false}`),
	})
	if want := []string{"POST", "http://h/x?key=${KEY}", "Authorization", "X-B"}; !slices.Equal(tool.Attributes, want) {
		t.Errorf("binding %q, want %q", tool.Attributes, want)
	}
	if tool.Kind != agent.KindHTTP || tool.Version != "3" || tool.Idempotent || tool.NeedsApproval != nil {
		t.Errorf("tool %+v", tool)
	}
	if err := tool.Validate(json.RawMessage(`{"a":1}`)); err == nil {
		t.Error("invalid arguments passed")
	}
	if err := tool.Validate(json.RawMessage(`{"a":"x"}`)); err != nil {
		t.Error(err)
	}
	for method, want := range map[string]bool{"GET": true, "HEAD": true, "DELETE": false, "PUT": false} {
		if got := newTool(t, httptool.Config{Method: method, URL: "http://h"}).Idempotent; got != want {
			t.Errorf("%s: idempotent %t", method, got)
		}
	}
}

// TestHostOfAVariable changes what the variable in a URL stands for: a decision about the one host does not count for
// the other, and the host is shown while the rest stays hidden.
func TestHostOfAVariable(t *testing.T) {
	t.Parallel()
	with := func(written, url string) agent.Tool {
		return newTool(t, httptool.Config{Name: "pay", Method: "POST", URL: url, WrittenURL: written})
	}
	one := with("${PAYMENTS_URL}", "https://pay.example/s3cret")
	other := with("${PAYMENTS_URL}", "https://evil.example/s3cret")
	if one.Digest() == other.Digest() {
		t.Error("decisions are not bound to the host that the variable stands for")
	}
	if want := []string{"POST", "${PAYMENTS_URL} (https://pay.example)"}; !slices.Equal(one.Attributes, want) {
		t.Errorf("binding %q, want %q", one.Attributes, want)
	}
	if with("${PAYMENTS_URL}", "https://pay.example/renewed").Digest() != one.Digest() {
		t.Error("a renewed secret makes decisions stale")
	}
	control := with("https://pay.example/${HOOK}", "https://pay.example/s3cret")
	if control.Attributes[1] != "https://pay.example/${HOOK}" {
		t.Error("control: a host that is written out needs no second word")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		why, want string
		cfg       httptool.Config
	}{
		{"no method", "method", httptool.Config{URL: "http://h"}},
		{"strange method", "method", httptool.Config{Method: "TRACE", URL: "http://h"}},
		{"no URL", "url", httptool.Config{Method: "GET"}},
		{"no scheme", "url", httptool.Config{Method: "GET", URL: "example.com/x"}},
		{"a file", "url", httptool.Config{Method: "GET", URL: "file:///etc/passwd"}},
		{"no host", "url has no host", httptool.Config{Method: "GET", URL: "http:///x"}},
		{"a password in the URL", "user", httptool.Config{Method: "GET", URL: "http://u:s3cret@h"}},
		{"a URL that cannot be read", "url", httptool.Config{Method: "GET", URL: "http://h/%zz?s3cret"}},
		{"a fragment", "fragment", httptool.Config{Method: "GET", URL: "http://h/#s3cret"}},
		{"a host outside ASCII", "xn--", httptool.Config{Method: "GET", URL: "http://bücher.example"}},
		{"a header's name", "header",
			httptool.Config{Method: "GET", URL: "http://h", Headers: map[string]string{"X Y": "s3cret"}}},
		{"a header's value", "header X-Y",
			httptool.Config{Method: "GET", URL: "http://h", Headers: map[string]string{"X-Y": "s3cret\r\nEvil: 1"}}},
		{"a header twice", "twice", httptool.Config{
			Method: "GET", URL: "http://h", Headers: map[string]string{"X-Y": "s3cret", "x-y": "s3cret"},
		}},
		{"our header", "Idempotency-Key",
			httptool.Config{Method: "GET", URL: "http://h", Headers: map[string]string{"idempotency-key": "s3cret"}}},
		{"a negative timeout", "negative", httptool.Config{Method: "GET", URL: "http://h", Timeout: -1}},
		{"parameters that are no object", "parameters",
			httptool.Config{Method: "GET", URL: "http://h", Parameters: json.RawMessage(`{"type":"array"}`)}},
		{"parameters that are no JSON", "parameters",
			httptool.Config{Method: "GET", URL: "http://h", Parameters: json.RawMessage(`{"type"`)}},
		{"a bad schema", `schema at /properties/a/type`, httptool.Config{
			Method: "GET", URL: "http://h",
			Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"strng"}}}`),
		}},
		{"a parameter that is fixed", "/properties/a", httptool.Config{
			Method: "GET", URL: "http://h?a=s3cret",
			Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`),
		}},
	} {
		tt.cfg.Name = "probe"
		_, err := httptool.New(tt.cfg)
		if err == nil || !errors.Is(err, agent.ErrConfig) || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(err.Error(), `"probe"`) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
	own := httptool.Config{
		Name: "probe", Method: "POST", URL: "http://h?a=1",
		Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"strng"}}}`),
		Validate:   func(json.RawMessage) error { return nil },
	}
	if _, err := httptool.New(own); err != nil {
		t.Errorf("control: with a check of the caller's own: %v", err)
	}
}

func TestHostHeader(t *testing.T) {
	t.Parallel()
	url, requests := recorder(t, says(200, "x"))
	headers := map[string]string{"host": "virtual.example"}
	invoke(t, newTool(t, httptool.Config{Method: "GET", URL: url, Headers: headers}), `{}`)
	if got := requests()[0].host; got != "virtual.example" {
		t.Errorf("host %q", got)
	}
}
