package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"countersign/bot"
)

// TestEndThatTakesTooLong: why the program ends is said also when something of it does not end in time.
func TestEndThatTakesTooLong(t *testing.T) {
	t.Parallel()
	revoked := &bot.TokenError{Word: "token_revoked"}
	for name, c := range map[string]struct {
		signal, fails bool
	}{
		"told to":                      {signal: true},
		"a part has failed":            {fails: true},
		"a part has failed, then told": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				told, tell := context.WithCancelCause(t.Context())
				running, fail := context.WithCancelCause(told)
				if c.fails {
					fail(revoked)
				}
				if c.signal {
					tell(errors.New("terminated signal received"))
				}
				defer fail(nil)
				defer tell(nil)
				s := &server{log: slog.New(slog.DiscardHandler)}
				err := s.wait(told, running, make(chan error))
				if err == nil || !strings.Contains(err.Error(), "not everything ended within") {
					t.Errorf("%v", err)
				}
				if errors.Is(err, revoked) != c.fails || errors.Is(err, ErrConfig) != c.fails {
					t.Errorf("why it ends: %v", err)
				}
				if strings.Contains(err.Error(), "signal") {
					t.Errorf("a signal is no error: %v", err)
				}
			})
		})
	}
}
