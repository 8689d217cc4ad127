package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/internal/lineage"
)

// TestOnlyOperators refuses everything to a process that a tool has started, and says why.
func TestOnlyOperators(t *testing.T) {
	t.Parallel()
	r := named("req_1")
	desk := &fakeDesk{page: []*approvals.RequestHead{&r.RequestHead}, request: r, entries: 1, data: []byte("all of it")}
	why := fmt.Errorf("%w (a test)", lineage.ErrDescendant)
	for _, refused := range []bool{true, false} {
		_, c := serveTo(t, desk, func(*lineage.Peer) error {
			if refused {
				return why
			}
			return nil // the control
		})
		for name, try := range map[string]func(ctx context.Context) error{
			"list": func(ctx context.Context) error { _, _, err := c.Requests(ctx, Query{}, Cursor{}, 1); return err },
			"show": func(ctx context.Context) error { _, err := c.Request(ctx, "req_1"); return err },
			"decide": func(ctx context.Context) error {
				_, err := c.Decide(ctx, approvals.Decision{Via: "x"})
				return err
			},
			"verify": func(ctx context.Context) error {
				_, err := c.VerifyAudit(ctx, approvals.VerifyOptions{})
				return err
			},
			"export": func(ctx context.Context) error {
				return c.ExportAudit(ctx, func(*approvals.AuditEntry) error { return nil })
			},
			"letters": func(ctx context.Context) error { _, _, err := c.DeadLetters(ctx, Cursor{}, 1); return err },
			"replay":  func(ctx context.Context) error { _, err := c.Replay(ctx, "ntf_1"); return err },
			"backup":  func(ctx context.Context) error { return c.Backup(ctx, io.Discard) },
		} {
			switch err := try(t.Context()); {
			case !refused && err != nil:
				t.Errorf("control: %s: %v", name, err)
			case refused && (!errors.Is(err, ErrNoOperator) || !strings.Contains(err.Error(), why.Error())):
				t.Errorf("%s: %v", name, err)
			}
		}
		if asked := desk.decided.Via == "x"; asked == refused {
			t.Errorf("refused: %v, the desk was asked: %v", refused, asked)
		}
		if asked := len(desk.replayed) > 0; asked == refused {
			t.Errorf("refused: %v, the desk has replayed: %v", refused, asked)
		}
	}
}

// TestUnknownPeer refuses who comes through a listener that does not say who they are.
func TestUnknownPeer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "x.sock"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &Server{Desk: &fakeDesk{}, Judge: func(*lineage.Peer) error { return nil },
		Logger: slog.New(slog.DiscardHandler)}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	defer func() { cancel(); <-ended }()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}}
	resp, err := client.Get("http://countersign/v1/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer result
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != http.StatusForbidden ||
		answer.Error == nil {
		t.Errorf("%s: %+v, %v", resp.Status, answer, err)
	}
}

// TestDeskSetsWayIDAndTime whatever the decision says.
func TestDeskSetsWayIDAndTime(t *testing.T) {
	t.Parallel()
	told := approvals.Decision{ID: "dec_1", Request: "req_1", Verdict: approvals.Approve, Reason: "r", Via: "button",
		At: time.Now()}
	seen := &fakeDesk{}
	desk := &Local{Decider: seen}
	for range 2 {
		before := seen.decided.ID
		if _, err := desk.Decide(t.Context(), told); err != nil {
			t.Fatal(err)
		}
		d := seen.decided
		if d.ID == told.ID || d.ID == "" || d.ID == before || d.Via != "cli" || !d.At.IsZero() {
			t.Errorf("%+v", d)
		}
		if d.Request != told.Request || d.Verdict != told.Verdict || d.Reason != told.Reason {
			t.Errorf("%+v", d)
		}
	}
}

// TestNoStore makes none.
func TestNoStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	if _, err := Open(t.Context(), Config{URL: "bolt:" + path, Path: path}); !errors.Is(err, ErrNoStore) {
		t.Errorf("%v", err)
	}
	if left, err := filepath.Glob(path + "*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}
