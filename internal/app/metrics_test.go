package app_test

import (
	"net/http"
	"strings"
	"testing"
)

// get returns the status and the body of a page of the program.
func get(t *testing.T, address, path string) (int, string) {
	t.Helper()
	resp, err := http.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode, readAll(t, resp.Body)
}

// TestSlackConnectedIsMeasured: whoever is on call learns that the bot hears nothing from Slack any more.
func TestSlackConnectedIsMeasured(t *testing.T) {
	t.Parallel()
	w := newWorld(t, settings{})
	w.listen = freeAddress(t)
	w.start()
	says := func(line string) bool {
		_, body := get(t, w.listen, "/metrics")
		return strings.Contains(body, "\n"+line+"\n")
	}
	if !says("countersign_slack_connected 1") {
		t.Error("it is not said that Slack is heard")
	}
	w.slack.Disconnect("link_disabled")
	w.until("it is said that Slack is not heard", func() bool { return says("countersign_slack_connected 0") })
}

// TestMetricsListen: the metrics are where the environment says, and never where Slack calls.
func TestMetricsListen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		http, own bool
		beside    int // status of /metrics on COUNTERSIGN_LISTEN
	}{
		{"Socket Mode", false, false, http.StatusOK},
		{"Socket Mode, an address of their own", false, true, http.StatusNotFound},
		{"HTTP mode", true, false, http.StatusNotFound},
		{"HTTP mode, an address of their own", true, true, http.StatusNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, settings{http: c.http})
			if !c.http {
				w.listen = freeAddress(t)
			}
			own := freeAddress(t)
			if c.own {
				w.start("COUNTERSIGN_METRICS_LISTEN=" + own)
			} else {
				w.start()
			}
			if code, body := get(t, w.listen, "/metrics"); code != c.beside {
				t.Errorf("on COUNTERSIGN_LISTEN: %d, want %d: %.100s", code, c.beside, body)
			}
			if code, _ := get(t, w.listen, "/healthz"); code != http.StatusOK {
				t.Errorf("/healthz: %d", code)
			}
			if !c.own {
				return
			}
			if code, _ := get(t, own, "/metrics"); code != http.StatusOK {
				t.Errorf("on COUNTERSIGN_METRICS_LISTEN: %d", code)
			}
			for _, path := range []string{"/healthz", "/readyz", "/slack/events", "/callbacks/req_1", "/"} {
				if code, _ := get(t, own, path); code != http.StatusNotFound {
					t.Errorf("%s on COUNTERSIGN_METRICS_LISTEN: %d", path, code)
				}
			}
		})
	}
}
