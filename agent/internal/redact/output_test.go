package redact_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"countersign/agent/internal/redact"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	var c redact.Credentials
	c.AddExpanded("https://api.example/${HOOK}?format=json", "https://api.example/hook<7>/secret?format=json")
	c.AddHeader("X", "Bearer ${TOKEN}", "Bearer tok-4711-xyz")
	c.AddHeader("X-Auth-Env", "production", "production")
	c.AddHeader("Authorization", "", "Basic dXNlcjpodW50ZXIyLWh1bnRlcjI=") // user:hunter2-hunter2
	c.AddHeader("Accept", "", "text/plain")
	c.AddVariable("LEVEL", "${LEVEL}", "debug")
	c.AddVariable("DB_PASSWORD", "", "correct horse")
	c.AddVariable("DATA", "", "/srv/data")
	o := c.Output()
	for _, secret := range []string{"hook<7>/secret", "tok-4711-xyz", "hunter2-hunter2", "user:hunter2-hunter2",
		"dXNlcjpodW50ZXIyLWh1bnRlcjI=", "correct horse"} {
		quoted, err := json.Marshal(map[string]string{"echo": "<" + secret + ">"})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"a " + secret + " b", string(quoted), "?q=" + url.QueryEscape(secret),
			strings.ReplaceAll(secret, "/", `\/`)} {
			if got := o.Hide(text); strings.Contains(got, secret) || !strings.Contains(got, redact.Hidden) {
				t.Errorf("%q: %q", text, got)
			}
		}
		for n := range len(secret) {
			if got := o.HideCut("said " + secret[:n]); n >= 4 && strings.Contains(got, secret[:4]) {
				t.Errorf("cut after %d of %q: %q", n, secret, got)
			}
			got := o.HideRest(secret[n:] + " said")
			if len(secret)-n >= 4 && strings.Contains(got, secret[len(secret)-4:]) {
				t.Errorf("begun after %d of %q: %q", n, secret, got)
			}
		}
	}
	const plain = `{"env":"production","format":"json","level":"debug","in":"/srv/data",` +
		`"host":"api.example","accept":"text/plain"}`
	if got := o.Hide(plain); got != plain {
		t.Errorf("control: what is no secret is hidden: %s", got)
	}
	var none *redact.Output
	if none.Hide("x") != "x" || none.HideCut("x") != "x" || none.HideRest("x") != "x" {
		t.Error("without secrets a text changes")
	}
}
