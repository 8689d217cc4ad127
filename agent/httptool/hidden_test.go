package httptool_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"countersign/agent/httptool"
)

// TestSecretsDoNotReachModels has a server repeat what it was sent, as debugging servers do.
func TestSecretsDoNotReachModels(t *testing.T) {
	t.Parallel()
	const secret = "tok-4711/hunter2"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("how") {
		case "json":
			fmt.Fprintf(w, `{"said":%q,"url":%q,"env":"production"}`, r.Header, r.URL)
		case "status":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "said ", r.Header.Get("Authorization"), " production")
		case "cut":
			fmt.Fprint(w, "production said ", strings.Repeat("x", 1000-26), r.Header.Get("Authorization"))
		}
	}))
	t.Cleanup(srv.Close)
	for _, how := range []string{"json", "status", "cut"} {
		tool := newTool(t, httptool.Config{
			Method: "GET", URL: srv.URL + "/" + secret + "?how=" + how, WrittenURL: srv.URL + "/${HOOK}?how=" + how,
			MaxBytes:       1000,
			Headers:        map[string]string{"Authorization": "Bearer " + secret, "X-Env": "production"},
			WrittenHeaders: map[string]string{"Authorization": "Bearer ${TOKEN}", "X-Env": "production"},
		})
		text := invoke(t, tool, `{}`)
		if strings.Contains(text, "4711") || strings.Contains(text, "hunter2") || !strings.Contains(text, "said") {
			t.Errorf("%s: %q", how, text)
		}
		if !strings.Contains(text, "production") {
			t.Errorf("%s: control: what is no secret is hidden: %q", how, text)
		}
	}
}
