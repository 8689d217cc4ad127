package pgstore

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRiverIsQuiet: what River says every second during an outage is said once a minute; other messages are said.
func TestRiverIsQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := quiet(slog.New(slog.NewTextHandler(&out, nil))).With("service", "river")
		for range 120 {
			log.Error("cannot fetch jobs")
			log.Info("all is well")
			time.Sleep(time.Second)
		}
		log.Warn("something else")
		if n := strings.Count(out.String(), "cannot fetch jobs"); n != 2 {
			t.Errorf("said %d times in two minutes, want 2", n)
		}
		if strings.Contains(out.String(), "all is well") || !strings.Contains(out.String(), "something else") {
			t.Errorf("said: %s", out.String())
		}
	})
}
