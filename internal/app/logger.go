package app

import (
	"io"
	"log/slog"
)

// Logger writes to w as the environment says. Check has judged level and format.
func (c *Config) Logger(w io.Writer) *slog.Logger {
	level, err := c.level()
	if err != nil {
		level = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
