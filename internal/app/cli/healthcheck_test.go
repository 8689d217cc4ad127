package cli

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// TestHealthcheckAsksNoProxy: a container may have a proxy for what its programs fetch, and the bot is not there.
func TestHealthcheckAsksNoProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
	}))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	usual, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		t.Fatal("no transport")
	}
	environment := usual.Proxy // which reads HTTP_PROXY once
	usual.Proxy = http.ProxyURL(at)
	t.Cleanup(func() { usual.Proxy = environment })
	t.Setenv("COUNTERSIGN_LISTEN", "bot.invalid:8080")
	p, _, _ := capture()
	if err := (&healthcheckCommand{}).Run(t.Context(), &p); err == nil {
		t.Error("a proxy answered for the bot")
	}
}
