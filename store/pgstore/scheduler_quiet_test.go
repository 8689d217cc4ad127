package pgstore

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRiverIsQuiet: what River says every second during an outage is said once a minute; other messages are said. What
// it says when it has been ended, of connections that it closes itself, is not.
func TestRiverIsQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		log := quiet(ctx, slog.New(slog.NewTextHandler(&out, nil))).With("service", "river")
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
		cancel()
		log.Error("the connection that I close is closed")
		if strings.Contains(out.String(), "that I close") {
			t.Errorf("said after its end: %s", out.String())
		}
	})
}
