package httptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"countersign/agent"
)

// request is the first request of a call, not yet bound to a context.
func (t *tool) request(call *agent.ToolCall) (*http.Request, error) {
	target := *t.url
	arguments := call.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	var body io.ReadCloser
	if t.hasBody() {
		body = io.NopCloser(bytes.NewReader(arguments))
	} else {
		query, err := t.query(arguments)
		if err != nil {
			return nil, err
		}
		target.RawQuery = query
	}
	r := &http.Request{
		Method: t.Method, URL: &target, Host: t.host, Body: body, Header: make(http.Header),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if body != nil {
		r.ContentLength = int64(len(arguments))
		r.Header.Set("Content-Type", "application/json")
	}
	t.addHeader(r, call.EffectID)
	return r, nil
}

// addHeader sets what only the operator's own host gets to see.
func (t *tool) addHeader(r *http.Request, effect string) {
	r.Header.Set("Accept", "application/json, */*;q=0.8")
	r.Header.Set("User-Agent", "countersign")
	for name, values := range t.header {
		r.Header[name] = values
	}
	if effect != "" {
		r.Header.Set("Idempotency-Key", effect)
	}
}

// query appends the arguments to the query of the URL, in their canonical order: text, numbers and truth values as they
// are, lists and objects as compact JSON. Null means left out.
func (t *tool) query(arguments json.RawMessage) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(arguments))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return "", errors.New("the arguments are not an object")
	}
	var b strings.Builder
	b.WriteString(t.url.RawQuery)
	for dec.More() {
		name, _ := dec.Token()
		key, _ := name.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return "", errors.New("the arguments are not JSON")
		}
		if t.fixed.Has(key) {
			return "", fmt.Errorf("the argument %q is fixed by the operator", key)
		}
		if string(value) == "null" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(key) + "=" + url.QueryEscape(scalar(value)))
	}
	return b.String(), nil
}

// scalar is the text of a value: a string without its quotes, anything else as its JSON.
func scalar(value json.RawMessage) string {
	var s string
	if value[0] == '"' && json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}
