package pgstore

import (
	"log/slog"
	"testing"
)

// testLogger has what the store says stand in the test's output.
func testLogger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
