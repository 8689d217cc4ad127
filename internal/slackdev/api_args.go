package slackdev

import (
	"encoding/json"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const maxRequest = 4 << 20

// args are the arguments of a Web API call, however they were encoded.
type args struct {
	values  map[string]any // strings from forms and queries, JSON values from JSON
	token   string
	bearer  bool // the token came in the Authorization header
	charset bool // a JSON body said its charset
	json    bool
}

// readArgs accepts a query, a form, a multipart form or a JSON body.
func readArgs(rw http.ResponseWriter, r *http.Request) (args, error) {
	a := args{values: map[string]any{}}
	a.addForm(r.URL.Query())
	err := a.readBody(rw, r)
	if t, ok := a.values["token"].(string); ok {
		a.token = t
		delete(a.values, "token")
	}
	if scheme, t, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		a.token, a.bearer = t, true
	}
	return a, err
}

func (a *args) readBody(rw http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return nil
	}
	body := http.MaxBytesReader(rw, r.Body, maxRequest)
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		a.json, a.charset = true, params["charset"] != ""
		raw, err := io.ReadAll(body)
		if err != nil {
			return fail("request_timeout")
		}
		if len(strings.TrimSpace(string(raw))) == 0 {
			return nil
		}
		return a.addJSON(raw)
	case "application/x-www-form-urlencoded":
		raw, err := io.ReadAll(body)
		if err != nil {
			return fail("request_timeout")
		}
		form, err := url.ParseQuery(string(raw))
		if err != nil {
			return fail("invalid_form_data")
		}
		a.addForm(form)
		return nil
	case "multipart/form-data":
		if err := r.ParseMultipartForm(maxRequest); err != nil {
			return fail("invalid_form_data")
		}
		a.addForm(r.MultipartForm.Value)
		return nil
	case "":
		if r.ContentLength == 0 {
			return nil
		}
		return fail("missing_post_type")
	}
	return fail("invalid_post_type")
}

func (a *args) addForm(form url.Values) {
	for k, v := range form {
		if len(v) > 0 {
			a.values[k] = v[0]
		}
	}
}

func (a *args) addJSON(raw []byte) error {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return fail("invalid_json")
	}
	m, ok := v.(map[string]any)
	if !ok {
		return fail("json_not_object")
	}
	maps.Copy(a.values, m)
	return nil
}

// warning is Slack's remark on a JSON body without a charset.
func (a args) warning() string {
	if a.json && !a.charset && len(a.values) > 0 {
		return "missing_charset"
	}
	return ""
}

func (a args) has(key string) bool {
	v, ok := a.values[key]
	return ok && v != nil
}

// str is a text argument, empty when it is missing or of another type.
func (a args) str(key string) string {
	s, _ := a.values[key].(string)
	return s
}

// flag is a boolean argument: true, "true" or "1".
func (a args) flag(key string, missing bool) bool {
	switch v := a.values[key].(type) {
	case bool:
		return v
	case string:
		return v == "true" || v == "1"
	}
	return missing
}

func (a args) number(key string, missing int) int {
	switch v := a.values[key].(type) {
	case float64:
		return int(v)
	case string:
		if n, err := strconv.Atoi(v); err == nil {
			return n
		}
	}
	return missing
}

// nested is an object or array argument; forms carry it as JSON text.
func (a args) nested(key string) (v any, ok bool) {
	raw, isText := a.values[key].(string)
	if !isText {
		return a.values[key], true
	}
	if raw == "" {
		return nil, true
	}
	return v, json.Unmarshal([]byte(raw), &v) == nil
}

// list is an argument of several ids: a JSON array or a comma-separated text.
func (a args) list(key string) []string {
	var out []string
	switch v := a.values[key].(type) {
	case string:
		for s := range strings.SplitSeq(v, ",") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// record is a copy for [Call], with nested JSON decoded.
func (a args) record() map[string]any {
	out := make(map[string]any, len(a.values))
	for k, v := range a.values {
		out[k] = v
		if s, ok := v.(string); ok && (strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[")) {
			var decoded any
			if json.Unmarshal([]byte(s), &decoded) == nil {
				out[k] = decoded
			}
		}
	}
	return out
}

// required fails with Slack's word for a missing argument.
func (a args) required(keys ...string) error {
	var messages []string
	for _, k := range keys {
		if v, ok := a.values[k]; !ok || v == nil || v == "" {
			messages = append(messages, "[ERROR] missing required field: "+k)
		}
	}
	if messages != nil {
		return invalid("invalid_arguments", messages)
	}
	return nil
}
