package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"countersign/approvals"
)

// connected is a surface that hears Slack.
type connected struct{ surface }

func (connected) Ready() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

// failing is a store that answers nothing but an error.
type failing struct {
	approvals.Store
	err error
}

func (f failing) View(context.Context, func(approvals.Tx) error) error { return f.err }

// TestReadinessSaysWhatIsWrong: a replica whose store a newer version has taken over says that, and not that the store
// is gone; one that has left records to others is ready, and says so.
func TestReadinessSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		err    error
		left   error // what clicks and jobs came to
		status int
		says   string
	}{
		{"well", nil, nil, 200, "ready\n"},
		{"another error", nil, errors.New("conflict"), 200, "ready\n"},
		{"left records", nil, approvals.ErrNewer, 200, "ready\nrecords of a newer version were left"},
		{"taken over", approvals.ErrNewer, nil, 503, "a newer version of the program has taken over the store"},
		{"no answer", errors.New("no route"), nil, 503, noAnswer},
	} {
		s := &server{bot: connected{}, store: failing{err: tt.err}, log: slog.New(slog.DiscardHandler)}
		s.newer.noteOf(tt.left)
		w := httptest.NewRecorder()
		s.ready(w, httptest.NewRequest("GET", "/readyz", nil))
		said := w.Body.String()
		more := strings.Count(said, "\n") != 1
		if w.Code != tt.status || !strings.HasPrefix(said, tt.says) || tt.left == nil && more {
			t.Errorf("%s: %d %q, want %d %q", tt.name, w.Code, said, tt.status, tt.says)
		}
	}
}
